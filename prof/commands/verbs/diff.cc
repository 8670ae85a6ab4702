#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "libprof/profile_type.h"
#include "linker-rewrite/options/command_line.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/commands/options/message.h"
#include "prof/commands/options/options.h"
#include "prof/commands/showing/choose.h"
#include "prof/commands/showing/show.h"
#include "prof/page/page.h"
#include "prof/read/header.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/output.h"
#include "verbs.h"

namespace prof {

namespace {

using prof_options::Given;
using prof_options::set;

constexpr int kFailed = 3;  // exit status

using View = DiffOptions::View;

template <View view>
void show(DiffOptions& o, const Given& given) {
  if (!o.view_option.empty() && o.view != view) throw prof_options::exclusion(o.view_option, given.option);
  o.view = view;
  o.view_option = given.option;
}

DifferenceOptions::Sort sort_of(const Given& given) {
  using Sort = DifferenceOptions::Sort;
  return prof_options::one_of<Sort>(given, "key",
                                    {{"self", Sort::self},
                                     {"total", Sort::total},
                                     {"calls", Sort::calls},
                                     {"per-call", Sort::per_call},
                                     {"name", Sort::name},
                                     {"p50", Sort::p50},
                                     {"p99", Sort::p99},
                                     {"max", Sort::max}});
}

const prof_options::Table<DiffOptions> kOptions = {
    {{'d', "", "", "the tree of calls: contexts in which something changed; + those of B only, - those of A only"},
     show<View::tree>},
    {{0, "all", "",
      "everything: on a terminal, too, where else there are 25 functions or what fits; in the tree also where nothing "
      "changed"},
     [](DiffOptions& o, const Given&) { o.shown.all = true; }},
    {{'r', "", "", "the tree, and do not cut recursion off in it"},
     [](DiffOptions& o, const Given& given) {
       show<View::tree>(o, given);
       o.shown.whole_recursion = true;
     }},
    {{'s', "", "", "the tree, sorted by change, not by order of first call"},
     [](DiffOptions& o, const Given& given) {
       show<View::tree>(o, given);
       o.shown.by_change = true;
     }},
    {{0, "sort", "KEY",
      "sort the table by the change of self (the default), total, calls or per-call, or by name; with --latency by "
      "that of "
      "p50, p99 (the default) or max"},
     [](DiffOptions& o, const Given& given) { o.shown.sort = sort_of(given); }},
    {{'n', "", "N", "only N functions in the table"},
     [](DiffOptions& o, const Given& given) {
       o.shown.rows = prof_options::number_of<size_t>(given, 0, SIZE_MAX, "a number of functions");
     }},
    {{0, "latency", "", "how long single calls lasted, of functions that both have: percentiles, the longest"},
     show<View::latency>},
    {{0, "json", "", "everything as JSON"}, show<View::json>},
    {{0, "html", "FILE",
      "write FILE, a page for a browser: flame graph, table, callers and callees, in colours of change"},
     [](DiffOptions& o, const Given& given) { o.html = prof_options::name_of(given, "FILE"); }},
    {{0, "with-source", "", "with --html: the source is in the page, too, with what changed in each line"},
     set<&DiffOptions::with_source>},
    {{'R', "", "", "raw times: do not subtract what the profiling itself cost"}, set<&DiffOptions::raw_times>},
    {{'w', "wide", "", "write names out: neither simplify nor cut them"},
     [](DiffOptions& o, const Given&) { o.shown.wide = true; }},
    {{0, "raw-names", "", "do not demangle names"}, set<&DiffOptions::raw_names>},
    {{0, "no-inlined", "", "no rows for inlined functions"}, set<&DiffOptions::no_inlined>},
    {{0, "fail-above", "P",
      "exit with 3 if a function, or all together, became slower by more than P percent of all the time of A"},
     [](DiffOptions& o, const Given& given) {
       o.fail_above = prof_options::number_of<double>(given, 0, HUGE_VAL, "a number of percent");
     }},
    prof_options::help_option<DiffOptions>(),
};

const std::vector<prof_options::Exclusion> kExclusions = {
    {{"--json", "-d", "-r", "-s"}, {"-n", "--sort"}, "-n and --sort are for the table"},
    {{"--all"}, {"-n"}},
};

}  // namespace

std::string diff_help_text() {
  return "usage: prof diff [options] [program] A [program] B\n"
         "       prof diff [options] [program] A ... -- [program] B ...\n"
         "\n"
         "Shows what is different between two runs, or two builds of a program, A and B.\n"
         "Each is a profile, or a directory with the profiles of one run; with several on\n"
         "a side figures are means, and p tells how likely chance alone makes such a\n"
         "change. ~ marks a change that may be noise.\n"
         "\n" +
         prof_options::help_of(kOptions, {22}) +
         "\n"
         "See prof(1).\n";
}

DiffOptions parse_diff_options(int argc, char** argv) {
  // getopt_long would forget where -- was.
  int end = 1;
  while (end < argc && std::strcmp(argv[end], "--") != 0) ++end;
  DiffOptions o;
  const auto parsed = prof_options::parse(kOptions, {"prof diff"}, end, argv, o);
  if (o.help) return o;
  prof_options::check(parsed, kExclusions, {{"--with-source", "--html", "it says what is in that page"}});
  using Sort = DifferenceOptions::Sort;
  const bool is_of_durations = o.shown.sort >= Sort::p50;
  if (is_of_durations && o.view != View::latency) throw UsageError("diff: p50, p99 and max go with --latency");
  const bool is_of_totals =
      o.shown.sort == Sort::total || o.shown.sort == Sort::calls || o.shown.sort == Sort::per_call;
  if (is_of_totals && o.view == View::latency) throw UsageError("diff: --latency is sorted by p50, p99, max or name");
  if (!o.html.empty() && o.view == View::table) {
    // Only what is printed has an order and an end.
    prof_options::check(parsed, {{{"--html"}, {"-n", "--sort"}, "the page has all functions, and sorts them"}}, {});
    o.view = View::none;
  }
  o.arguments[0] = parsed.rest;
  if (end < argc) o.arguments[1].assign(argv + end + 1, argv + argc);
  return o;
}

namespace {

// The profiles of a run, and the program that the user named for them; "" if none.
struct Run {
  std::string program;
  std::vector<std::string> profiles;
  bool is_gmon = false;
};

bool is_program(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && kind_of_file(path) == FileKind::elf;
}

std::vector<Run> runs_of(const std::vector<std::string>& arguments) {
  std::vector<Run> runs;
  std::string program;
  for (const std::string& argument : without_samples(arguments)) {
    if (is_program(argument)) {
      program = argument;
      continue;
    }
    Options options;
    options.arguments = {argument};
    const bool is_gmon = names_gmon(options.arguments);
    if (is_gmon && !program.empty()) options.arguments.insert(options.arguments.begin(), program);
    Choice choice = choose(options);
    say_all(choice.remarks);
    if (is_gmon && !choice.gmon_libraries.empty())
      throw Error(argument + ": is of a library; name a gmon.out of the program");
    runs.push_back({is_gmon ? choice.program : program, std::move(choice.profiles), is_gmon});
  }
  return runs;
}

std::array<std::vector<Run>, 2> sides_of(const DiffOptions& options) {
  std::array<std::vector<Run>, 2> sides = {runs_of(options.arguments[0]), runs_of(options.arguments[1])};
  if (options.arguments[1].empty() && sides[0].size() == 2) {
    sides[1].push_back(std::move(sides[0].back()));
    sides[0].pop_back();
    // A program that was named for the first only is not that of the second, which may be another build.
    const bool is_last_named = options.arguments[0].size() >= 2 &&
                               options.arguments[0][options.arguments[0].size() - 2] == sides[1][0].program;
    if (!is_last_named && !sides[1][0].is_gmon) sides[1][0].program.clear();
  }
  if (sides[0].empty() || sides[1].empty())
    throw UsageError("diff: name two profiles, or several of A, --, and several of B; see prof diff --help");
  return sides;
}

std::string type_name(uint32_t type) {
  for (const libprof::TypeName& t : libprof::kTypeNames)
    if (t.type == type) return t.name;
  return "another";
}

// The PROFTYPE of all runs, or "gmon" if one is a gmon.out, which can be compared with each. Throws Error if they have
// several.
std::string common_type(const std::array<std::vector<Run>, 2>& sides) {
  for (const std::vector<Run>& side : sides)
    if (std::ranges::any_of(side, &Run::is_gmon)) return "gmon";
  const std::string& first = sides[0][0].profiles[0];
  const uint32_t type = read_header(first).type;
  for (const std::vector<Run>& side : sides) {
    for (const Run& run : side) {
      const uint32_t other = read_header(run.profiles[0]).type;
      if (other == type) continue;
      throw Error(run.profiles[0] + ": has PROFTYPE=" + type_name(other) + ", and " + first +
                  " PROFTYPE=" + type_name(type) + "; their times cannot be compared");
    }
  }
  return type_name(type);
}

// What became slower by more than so much of all the time of A, or of its calls where there are no times: a line each.
std::vector<std::string> failures(const Difference& d, double percent) {
  std::vector<std::string> found;
  auto cost = [&](const std::array<Figures, 2>& figures) { return d.timed ? d.self(figures) : d.calls(figures); };
  const double whole = cost(d.all).first;
  auto check = [&](const std::string& name, const std::array<Figures, 2>& figures) {
    const Change change = cost(figures);
    const double part = whole > 0 ? 100 * change.amount() / whole : 0;
    if (!change.is_known || change.amount() <= 0 || (whole > 0 && part <= percent)) return;
    const std::string amount =
        d.timed ? duration(change.amount()) + " slower" : count_text(change.amount()) + " calls more";
    char text[64];
    std::snprintf(text, sizeof text, ", %.1f %% of all %s of A", part, d.timed ? "time" : "calls");
    found.push_back(name + ": " + amount + (whole > 0 ? text : ""));
  };
  // What a side does not know is no change.
  const auto has_figures = [&](const ComparedFunction& f) { return d.timed || f.has_calls; };
  for (const ComparedFunction& f : d.functions)
    if (has_figures(f)) check(name_text(f), f.sides);
  if (std::ranges::all_of(d.functions, has_figures)) check("all functions", d.all);
  return found;
}

void print(const DiffOptions& options, const Difference& difference, const std::string& type, Output& out) {
  DifferenceOptions shown = options.shown;
  if (const std::optional<TerminalSize> terminal = terminal_size(STDOUT_FILENO)) {
    shown.columns = terminal->columns;
    shown.rows_of_terminal = terminal->rows_of_table();
  }
  switch (options.view) {
    case DiffOptions::View::latency:
      print_latency_difference(difference, shown, out);
      break;
    case DiffOptions::View::table:
      print_difference(difference, shown, out);
      break;
    case DiffOptions::View::tree:
      print_difference_tree(difference, shown, out);
      break;
    case DiffOptions::View::json:
      print_difference_json(difference, type, out);
      break;
    case DiffOptions::View::none:
      break;
  }
}

}  // namespace

namespace {

struct Compared {
  Difference difference;
  std::vector<std::string> remarks;
  ComparedSources sources;  // empty unless they are to be in a page
  bool is_damaged = false;
  size_t with_inlined = 0;  // runs that have rows for inlined functions of the program
};

// JSON says by itself what the table, the tree and the page need remarks for.
bool needs_remarks(const DiffOptions& options) {
  return options.view != DiffOptions::View::json || !options.html.empty();
}

Compared compare_sides(const DiffOptions& options, const std::array<std::vector<Run>, 2>& sides, bool inlined_rows) {
  Compared compared;
  const bool is_table = options.view == View::table || options.view == View::latency;
  Comparison comparison(!is_table || !options.html.empty());
  for (size_t s = 0; s < 2; ++s) {
    for (const Run& run : sides[s]) {
      Analysis analysis = analyse({.program = run.program,
                                   .profiles = run.profiles,
                                   .raw_names = options.raw_names,
                                   .raw_times = options.raw_times,
                                   .remarks = needs_remarks(options),
                                   .inlined_rows = inlined_rows,
                                   .whole_names = options.shown.wide,
                                   .durations = options.view == View::latency || options.view == View::json,
                                   .may_list_inlined = false});
      compared.remarks.insert(compared.remarks.end(), analysis.remarks.begin(), analysis.remarks.end());
      compared.is_damaged = compared.is_damaged || analysis.damaged;
      compared.with_inlined += std::ranges::any_of(analysis.functions.functions(),
                                                   [](const Function& f) { return f.is_inlined && f.object == 0; });
      const std::vector<uint32_t> numbers = comparison.add(s, analysis);
      if (!options.with_source) continue;
      AnnotatedSource source = annotated_source(analysis, code_for_page(analysis), {});
      compared.sources.add(s, analysis, numbers, source.annotation, std::move(source.text), source.remarks);
    }
  }
  compared.difference = comparison.finish();
  return compared;
}

}  // namespace

int diff(const DiffOptions& options) {
  Output out(stdout, "standard output");
  const std::array<std::vector<Run>, 2> sides = sides_of(options);
  const std::string type = common_type(sides);
  Compared compared = compare_sides(options, sides, !options.no_inlined);
  // Where one build of the program has no debug information, its inlined functions would be gone, and others slower.
  if (compared.with_inlined != 0 && compared.with_inlined != sides[0].size() + sides[1].size()) {
    compared = compare_sides(options, sides, false);
    if (needs_remarks(options))
      compared.remarks.emplace_back(
          "some runs have no inlined functions, or no debug information that tells them: none has rows");
  }
  const Difference& difference = compared.difference;
  if (difference.nameless > 0) {
    compared.remarks.push_back(prof_text::count_of(difference.nameless, "function has", "functions have") +
                               " no name, and could not be found in the other build: shown as new or gone");
  }
  say_all(compared.remarks);
  if (options.with_source) say_all(compared.sources.settle(difference));
  print(options, difference, type, out);
  out.finish();
  if (!options.html.empty())
    write_file(options.html, [&](Output& page) {
      write_page(difference, compared.remarks, options.with_source ? &compared.sources : nullptr, page);
    });
  if (options.fail_above) {
    const std::vector<std::string> found = failures(difference, *options.fail_above);
    say_all(found);
    if (!found.empty()) return kFailed;
  }
  return compared.is_damaged ? 1 : 0;
}

}  // namespace prof
