#include "compare.h"

#include <getopt.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cache.h"
#include "compare_runs.h"
#include "message.h"
#include "option_values.h"
#include "options.h"
#include "prof/model/compare/side_by_side.h"
#include "prof/read/elf_file.h"
#include "prof/views/compare/side_by_side.h"
#include "prof/views/text/terminal.h"
#include "temporary_directory.h"

namespace prof {

namespace {

constexpr char kHelp[] =
    "usage: prof compare [options] [--] program [argument ...]\n"
    "\n"
    "Runs a program as it is, and as profld profiles it, and, with --pg, as it was\n"
    "built by gcc -pg, in turn, three times each. Prints on standard error how long\n"
    "each took, and what part of the time and how many calls each found in the\n"
    "program's functions. The first run's output is shown, and the others read what\n"
    "it read.\n"
    "\n"
    "  --pg BUILD          the same program, built with gcc -pg\n"
    "  --runs N            run each N times\n"
    "  --true              and once more as it is, sampled: true shares of the time\n"
    "  --type TYPE         profile with PROFTYPE=TYPE\n"
    "  -n, --rows N        the first N functions, not 20\n"
    "  --json              everything as JSON\n"
    "  --output FILE       print to FILE\n"
    "  -w, --wide          write names out: neither simplify nor cut them\n"
    "  --raw-names         do not demangle names\n"
    "\n"
    "See prof(1).\n";

enum LongOption { option_pg = 256, option_runs, option_true, option_type, option_json, option_raw_names };

const option kWords[] = {{"pg", required_argument, nullptr, option_pg},
                         {"runs", required_argument, nullptr, option_runs},
                         {"true", no_argument, nullptr, option_true},
                         {"type", required_argument, nullptr, option_type},
                         {"rows", required_argument, nullptr, 'n'},
                         {"json", no_argument, nullptr, option_json},
                         {"output", required_argument, nullptr, 'o'},
                         {"wide", no_argument, nullptr, 'w'},
                         {"raw-names", no_argument, nullptr, option_raw_names},
                         {"help", no_argument, nullptr, 'h'},
                         {nullptr, 0, nullptr, 0}};

}  // namespace

std::string compare_help_text() { return kHelp; }

CompareOptions parse_compare_options(int argc, char** argv) {
  CompareOptions o;
  opterr = 0;
  optind = 0;  // glibc: start anew
  // '+': what follows the program belongs to the program.
  for (int c; (c = getopt_long(argc, argv, "+:n:wh", kWords, nullptr)) != -1;) {
    const std::string argument = optarg ? optarg : "";
    switch (c) {
      case option_pg:
        o.pg = file_name("--pg", argument);
        break;
      case option_runs:
        o.runs = parse_number<unsigned>("--runs", argument, 1, 1000, "number from 1 to 1000");
        break;
      case option_true:
        o.true_times = true;
        break;
      case option_type:
        o.type = parse_type(argument);
        break;
      case 'n':
        o.rows = parse_number<size_t>("-n", argument, 1, SIZE_MAX, "number greater than 0");
        break;
      case option_json:
        o.json = true;
        break;
      case 'o':
        o.output = file_name("--output", argument);
        break;
      case 'w':
        o.wide = true;
        break;
      case option_raw_names:
        o.raw_names = true;
        break;
      case 'h':
        o.help = true;
        break;
      default:
        throw UsageError("compare: " + std::string(argv[optind - 1]) +
                         ": no such option, or its argument is missing; see prof compare --help");
    }
  }
  o.arguments.assign(argv + optind, argv + argc);
  if (o.arguments.empty() && !o.help)
    throw UsageError("compare: no program named; prof compare [options] [--] program [argument ...]");
  return o;
}

namespace {

void check_not_rewritten(const std::string& program) {
  if (ElfFile(program).is_rewritten())
    throw Error(program + ": is rewritten already; prof compare needs the original program");
}

// The build that --pg names: a file, or like a command.
std::string find_build(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos || !std::filesystem::is_regular_file(name))
    return name.empty() ? "" : find_program(name);
  return "./" + name;
}

// `samples`: a file of them, or "".
Analysis analysed(const CompareOptions& options, const std::string& program, const std::vector<std::string>& profiles,
                  const std::string& samples) {
  Input input;
  input.program = program;
  input.profiles = profiles;
  input.raw_names = options.raw_names;
  input.whole_names = options.wide;
  input.samples = samples;
  input.remarks = false;
  input.may_list_inlined = false;
  input.debug_files.beside.push_back(std::filesystem::path(program).parent_path().string());
  Analysis analysis = analyse(input);
  say_all(analysis.remarks);
  return analysis;
}

SideBySide put_together(const CompareOptions& options, const std::string& copy, ComparedRuns runs) {
  std::vector<RunsTaken> taken = {std::move(runs.plain), std::move(runs.profiled)};
  std::optional<Analysis> exact, gprof, sampled;
  if (!runs.profiles.empty()) exact.emplace(analysed(options, copy, runs.profiles, ""));
  if (exact && !runs.samples.empty()) sampled.emplace(analysed(options, copy, runs.profiles, runs.samples));
  if (!runs.gmons.empty()) gprof.emplace(analysed(options, runs.pg->program, runs.gmons, ""));
  if (runs.pg) taken.push_back(std::move(*runs.pg));
  std::vector<ShownRuns> shown;
  if (exact) shown.push_back({"profld", &*exact, options.runs, true});
  if (gprof) shown.push_back({"gcc -pg", &*gprof, options.runs, true});
  if (sampled) shown.push_back({"true", &*sampled, 1, false});
  return side_by_side(std::move(taken), shown);
}

void print(const CompareOptions& options, const SideBySide& all, Output& out, std::optional<size_t> columns) {
  if (options.json) return print_side_by_side_json(all, out);
  print_side_by_side(all, {options.rows, options.wide, columns}, out);
}

void show(const CompareOptions& options, const SideBySide& all) {
  if (!options.output.empty())
    return write_file(options.output, [&](Output& out) { print(options, all, out, std::nullopt); });
  std::optional<size_t> columns;
  if (const std::optional<TerminalSize> terminal = terminal_size(STDERR_FILENO)) columns = terminal->columns;
  Output out(stderr, "standard error");
  print(options, all, out, columns);
  out.finish();
}

// Returns how the first run ended, as from waitpid.
int run_and_show(const CompareOptions& options, const Builds& builds) {
  const TemporaryDirectory directory;
  ComparedRuns runs = run_in_turn(options, builds, directory.path());
  const int status = runs.status;
  if (runs.was_ended) {
    say(options.arguments[0] + ": was ended from outside, so there is nothing to compare");
    return runs.last_status;
  }
  signal(SIGPIPE, SIG_IGN);  // the program's status counts, even if nobody reads this
  try {
    show(options, put_together(options, builds.copy, std::move(runs)));
  } catch (const Error& e) {
    say(e.what());
  }
  return status;
}

}  // namespace

int compare(const CompareOptions& options) {
  const std::string program = find_program(options.arguments[0]);
  check_not_rewritten(program);
  const std::string pg = find_build(options.pg);
  const std::string copy = rewritten_copy(program, Options{});
  if (copy.empty()) return 1;
  return end_like(run_and_show(options, {program, copy, pg}));
}

}  // namespace prof
