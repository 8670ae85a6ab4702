#include "option_table.h"

#include "options.h"

namespace prof {

namespace {

using prof_options::add;
using prof_options::Given;
using prof_options::set;
using View = Options::View;

// What options are for.

constexpr unsigned kTree = bit(View::tree), kJson = bit(View::json);
constexpr unsigned kTables = bit(View::flat) | bit(View::modules) | bit(View::latency);
constexpr unsigned kTrees = kTree | kJson;
constexpr unsigned kCode = bit(View::annotation) | bit(View::disassembly) | bit(View::call_sites);
constexpr unsigned kFunctions = bit(View::flat) | bit(View::latency) | kTrees | kCode;
constexpr unsigned kNotApart = bit(View::dot) | kCode;  // these show everything as one
constexpr unsigned kGprof = bit(View::gprof) | bit(View::fallacy);
constexpr unsigned kAllContexts = kGprof | kCode | bit(View::suggestion) | bit(View::latency);
constexpr unsigned kAllModules = kGprof | bit(View::suggestion) | bit(View::folded) | bit(View::dot);

// How they are taken.

template <View view>
void show(Options& o, const Given& given) {
  if (!o.view_option.empty() && o.view != view) throw prof_options::exclusion(o.view_option, given.option);
  o.view = view;
  o.view_option = given.option;
}

// JSON has modules anyway.
void show_json(Options& o, const Given& given) {
  if (o.view == View::modules) o.view_option.clear();
  show<View::json>(o, given);
}
void show_modules(Options& o, const Given& given) {
  if (o.view != View::json) show<View::modules>(o, given);
}

template <View view>
void show_code(Options& o, const Given& given) {
  show<view>(o, given);
  if (!given.argument.empty()) o.functions.push_back(given.argument);
}

template <auto member>
void keep_file(Options& o, const Given& given) {
  o.*member = prof_options::name_of(given, "FILE");
}

template <auto member>
void add_context(Options& o, const Given& given) {
  (o.contexts.*member).push_back(given.argument);
}

// Hands an option on to profld, which has it as well.
void hand_on(Options& o, const Given& given) {
  o.rewriting.push_back(given.option);
  if (given.argument.empty()) return;
  if (given.option.starts_with("--"))
    o.rewriting.back() += "=" + given.argument;
  else
    o.rewriting.push_back(given.argument);
}
void hand_on_pattern(Options& o, const Given& given, const char* letter) {
  o.rewriting.emplace_back(letter);
  o.rewriting.push_back(given.argument);
}
void only(Options& o, const Given& given) { hand_on_pattern(o, given, "-F"); }
void not_these(Options& o, const Given& given) { hand_on_pattern(o, given, "-N"); }
void least_size(Options& o, const Given& given) { o.rewriting.push_back("--min-size=" + given.argument); }
void blocks(Options& o, const Given&) {
  o.blocks = true;
  o.rewriting.emplace_back("--blocks");
}
void trace(Options& o, const Given& given) {
  if (!given.argument.empty()) prof_options::one_of<int>(given, "kind of trace", {{"blocks", 0}, {"memory", 0}});
  o.trace = true;
  hand_on(o, given);
}
void libraries(Options& o, const Given& given) {
  if (!o.libraries) o.libraries.emplace();
  if (!given.argument.empty()) o.libraries->push_back(given.argument);
}
void all_of_libraries(Options& o, const Given&) {
  if (!o.libraries) o.libraries.emplace();
  o.rewriting.emplace_back("--all");
}
void libraries_only(Options& o, const Given& given) {
  o.libraries_only = true;
  libraries(o, given);
}
void debug_folder(Options& o, const Given& given) {
  o.debug_files.folders.push_back(given.argument);
  o.rewriting.push_back("--debug-dir=" + given.argument);
}

}  // namespace

const OptionTable kViewOptions = {
    {{'d', "", "", "the tree of calls, not the table of functions"}, show<View::tree>},
    {{'r', "", "", "do not cut recursion off in the tree"},
     [](Options& o, const Given&) { o.tree.whole_recursion = true; },
     kTree},
    {{'s', "", "", "sort the tree by time, not by order of first call"},
     [](Options& o, const Given&) { o.tree.sort = SortKey::total; },
     kTree},
    {{0, "sort", "KEY",
      "the table, the siblings in the tree, or JSON by self, total, calls, per-call or name; --latency also by p50, "
      "p90, "
      "p99 or max"},
     [](Options& o, const Given& given) { o.order = sort_key_of(given); },
     kTables | kTrees},
    {{'n', "rows", "N", "the first N rows of the table"},
     [](Options& o, const Given& given) {
       o.table.most_rows = prof_options::number_of<size_t>(given, 1, SIZE_MAX, "a number greater than 0");
     },
     kTables | bit(View::fallacy)},
    {{0, "percent", "P", "only what has at least P percent, in the table and the tree"},
     [](Options& o, const Given& given) {
       o.percent = prof_options::number_of<double>(given, 0, 100, "a number from 0 to 100");
     },
     kTables | kTrees},
    {{0, "depth", "N", "only N levels of the tree"},
     [](Options& o, const Given& given) {
       o.tree.pruning.depth = prof_options::number_of<uint32_t>(given, 1, UINT32_MAX, "a number of levels");
     },
     kTrees},
    {{0, "chains", "", "chains of calls in the tree on one line"},
     [](Options& o, const Given&) { o.tree.chains = true; },
     kTree},
    {{0, "all", "", "everything on a terminal, too, where else there are 25 rows or what fits, and a shortened tree"},
     set<&Options::all>},
    {{0, "callers", "GLOB", "the tree from these functions to who called them (repeatable)"},
     add_context<&ContextSelection::callers>,
     kTrees},
    {{0, "callees", "GLOB", "the tree from these functions on (repeatable)"},
     add_context<&ContextSelection::callees>,
     kTrees},
    {{0, "focus", "GLOB", "only contexts through these functions (repeatable)"},
     add_context<&ContextSelection::focus>,
     ~kAllContexts},
    {{0, "ignore", "GLOB", "no contexts through these functions (repeatable)"},
     add_context<&ContextSelection::ignore>,
     ~kAllContexts},
    {{0, "no-header", "", "the table without the lines above it"},
     [](Options& o, const Given&) { o.table.has_header = false; },
     kTables},
    {{'R', "", "", "raw times: do not subtract what the profiling itself cost"}, set<&Options::raw_times>},
    {{'t', "", "", "each thread apart"}, [](Options& o, const Given&) { o.apart = Apart::threads; }, ~kNotApart},
    {{0, "processes", "", "each process apart; without a profile: all those of the newest run here"},
     [](Options& o, const Given&) {
       if (o.apart == Apart::nothing) o.apart = Apart::processes;
     },
     ~kNotApart},
    {{'p', "", "PID", "only the profiles of this process"},
     [](Options& o, const Given& given) {
       o.process = prof_options::number_of<uint32_t>(given, 0, UINT32_MAX, "the id of a process");
     },
     ~0u,
     kOfProf},
    {{0, "by-module", "", "a table with a line for each module: the program, and each library"}, show_modules},
    {{0, "module", "GLOB", "only functions of modules whose names match (repeatable)"},
     add<&Options::modules>,
     ~kAllModules},
    {{0, "function", "GLOB", "only functions whose names match, as std::sort or 'parse_*' (repeatable)"},
     add<&Options::functions>,
     kFunctions},
    {{0, "not-function", "GLOB", "not functions whose names match (repeatable)"},
     add<&Options::not_functions>,
     kFunctions},
    {{0, "latency", "", "how long single calls lasted: the shortest, percentiles, the longest"}, show<View::latency>},
    {{0, "json", "", "everything as JSON"}, show_json},
    {{0, "folded", "", "contexts for flame graphs, a line each"}, show<View::folded>},
    {{0, "csv", "", "functions with commas, a line each"}, show<View::csv>},
    {{0, "dot", "", "the graph of functions, for dot"}, show<View::dot>},
    {{0, "html", "FILE", "write FILE, a page for a browser: flame graph, table, callers and callees"},
     keep_file<&Options::html>},
    {{0, "with-source", "", "with --html: the source is in the page, too, with how often each line ran, and its time"},
     set<&Options::with_source>},
    {{0, "callgrind", "FILE", "write FILE for KCachegrind"}, keep_file<&Options::callgrind>},
    {{0, "pprof", "FILE", "write FILE for go tool pprof"}, keep_file<&Options::pprof>},
    {{0, "llvm-profile", "FILE", "write FILE for clang -fprofile-sample-use: how often places in the source ran"},
     keep_file<&Options::llvm_profile>},
    {{0, "gcc-profile", "FILE", "write FILE for gcc -fauto-profile"}, keep_file<&Options::gcc_profile>},
    {{0, "bolt", "FILE", "write FILE for llvm-bolt -data: how often each branch was taken"}, keep_file<&Options::bolt>},
    {{0, "speedscope", "FILE", "write FILE for www.speedscope.app"}, keep_file<&Options::speedscope>},
    {{0, "output", "FILE", "print to FILE what else goes to standard output"},
     keep_file<&Options::output>,
     ~bit(View::none)},
    {{'G', "", "", "gprof's report: flat profile, call graph and index, with measured times of calls"},
     show<View::gprof>},
    {{0, "propagated", "", "with -G: these times as gprof computes them, from the number of calls"},
     set<&Options::propagated>,
     bit(View::gprof)},
    {{0, "fallacy", "", "the calls whose times gprof would get most wrong"}, show<View::fallacy>},
    {{0, "suggest", "", "options of profld that leave out functions not worth timing"}, show<View::suggestion>},
    {{0, "annotate", "[GLOB]", "source with how often each line ran: files of functions whose names match, or all"},
     show_code<View::annotation>},
    {{0, "disassemble", "GLOB", "the instructions of functions whose names match, with how often each ran"},
     show_code<View::disassembly>},
    {{0, "call-sites", "", "from which lines functions were called, and how often"}, show<View::call_sites>},
    {{'g', "", "FILE", "write gmon.out for gprof to FILE"}, keep_file<&Options::gmon>},
    {{0, "gprof-blocks", "", "with -g: counts of basic blocks in FILE itself, for gprof -l, not in FILE.blocks"},
     set<&Options::gprof_blocks>},
    {{0, "gprof-symbols", "FILE", "write names for gprof -S to FILE, for stripped programs"},
     keep_file<&Options::gprof_symbols>},
    {{'w', "wide", "", "write names out: neither simplify nor cut them"}, set<&Options::wide>},
    {{0, "raw-names", "", "do not demangle names"}, set<&Options::raw_names>},
    {{0, "inlined", "", "below each function, what was inlined into it; needs debug information"},
     set<&Options::inlined>,
     bit(View::flat) | kJson},
    {{0, "no-inlined", "",
      "after prof run: no rows for inlined functions; their time is of those that have their code"},
     set<&Options::no_inlined>},
    {{0, "debug-dir", "DIR", "look for debug files of stripped programs in DIR, too (repeatable)"}, debug_folder},
    {{0, "true", "FILE", "take times from the samples that prof run --true left in FILE"},
     keep_file<&Options::samples>,
     ~bit(View::suggestion),
     kOfProf},
};

const OptionTable kRunOptions = {
    {{0, "type", "TYPE",
      "auto, if nothing else is asked for: exact calls, and times from samples, without hooks; with hooks, for exact "
      "contexts: time, elapsed, cpu, adaptive, sample or count, see profld(1)"},
     [](Options& o, const Given& given) { o.type = type_of_run(given); },
     ~0u,
     kOfRun},
    {{0, "auto", "", ""}, [](Options& o, const Given&) { o.type = kAutoType; }, ~0u, kOfRun},
    {{0, "dir", "DIR", "leave the profiles of all processes in DIR; prof DIR shows them together"},
     [](Options& o, const Given& given) { o.folder = prof_options::name_of(given, "DIR"); },
     ~0u,
     kOfRun},
    {{0, "cache-size", "SIZE", "keep rewritten programs below SIZE, as 500M or 4G (the default)"},
     [](Options& o, const Given& given) { o.cache_size = prof_options::size_of(given); },
     ~0u,
     kOfRun},
    {{0, "true", "", "run the program twice: sampled as it is, for true times, and counted"},
     set<&Options::true_times>,
     ~bit(View::suggestion),
     kOfRun},
    {{0, "check", "", "with --true: compare the outputs of both runs"}, set<&Options::check>, ~0u, kOfRun},
    {{0, "libs", "[GLOB]", "profile shared libraries as well: all, or those whose names match (repeatable)"},
     libraries,
     ~0u,
     kOfRun},
    {{0, "libs-all", "", "the same, with their functions that are too small to time"}, all_of_libraries, ~0u, kOfRun},
    {{0, "libs-only", "[GLOB]", "the same without the program's own functions"}, libraries_only, ~0u, kOfRun},
};

const OptionTable kRewritingOptions = {
    {{'F', "", "GLOB", "profile only functions whose names match (repeatable)"}, only, ~0u, kOfRun},
    {{'N', "", "GLOB", "do not profile functions whose names match (repeatable)"}, not_these, ~0u, kOfRun},
    {{0, "min-size", "BYTES", "profile only functions of at least BYTES of code"}, least_size, ~0u, kOfRun},
    {{0, "no-leaves", "", "profile only functions that call others"}, hand_on, ~0u, kOfRun},
    {{0, "discover", "", "profile also functions that no symbol or unwind table names"}, hand_on, ~0u, kOfRun},
    {{'b', "blocks", "", "count how often each basic block ran, too, for --annotate and --disassemble"},
     blocks,
     ~0u,
     kOfRun},
    {{0, "keep", "GLOB", "with --latency: functions whose names match are timed to the end (repeatable)"},
     hand_on,
     ~0u,
     kOfRun},
    {{0, "trace", "[memory]",
      "write down which basic blocks run, one after the other, for prof istat and prof itrace; with =memory also which "
      "memory they read and write"},
     trace,
     ~0u,
     kOfRun},
    {{0, "imports", "", ""}, hand_on, ~0u, kOfRun},
    {{0, "no-imports", "", "do not profile the functions of libraries that they call"}, hand_on, ~0u, kOfRun},
    {{0, "report", "FILE", "write a report of the rewriting to FILE"}, keep_file<&Options::report>, ~0u, kOfRun},
};

const OptionTable kLastOptions = {
    prof_options::help_option<Options>(),
    {{'V', "version", "", "print the version"}, set<&Options::version>, ~0u, kOfProf},
};

const OptionTable kPackOptions = {
    {{'o', "output", "DIRECTORY", ""}, keep_file<&Options::output>},
    {{'b', "blocks", "", ""}, blocks},
    {{'F', "only", "GLOB", ""}, only},
    {{'N', "not", "GLOB", ""}, not_these},
    {{0, "min-size", "BYTES", ""}, least_size},
    {{0, "no-leaves", "", ""}, hand_on},
    {{0, "all", "", ""}, all_of_libraries},
    {{0, "libs", "[GLOB]", ""}, libraries},
    {{0, "debug-dir", "DIR", ""}, debug_folder},
};

const char* name_of(View view) {
  switch (view) {
    case View::flat:
      return "the table";
    case View::tree:
      return "the tree";
    case View::modules:
      return "--by-module";
    case View::latency:
      return "--latency";
    case View::json:
      return "--json";
    case View::folded:
      return "--folded";
    case View::csv:
      return "--csv";
    case View::dot:
      return "--dot";
    case View::suggestion:
      return "--suggest";
    case View::gprof:
      return "-G";
    case View::fallacy:
      return "--fallacy";
    case View::annotation:
      return "--annotate";
    case View::disassembly:
      return "--disassemble";
    case View::call_sites:
      return "--call-sites";
    case View::none:
      return "exports to files alone";
  }
  return "";
}

namespace {

constexpr prof_options::HelpLayout kLayout = {24};

}  // namespace

std::string help_text() {
  using prof_options::help_of;
  return prof_options::folded(
      "usage: prof [options] [program] [profile ...]\n"
      "       prof run [options] [--] program [argument ...]\n"
      "       prof diff [options] A B\n"
      "       prof compare [options] [--] program [argument ...]\n"
      "       prof top [-Rw] [-i SECONDS] [-n TIMES] [--rows N] [--raw-names] PID\n"
      "       prof tui [options] [program] [profile ...]\n"
      "       prof ctl on|off|reset|status PID\n"
      "       prof gprof [gprof's options] [program [profile ...]]\n"
      "       prof trace [options] -o FILE [--] program [argument ...]\n"
      "       prof itrace [options] trace\n"
      "       prof istat [options] trace\n"
      "\n"
      "Shows where a program that profld rewrote spent its time and what it called, or (prof run) rewrites a "
      "program, runs it, and shows that on standard error. Without a profile: the newest run in the current "
      "directory. Without a program: the one that the profile is of. A profile is a file prof.PID, the PID of a "
      "process, or a folder of such files; or a gmon.out, after its program. prof diff shows what is different "
      "between two of them; prof compare runs a program as it is, profiled, and as gcc -pg built it. prof top shows "
      "what a running program does now, anew every second; prof tui shows a profile to look around in; prof ctl tells "
      "from when to when its calls are "
      "recorded. prof trace writes a trace of the instructions that a program runs, prof itrace prints it, and prof "
      "istat what it adds up to. Each of these has a --help of its own.\n"
      "\n"
      "Times are those on a processor, and what a function waited is apart from them; a program that was run with "
      "another PROFTYPE has other times, see profld(1). A time that is not known to a tenth is shown as the range "
      "that it is in, 0.05-0.12s; ~ marks a percentage that is not known so well; ? marks a figure that cannot be.\n"
      "\n" +
          help_of(kViewOptions, kLayout) +
          "\n"
          "prof run also takes\n" +
          help_of(kRunOptions, kLayout) +
          "\n"
          "and these options of profld:\n" +
          help_of(kRewritingOptions, kLayout) +
          "\n"
          "Environment:\n"
          "  PROFDIR               where profiles are written, and looked for by the number of a process\n"
          "  PROFTYPE, PROFSIZE,\n"
          "  PROFSTART             of the profiled program, see profld(1)\n"
          "  XDG_CACHE_HOME        where rewritten programs are kept (default: ~/.cache)\n"
          "  tabstop               columns of a tab in the tree (default: 4)\n"
          "\n" +
          help_of(kLastOptions, kLayout) +
          "\n"
          "See prof(1).\n",
      kLayout);
}

}  // namespace prof
