// prof(1).

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "prof/commands/options/help.h"
#include "prof/commands/options/message.h"
#include "prof/commands/options/options.h"
#include "prof/commands/showing/show.h"
#include "prof/commands/verbs/compare.h"
#include "prof/commands/verbs/ctl.h"
#include "prof/commands/verbs/diff.h"
#include "prof/commands/verbs/gprof.h"
#include "prof/commands/verbs/pack.h"
#include "prof/commands/verbs/run.h"
#include "prof/commands/verbs/top.h"
#include "prof/instructions/commands/istat.h"
#include "prof/instructions/commands/itrace.h"
#include "prof/instructions/commands/trace.h"

namespace {

constexpr char kVersion[] = "prof " PROFLD_VERSION "\n";  // from the file VERSION

int print(const std::string& text) {
  prof::Output out(stdout, "standard output");
  out.text(text);
  out.finish();
  return 0;
}

bool asks_for_help(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const std::string& word) { return word == "-h" || word == "--help"; });
}

int run_command(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "run") {
    const prof::Options options = prof::parse_run_options(argc - 1, argv + 1);
    return options.help ? print(prof::help_text()) : prof::run(options);
  }
  if ((command == "top" || command == "ctl") && asks_for_help(argc - 2, argv + 2))
    return print(command == "top" ? prof::top_help_text() : prof::control_help_text());
  if (command == "compare") {
    const prof::CompareOptions options = prof::parse_compare_options(argc - 1, argv + 1);
    return options.help ? print(prof::compare_help_text()) : prof::compare(options);
  }
  if (command == "diff") return prof::diff(prof::parse_diff_options(argc - 1, argv + 1));
  if (command == "top") return prof::top(prof::parse_top_options(argc - 1, argv + 1));
  if (command == "ctl") return prof::control(prof::parse_control_options(argc - 1, argv + 1));
  if (command == "itrace") return prof::itrace(argc - 1, argv + 1);
  if (command == "istat") return prof::istat(argc - 1, argv + 1);
  if (command == "gprof") return prof::run_gprof(argc - 1, argv + 1);
  if (command == "trace") return prof::run_trace(argc - 1, argv + 1);
  // From profld --libs.
  if (command == "--pack") return prof::pack(prof::parse_pack_options(argc - 1, argv + 1));
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
