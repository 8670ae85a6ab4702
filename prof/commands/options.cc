#include "options.h"

#include <getopt.h>

#include <charconv>

#include "prof/read/message.h"

namespace prof {

namespace {

enum LongOption {
  kJson = 256,
  kRawNames,
  kGprofSymbols,
  kReport,
  kProcesses,
  kSuggest,
  kAuto,
  kMinSize,
  kNoLeaves,
  kHelp,
  kVersion
};

const option kProfOptions[] = {
    {"json", no_argument, nullptr, kJson},
    {"raw-names", no_argument, nullptr, kRawNames},
    {"gprof-symbols", required_argument, nullptr, kGprofSymbols},
    {"processes", no_argument, nullptr, kProcesses},
    {"suggest", no_argument, nullptr, kSuggest},
    {"help", no_argument, nullptr, kHelp},
    {"version", no_argument, nullptr, kVersion},
    {nullptr, 0, nullptr, 0},
};

const option kRunOptions[] = {
    {"json", no_argument, nullptr, kJson},
    {"raw-names", no_argument, nullptr, kRawNames},
    {"gprof-symbols", required_argument, nullptr, kGprofSymbols},
    {"report", required_argument, nullptr, kReport},
    {"auto", no_argument, nullptr, kAuto},
    {"min-size", required_argument, nullptr, kMinSize},
    {"no-leaves", no_argument, nullptr, kNoLeaves},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

uint32_t parse_pid(const std::string& text) {
  uint32_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size()) throw UsageError("-p " + text + ": is no process id");
  return pid;
}

Options parse(int argc, char** argv, const char* letters, const option* words) {
  Options o;
  bool view_chosen = false;
  auto choose = [&](Options::View view) {
    if (view_chosen && o.view != view) throw UsageError("-d, --json and --suggest exclude each other");
    o.view = view;
    view_chosen = true;
  };
  opterr = 0;
  optind = 0;  // glibc: start anew
  for (int c; (c = getopt_long(argc, argv, letters, words, nullptr)) != -1;) {
    switch (c) {
      case 'd':
        choose(Options::View::kTree);
        break;
      case 'r':
        o.tree.whole_recursion = true;
        break;
      case 's':
        o.tree.by_time = true;
        break;
      case 'R':
        o.raw_times = true;
        break;
      case 'p':
        o.process = parse_pid(optarg);
        break;
      case 't':
        o.apart = Apart::kThreads;
        break;
      case kProcesses:
        if (o.apart == Apart::kNothing) o.apart = Apart::kProcesses;
        break;
      case 'g':
        o.gmon = optarg;
        break;
      case 'F':
      case 'N':
        o.rewriting.push_back(std::string("-") + char(c));
        o.rewriting.push_back(optarg);
        break;
      case kJson:
        choose(Options::View::kJson);
        break;
      case kSuggest:
        choose(Options::View::kSuggestion);
        break;
      case kAuto:
        o.automatic = true;
        break;
      case kMinSize:
        o.rewriting.push_back(std::string("--min-size=") + optarg);
        break;
      case kNoLeaves:
        o.rewriting.push_back("--no-leaves");
        break;
      case kRawNames:
        o.raw_names = true;
        break;
      case kGprofSymbols:
        o.gprof_symbols = optarg;
        break;
      case kReport:
        o.report = optarg;
        break;
      case kHelp:
        o.help = true;
        break;
      case kVersion:
        o.version = true;
        break;
      case ':':
        throw UsageError(std::string(argv[optind - 1]) + ": an argument is missing; see prof --help");
      default: {
        // A bad letter is in optopt; of a bad word only argv knows.
        const bool word = optopt == 0 || optopt >= 256;
        throw UsageError((word ? std::string(argv[optind - 1]) : std::string("-") + char(optopt)) +
                         ": no such option; see prof --help");
      }
    }
  }
  if (!view_chosen && (!o.gmon.empty() || !o.gprof_symbols.empty())) o.view = Options::View::kNone;
  if (o.apart != Apart::kNothing && o.view == Options::View::kNone) {
    throw UsageError("-g and --gprof-symbols show everything as one; they exclude -t and --processes");
  }
  o.arguments.assign(argv + optind, argv + argc);
  return o;
}

}  // namespace

Options parse_prof_options(int argc, char** argv) { return parse(argc, argv, ":drsRtp:g:", kProfOptions); }

// '+': what follows the program belongs to the program.
Options parse_run_options(int argc, char** argv) { return parse(argc, argv, "+:drsRtg:F:N:", kRunOptions); }

std::string help_text() {
  return "usage: prof [options] [program] [profile ...]\n"
         "       prof run [options] [--] program [argument ...]\n"
         "       prof top [-R] [-i SECONDS] [-n TIMES] [--raw-names] PID\n"
         "       prof ctl on|off|reset|status PID\n"
         "\n"
         "Shows where a program that profld rewrote spent its time and what it called, or (prof run) rewrites a\n"
         "program, runs it, and shows that. Without a profile: the newest prof.* in the current directory.\n"
         "Without a program: the one that the profile is of. prof top shows what a running program does now, anew\n"
         "every second; prof ctl tells from when to when its calls are recorded. Profiles of PROFTYPE=elapsed and of\n"
         "PROFTYPE=cpu, named together, are shown side by side, with what the program waited.\n"
         "\n"
         "  -d                    the tree of calls, not the table of functions\n"
         "  -r                    do not cut recursion off in the tree\n"
         "  -s                    sort the tree by time, not by order of first call\n"
         "  -R                    raw times: do not subtract what the profiling itself cost\n"
         "  -t                    each thread apart\n"
         "  --processes           each process apart; without a profile: all those of the program here\n"
         "  -p PID                only the profiles of this process\n"
         "  --json                everything as JSON\n"
         "  --suggest             options of profld that leave out functions not worth timing\n"
         "  -g FILE               write gmon.out for gprof to FILE\n"
         "  --gprof-symbols FILE  write a table of names for gprof -S to FILE\n"
         "  --raw-names           do not demangle names\n"
         "\n"
         "prof run also takes\n"
         "  --auto                a counting run first, without output; then leave out functions not worth timing\n"
         "\n"
         "and these options of profld:\n"
         "  -F GLOB               profile only functions whose names match (repeatable)\n"
         "  -N GLOB               do not profile functions whose names match (repeatable)\n"
         "  --min-size BYTES      profile only functions of at least BYTES of code\n"
         "  --no-leaves           profile only functions that call others\n"
         "  --report FILE         write a report of the rewriting to FILE\n"
         "\n"
         "See prof(1).\n";
}

}  // namespace prof
