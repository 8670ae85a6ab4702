#include "options.h"

#include <getopt.h>

#include <charconv>

#include "message.h"

namespace prof {

namespace {

enum LongOption {
  option_json = 256,
  option_raw_names,
  option_module,
  option_by_module,
  option_gprof_symbols,
  option_report,
  option_processes,
  option_suggest,
  option_automatic,
  option_true,
  option_samples,
  option_check,
  option_min_size,
  option_no_leaves,
  option_imports,
  option_no_imports,
  option_libraries,
  option_libraries_all,
  option_libraries_only,
  option_help,
  option_version
};

// `own` and the options of both commands, as getopt_long takes them.
std::vector<option> with_common(std::vector<option> own) {
  own.insert(own.end(), {{"json", no_argument, nullptr, option_json},
                         {"raw-names", no_argument, nullptr, option_raw_names},
                         {"module", required_argument, nullptr, option_module},
                         {"by-module", no_argument, nullptr, option_by_module},
                         {"gprof-symbols", required_argument, nullptr, option_gprof_symbols},
                         {"help", no_argument, nullptr, option_help},
                         {nullptr, 0, nullptr, 0}});
  return own;
}

const std::vector<option> kProfOptions = with_common({
    {"processes", no_argument, nullptr, option_processes},
    {"suggest", no_argument, nullptr, option_suggest},
    {"true", required_argument, nullptr, option_samples},
    {"version", no_argument, nullptr, option_version},
});

const std::vector<option> kRunOptions = with_common({
    {"report", required_argument, nullptr, option_report},
    {"auto", no_argument, nullptr, option_automatic},
    {"true", no_argument, nullptr, option_true},
    {"check", no_argument, nullptr, option_check},
    {"min-size", required_argument, nullptr, option_min_size},
    {"no-leaves", no_argument, nullptr, option_no_leaves},
    {"imports", no_argument, nullptr, option_imports},
    {"no-imports", no_argument, nullptr, option_no_imports},
    {"libs", optional_argument, nullptr, option_libraries},
    {"libs-all", no_argument, nullptr, option_libraries_all},
    {"libs-only", optional_argument, nullptr, option_libraries_only},
});

// As profld has them.
const std::vector<option> kPackOptions = {
    {"output", required_argument, nullptr, 'o'},
    {"only", required_argument, nullptr, 'F'},
    {"not", required_argument, nullptr, 'N'},
    {"min-size", required_argument, nullptr, option_min_size},
    {"no-leaves", no_argument, nullptr, option_no_leaves},
    {"all", no_argument, nullptr, option_libraries_all},
    {"libs", optional_argument, nullptr, option_libraries},
    {nullptr, 0, nullptr, 0},
};

uint32_t parse_pid(const std::string& text) {
  uint32_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size()) throw UsageError("-p " + text + ": is no process id");
  return pid;
}

// After getopt_long returned ':' or '?'.
UsageError error_of(int c, char** argv) {
  if (c == ':') return UsageError(std::string(argv[optind - 1]) + ": an argument is missing; see prof --help");
  // A letter that is no option is in optopt; a word is in argv only.
  const bool word = optopt == 0 || optopt >= 256;
  return UsageError((word ? std::string(argv[optind - 1]) : std::string("-") + char(optopt)) +
                    ": no such option; see prof --help");
}

// Samples are of whole functions, of all threads and processes together, and of what hooks cost they know nothing.
void check_true_times(const Options& o) {
  if (o.check && !o.true_times) throw UsageError("--check compares two runs; it goes with --true");
  if (!o.true_times && o.samples.empty()) return;
  if (o.apart != Apart::nothing) throw UsageError("--true shows everything as one; it excludes -t and --processes");
  if (o.automatic) throw UsageError("--true and --auto exclude each other");
  if (o.libraries) throw UsageError("--true samples libraries as they are; it excludes --libs");
  if (o.view == Options::View::suggestion) throw UsageError("--true and --suggest exclude each other");
}

// What a parsed command line means as a whole. Throws UsageError if its options exclude each other.
void settle(Options& o, bool view_chosen) {
  if (!view_chosen && (!o.gmon.empty() || !o.gprof_symbols.empty())) o.view = Options::View::none;
  if (o.apart != Apart::nothing && o.view == Options::View::none) {
    throw UsageError("-g and --gprof-symbols show everything as one; they exclude -t and --processes");
  }
  if (!o.modules.empty() && (!o.gmon.empty() || !o.gprof_symbols.empty() || o.view == Options::View::suggestion)) {
    throw UsageError("--module says what is printed; -g, --gprof-symbols and --suggest are of all modules");
  }
  check_true_times(o);
}

Options parse(int argc, char** argv, const char* letters, const std::vector<option>& words) {
  Options o;
  bool view_chosen = false, by_module = false;
  auto choose = [&](Options::View view) {
    if (view_chosen && o.view != view) throw UsageError("-d, --by-module, --json and --suggest exclude each other");
    o.view = view;
    view_chosen = true;
  };
  opterr = 0;
  optind = 0;  // glibc: start anew
  for (int c; (c = getopt_long(argc, argv, letters, words.data(), nullptr)) != -1;) {
    const std::string argument = optarg ? optarg : "";
    switch (c) {
      case 'd':
        choose(Options::View::tree);
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
        o.process = parse_pid(argument);
        break;
      case 't':
        o.apart = Apart::threads;
        break;
      case option_processes:
        if (o.apart == Apart::nothing) o.apart = Apart::processes;
        break;
      case 'g':
        o.gmon = argument;
        break;
      case 'o':
        o.output = argument;
        break;
      case 'F':
      case 'N':
        o.rewriting.push_back(std::string("-") + char(c));
        o.rewriting.push_back(argument);
        break;
      case option_module:
        o.modules.emplace_back(optarg);
        break;
      case option_by_module:
        by_module = true;
        break;
      case option_json:
        choose(Options::View::json);
        break;
      case option_suggest:
        choose(Options::View::suggestion);
        break;
      case option_automatic:
        o.automatic = true;
        break;
      case option_true:
        o.true_times = true;
        break;
      case option_samples:
        o.samples = argument;
        if (o.samples.empty()) throw UsageError("--true: no file of samples named");
        break;
      case option_check:
        o.check = true;
        break;
      case option_min_size:
        o.rewriting.push_back("--min-size=" + argument);
        break;
      case option_no_leaves:
        o.rewriting.emplace_back("--no-leaves");
        break;
      case option_imports:
        o.rewriting.emplace_back("--imports");
        break;
      case option_no_imports:
        o.rewriting.emplace_back("--no-imports");
        break;
      case option_libraries_only:
        o.libraries_only = true;
        [[fallthrough]];
      case option_libraries:
        if (!o.libraries) o.libraries.emplace();
        if (!argument.empty()) o.libraries->push_back(argument);
        break;
      case option_libraries_all:
        if (!o.libraries) o.libraries.emplace();
        o.rewriting.emplace_back("--all");
        break;
      case option_raw_names:
        o.raw_names = true;
        break;
      case option_gprof_symbols:
        o.gprof_symbols = argument;
        break;
      case option_report:
        o.report = argument;
        break;
      case option_help:
        o.help = true;
        break;
      case option_version:
        o.version = true;
        break;
      default:
        throw error_of(c, argv);
    }
  }
  if (by_module && o.view != Options::View::json) choose(Options::View::modules);  // JSON has modules anyway
  settle(o, view_chosen);
  o.arguments.assign(argv + optind, argv + argc);
  return o;
}

}  // namespace

