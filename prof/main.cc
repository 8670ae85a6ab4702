// prof(1).

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "linker-rewrite/names/pattern.h"
#include "prof/commands/options/message.h"
#include "prof/commands/options/option_table.h"
#include "prof/commands/options/options.h"
#include "prof/commands/showing/show.h"
#include "prof/commands/verbs/verbs.h"
#include "prof/instructions/commands/commands.h"

namespace {

constexpr char kVersion[] = "prof " PROFLD_VERSION "\n";  // from the file VERSION

int print(const std::string& text) {
  prof::Output out(stdout, "standard output");
  out.text(text);
  out.finish();
  return 0;
}

constexpr const char* kCommands[] = {"run", "diff",  "compare", "top",    "tui",
                                     "ctl", "gprof", "trace",   "itrace", "istat"};

// Refuses a word that is neither a command nor a file if it is near to a command.
void check_command(const std::string& word) {
  if (word.empty() || word[0] == '-' || access(word.c_str(), F_OK) == 0) return;
  prof_names::Nearest nearest{std::string_view(word)};
  for (const char* command : kCommands) nearest.add(command, std::string("prof ") + command);
  const std::string question = nearest.question();
  if (!question.empty()) throw prof::UsageError(word + ": no such command or file; " + question);
}

// Parses the options of a command, and prints its help or does what it does.
template <class Values>
int do_command(Values parse(int, char**), std::string help_text(), int run(const Values&), int argc, char** argv) {
  const Values options = parse(argc - 1, argv + 1);
  return options.help ? print(help_text()) : run(options);
}

int run_command(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "run") {
    const prof::Options options = prof::parse_run_options(argc - 1, argv + 1);
    return options.help ? print(prof::help_text()) : prof::run(options);
  }
  if (command == "compare")
    return do_command(prof::parse_compare_options, prof::compare_help_text, prof::compare, argc, argv);
  if (command == "diff") return do_command(prof::parse_diff_options, prof::diff_help_text, prof::diff, argc, argv);
  if (command == "top") return do_command(prof::parse_top_options, prof::top_help_text, prof::top, argc, argv);
  if (command == "tui") return do_command(prof::parse_tui_options, prof::tui_help_text, prof::run_tui, argc, argv);
  if (command == "ctl")
    return do_command(prof::parse_control_options, prof::control_help_text, prof::control, argc, argv);
  if (command == "itrace") return prof::itrace(argc - 1, argv + 1);
  if (command == "istat") return prof::istat(argc - 1, argv + 1);
  if (command == "gprof") return prof::run_gprof(argc - 1, argv + 1);
  if (command == "trace") return prof::run_trace(argc - 1, argv + 1);
  // From profld --libs.
  if (command == "--pack") return prof::pack(prof::parse_pack_options(argc - 1, argv + 1));
  check_command(command);
  const prof::Options options = prof::parse_prof_options(argc, argv);
  if (!options.help && !options.version) return prof::show_arguments(options);
  return print(options.help ? prof::help_text() : kVersion);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_command(argc, argv);
  } catch (const prof::UsageError& e) {
    prof::say(e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    prof::say("not enough memory");
  } catch (const std::exception& e) {
    prof::say(e.what());
  }
  return 1;
}
