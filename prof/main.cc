// prof(1).

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "prof/commands/ctl.h"
#include "prof/commands/message.h"
#include "prof/commands/options.h"
#include "prof/commands/pack.h"
#include "prof/commands/run.h"
#include "prof/commands/show.h"
#include "prof/commands/top.h"

namespace {

constexpr char kVersion[] = "prof " PROFLD_VERSION "\n";  // from the file VERSION

int run_command(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "run") == 0) {
    const prof::Options options = prof::parse_run_options(argc - 1, argv + 1);
    if (!options.help) return prof::run(options);
    std::fputs(prof::help_text().c_str(), stdout);
    return 0;
  }
  if (argc > 1 && std::strcmp(argv[1], "top") == 0) return prof::top(prof::parse_top_options(argc - 1, argv + 1));
  if (argc > 1 && std::strcmp(argv[1], "ctl") == 0) {
    return prof::control(prof::parse_control_options(argc - 1, argv + 1));
  }
  // From profld --libs.
  if (argc > 1 && std::strcmp(argv[1], "--pack") == 0) return prof::pack(prof::parse_pack_options(argc - 1, argv + 1));
  const prof::Options options = prof::parse_prof_options(argc, argv);
  if (!options.help && !options.version) return prof::show_arguments(options);
  prof::Output out(stdout, "standard output");
  out.text(options.help ? prof::help_text() : kVersion);
  out.finish();
  return 0;
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