Options parse_prof_options(int argc, char** argv) { return parse(argc, argv, ":drsRtp:g:", kProfOptions); }

// '+': what follows the program belongs to the program.
Options parse_run_options(int argc, char** argv) { return parse(argc, argv, "+:drsRtg:F:N:", kRunOptions); }

Options parse_pack_options(int argc, char** argv) { return parse(argc, argv, ":o:F:N:", kPackOptions); }

std::string help_text() {
  return "usage: prof [options] [program] [profile ...]\n"
         "       prof run [options] [--] program [argument ...]\n"
         "       prof top [-R] [-i SECONDS] [-n TIMES] [--raw-names] PID\n"
         "       prof ctl on|off|reset|status PID\n"
         "\n"
         "Shows where a program that profld rewrote spent its time and what it called, or (prof run) rewrites a\n"
         "program, runs it, and shows that on standard error. Without a profile: the newest prof.* in the current\n"
         "directory. Without a program: the one that the profile is of. prof top shows what a running program does\n"
         "now, anew every second; prof ctl tells from when to when its calls are recorded.\n"
         "\n"
         "Times are those on a processor, and what a function waited is apart from them; a program that was run with\n"
         "another PROFTYPE has other times, see profld(1). A time that is not known to a tenth is shown as the range\n"
         "that it is in, 0.05-0.12, with ~ at its percentage; ? marks a figure that cannot be.\n"
         "\n"
         "  -d                    the tree of calls, not the table of functions\n"
         "  -r                    do not cut recursion off in the tree\n"
         "  -s                    sort the tree by time, not by order of first call\n"
         "  -R                    raw times: do not subtract what the profiling itself cost\n"
         "  -t                    each thread apart\n"
         "  --processes           each process apart; without a profile: all those of the program here\n"
         "  -p PID                only the profiles of this process\n"
         "  --by-module           a table with a line for each module: the program, and each library\n"
         "  --module GLOB         only functions of modules whose names match (repeatable)\n"
         "  --json                everything as JSON\n"
         "  --suggest             options of profld that leave out functions not worth timing\n"
         "  -g FILE               write gmon.out for gprof to FILE\n"
         "  --gprof-symbols FILE  write names for gprof -S to FILE, for stripped programs\n"
         "  --raw-names           do not demangle names\n"
         "  --true FILE           take times from the samples that prof run --true left in FILE\n"
         "\n"
         "prof run also takes\n"
         "  --true                run the program twice: sampled as it is, for true times, and counted\n"
         "  --check               with --true: compare the outputs of both runs\n"
         "  --libs[=GLOB]         profile shared libraries as well: all, or those whose names match (repeatable)\n"
         "  --libs-all            the same, with their functions that are too small to time\n"
         "  --libs-only[=GLOB]    the same without the program's own functions\n"
         "  --auto                a counting run first, without output; then leave out functions not worth timing\n"
         "\n"
         "and these options of profld:\n"
         "  -F GLOB               profile only functions whose names match (repeatable)\n"
         "  -N GLOB               do not profile functions whose names match (repeatable)\n"
         "  --min-size BYTES      profile only functions of at least BYTES of code\n"
         "  --no-leaves           profile only functions that call others\n"
         "  --no-imports          do not profile the functions of libraries that they call\n"
         "  --report FILE         write a report of the rewriting to FILE\n"
         "\n"
         "See prof(1).\n";
}

}  // namespace prof
