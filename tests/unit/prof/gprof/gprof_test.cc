// gprof's report: its symbols, cycles, times given on to callers, and layout; and the same with measured times.

#include <doctest/doctest.h>

#include "prof/gprof/graph/assemble.h"
#include "prof/gprof/graph/call_graph.h"
#include "prof/gprof/graph/measured.h"
#include "prof/gprof/report/report.h"
#include "prof/gprof/symbols/symbols.h"
#include "prof/read/error.h"
#include "tests/unit/prof_made_analysis.h"
#include "tests/unit/prof_printed.h"

using namespace prof;
using namespace prof_test;

namespace {

constexpr uint64_t kFirst = 0x1000, kSize = 0x10;

// Functions of 16 bytes, one after the other; what comes after them takes no time.
std::vector<gprof::Function> functions_of(const std::vector<std::string>& names) {
  std::vector<gprof::Function> functions;
  for (const std::string& name : names) {
    gprof::Function function;
    function.address = kFirst + kSize * functions.size();
    function.name = name;
    functions.push_back(function);
  }
  gprof::Function end;
  end.address = kFirst + kSize * functions.size();
  end.name = "_end";
  functions.push_back(end);
  gprof::settle_symbols(functions, end.address + 1);
  return functions;
}

uint64_t address(uint32_t f) { return kFirst + kSize * f; }

// `ticks': of each function. Arcs: caller, callee, calls.
Gmon gmon_with(const std::vector<uint64_t>& ticks, const std::vector<std::array<uint64_t, 3>>& arcs) {
  Gmon gmon;
  gmon.histograms.push_back({kFirst, kFirst + kSize * ticks.size(), 100, "seconds", 's', ticks});
  for (const auto& [from, to, calls] : arcs)
    gmon.arcs.push_back({address(uint32_t(from)) + 3, address(uint32_t(to)), calls});
  return gmon;
}

gprof::CallGraph graph_with(const std::vector<std::string>& names, const Gmon& gmon,
                            const gprof::Selection& selection = {}) {
  gprof::CallGraph graph = gprof::call_graph_of(functions_of(names), gmon, selection);
  gprof::assemble(graph, selection);
  return graph;
}

const gprof::Arc& arc_of(const gprof::CallGraph& graph, uint64_t caller, uint64_t callee) {
  return graph.arcs[graph.arc_of.at(caller << 32 | callee)];
}

std::string report_of(const gprof::CallGraph& graph, const gprof::ReportOptions& options = {}) {
  const gprof::Selection all;
  return printed([&](Output& out) { gprof::Report(graph, all, options, out).print(); });
}

uint32_t index_of(const gprof::CallGraph& graph, const std::string& name) {
  for (uint32_t f = 0; f < graph.functions.size(); ++f)
    if (graph.functions[f].name == name) return f;
  FAIL("no function " << name);
  return 0;
}

// main calls a, which is in a cycle with b; b calls leaf.
gprof::CallGraph graph_with_cycle() {
  return graph_with({"main", "a", "b", "leaf"},
                    gmon_with({100, 200, 300, 400}, {{0, 1, 2}, {1, 2, 5}, {2, 1, 3}, {2, 3, 5}}));
}

}  // namespace

TEST_CASE("gprof: functions that call each other are a cycle, whose time goes to callers outside as a whole") {
  const gprof::CallGraph graph = graph_with_cycle();
  REQUIRE(graph.cycle_count() == 1);
  const auto& [main, a, b, leaf, end, cycle] = std::tie(graph.functions[0], graph.functions[1], graph.functions[2],
                                                        graph.functions[3], graph.functions[4], graph.functions[5]);
  CHECK(leaf.order < a.order);
  CHECK(a.order == b.order);
  CHECK(a.order < main.order);
  CHECK(a.cycle == 1);
  CHECK(b.cycle == 1);
  CHECK(main.cycle == 0);
  CHECK(cycle.calls == 2);
  CHECK(cycle.self_calls == 8);
  CHECK(cycle.ticks == 500);
  CHECK(cycle.child_ticks == 400);
  CHECK(a.child_ticks == 0);
  CHECK(b.child_ticks == 400);
  CHECK(main.child_ticks == 900);
  CHECK(arc_of(graph, 0, 1).ticks == 500);
  CHECK(arc_of(graph, 0, 1).child_ticks == 400);
  CHECK(arc_of(graph, 1, 2).ticks == 0);
  CHECK(end.ticks == 0);
}

TEST_CASE("gprof: an inner cycle becomes part of the outer one, and cycles are numbered by address") {
  // 0 -> 1 -> 2 -> 3 -> 2, 3 -> 1; apart from them 4 <-> 5, called first.
  const gprof::CallGraph graph =
      graph_with({"m", "x", "y", "z", "p", "q"},
                 gmon_with({1, 1, 1, 1, 1, 1},
                           {{0, 4, 1}, {4, 5, 1}, {5, 4, 1}, {0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 2, 1}, {3, 1, 1}}));
  REQUIRE(graph.cycle_count() == 2);
  CHECK(graph.functions[1].cycle == 1);
  CHECK(graph.functions[2].cycle == 1);
  CHECK(graph.functions[3].cycle == 1);
  CHECK(graph.functions[4].cycle == 2);
  CHECK(graph.functions[5].cycle == 2);
  CHECK(graph.functions[7].ticks == 3);
}

TEST_CASE("gprof: a chain of a hundred thousand functions that all call the first is one cycle") {
  constexpr uint32_t kFunctions = 100'000;
  Gmon gmon;
  std::vector<std::string> names;
  for (uint32_t f = 0; f < kFunctions; ++f) {
    names.push_back("f" + std::to_string(f));
    if (f + 1 < kFunctions) gmon.arcs.push_back({address(f), address(f + 1), 1});
  }
  gmon.arcs.push_back({address(kFunctions - 1), address(0), 1});
  const gprof::CallGraph graph = graph_with(names, gmon);
  CHECK(graph.cycle_count() == 1);
  CHECK(graph.functions[kFunctions - 1].cycle == 1);
}

TEST_CASE("gprof: time is given to callers by the number of calls, and calls of a function by itself are apart") {
  const gprof::CallGraph graph =
      graph_with({"main", "cheap", "dear", "work"},
                 gmon_with({0, 0, 0, 100}, {{0, 1, 1}, {0, 2, 1}, {1, 3, 99}, {2, 3, 1}, {3, 3, 7}}));
  CHECK(graph.functions[3].calls == 100);
  CHECK(graph.functions[3].self_calls == 7);
  CHECK(arc_of(graph, 1, 3).ticks == doctest::Approx(99));
  CHECK(arc_of(graph, 2, 3).ticks == doctest::Approx(1));
  CHECK(graph.functions[0].child_ticks == doctest::Approx(100));
  CHECK(graph.cycle_count() == 0);
}

TEST_CASE("gprof: ticks of a bin go to the functions that it covers, but never to the last") {
  std::vector<gprof::Function> functions = functions_of({"one", "two"});
  Gmon gmon;
  // From the middle of the first to the middle of the second, and from there to far after the end.
  gmon.histograms.push_back({kFirst + 8, kFirst + 8 + 32, 100, "seconds", 's', {10, 10}});
  gmon.histograms.push_back({kFirst + 8, kFirst + 8 + 32, 100, "seconds", 's', {2, 0}});
  const gprof::CallGraph graph = gprof::call_graph_of(functions, gmon);
  CHECK(graph.functions[0].ticks == 6);
  CHECK(graph.functions[1].ticks == 11);
  CHECK(graph.functions[2].ticks == 0);
  CHECK(graph.total_ticks == 22);
  CHECK(graph.scale == 8);
}

TEST_CASE("gprof: arcs to labels are of the function in front of them, and those to nowhere are lost") {
  std::vector<gprof::Function> functions = functions_of({"one", "label"});
  functions[1].is_function = false;
  const gprof::CallGraph graph = gprof::call_graph_of(functions, gmon_with({0}, {{0, 1, 5}, {0, 100, 3}, {100, 0, 4}}));
  REQUIRE(graph.arcs.size() == 1);
  CHECK(graph.arcs[0].callee == 0);
  CHECK(graph.functions[0].calls == 5);
}

TEST_CASE("gprof: what is left out of the graph or of times") {
  const std::vector<std::string> names = {"main", "mcount", "work"};
  const Gmon gmon = gmon_with({0, 50, 100}, {{0, 1, 1}, {0, 2, 3}, {1, 2, 1}});
  gprof::Selection selection;
  gprof::leave_out_runtime(functions_of(names), selection);
  const gprof::CallGraph graph = graph_with(names, gmon, selection);
  CHECK(graph.functions[1].fraction == 0);
  CHECK(graph.functions[2].fraction == 0.75);
  CHECK(graph.functions[2].self_shown == 75);
  CHECK(graph.shown_ticks == 75);
  CHECK(!graph.functions[1].is_printed);
  CHECK(graph.functions[2].is_printed);

  gprof::Selection without;
  without.keeps_arc = [](uint32_t caller, uint32_t) { return caller != 1; };
  CHECK(graph_with(names, gmon, without).functions[2].calls == 3);

  gprof::Selection some;
  some.flat.take(2);
  CHECK(graph_with(names, gmon, some).total_ticks == 100);
}

TEST_CASE("gprof: of the symbols at an address one stays") {
  // As nm prints them; t is local.
  const auto name_of = [](const std::string& text) { return gprof::symbols_of_text(text, 0xffff)[0].name; };
  CHECK(name_of("1000 t local\n1000 T global\n") == "global");
  CHECK(name_of("1000 T _one\n1000 T two\n") == "two");
  CHECK(name_of("1000 T a__x\n1000 T b_x\n") == "a__x");
  CHECK(name_of("1000 T __one\n1000 T _two\n") == "_two");
  CHECK(name_of("1000 T one\n1000 T two\n") == "one");
  const auto functions = gprof::symbols_of_text("0x2000 T b\nno line\n1000 T a\n3000 D data\n", 0x20ff);
  REQUIRE(functions.size() == 2);
  CHECK(functions[0].end == 0x1fff);
  CHECK(functions[1].end == 0x20ff);
  CHECK(gprof::function_at(functions, 2, 0x1234) == 0);
  CHECK(gprof::function_at(functions, 2, 0x20ff) == 1);
  CHECK(gprof::function_at(functions, 2, 0x2100) == gprof::kNone);
  CHECK(gprof::function_at(functions, 2, 0xfff) == gprof::kNone);
}

TEST_CASE("gprof: the layout") {
  CHECK(report_of(graph_with_cycle()) == R"(Flat profile:

Each sample counts as 0.01 seconds.
  %   cumulative   self              self     total           
 time   seconds   seconds    calls   s/call   s/call  name    
 40.00      4.00     4.00        5     0.80     0.80  leaf
 30.00      7.00     3.00        5     0.60     1.40  b
 20.00      9.00     2.00        5     0.40     0.40  a
 10.00     10.00     1.00                             main
)"
                                         "\f\n"
                                         "\t\t\tCall graph\n"
                                         R"(

granularity: each sample hit covers 16 byte(s) for 0.10% of 10.00 seconds

index % time    self  children    called     name
                                                 <spontaneous>
[1]    100.0    1.00    9.00                 main [1]
                5.00    4.00       2/2           a <cycle 1> [5]
-----------------------------------------------
[2]     90.0    5.00    4.00       2+8       <cycle 1 as a whole> [2]
                3.00    4.00       5             b <cycle 1> [3]
                2.00    0.00       5             a <cycle 1> [5]
-----------------------------------------------
                                   5             a <cycle 1> [5]
[3]     70.0    3.00    4.00       5         b <cycle 1> [3]
                4.00    0.00       5/5           leaf [4]
                                   3             a <cycle 1> [5]
-----------------------------------------------
                4.00    0.00       5/5           b <cycle 1> [3]
[4]     40.0    4.00    0.00       5         leaf [4]
-----------------------------------------------
                                   3             b <cycle 1> [3]
                5.00    4.00       2/2           main [1]
[5]     20.0    2.00    0.00       5         a <cycle 1> [5]
                                   5             b <cycle 1> [3]
-----------------------------------------------
)"
                                         "\f\n"
                                         R"(Index by function name

   [5] a                       [4] leaf                    [2] <cycle 1>
   [3] b                       [1] main
)");
}

TEST_CASE("gprof: other forms of the report") {
  const gprof::CallGraph graph = graph_with_cycle();
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string bsd = report_of(graph, {.bsd = true});
  CHECK(has(bsd, " 40.0       4.00     4.00        5   800.00   800.00  leaf [4]\n"));
  CHECK(has(bsd, "[3]     70.0    3.00        4.00       5         b <cycle 1> [3]\n"));
  CHECK(has(bsd, "   [1] main               \n"));
  CHECK(has(report_of(graph, {.explains = true}), "cumulative  own times"));
  CHECK(has(report_of(graph, {.unused = true}), "_end [6]"));
  CHECK(!has(report_of(graph), "_end"));
  // C++ is made readable, names are cut nowhere, and commands to the terminal are none.
  const std::string names =
      report_of(graph_with({"_ZN3foo3barEi", "a\x1b[31m"}, gmon_with({100, 1}, {{0, 1, 1}})), {.width = 200});
  CHECK(has(names, "foo::bar(int)"));
  CHECK(has(names, "a\\x1b[31m"));
  // Without arcs there is only a flat profile, and without time it says so.
  CHECK(has(report_of(graph_with({"one"}, gmon_with({0}, {}))), " no time accumulated\n"));
  CHECK(!has(report_of(graph_with({"one"}, gmon_with({1}, {}))), "Call graph"));
}

TEST_CASE("gprof: measured times of calls, where gprof's are wrong") {
  // alpha does much and is called cheaply 99 times by beta, dearly once by step.
  Sample sample;
  const uint32_t main = sample.add(0, "main", 1, 0), beta = sample.add(main, "beta", 1, 10),
                 step = sample.add(main, "step", 1, 0);
  sample.add(beta, "alpha", 99, 990);
  sample.add(step, "alpha", 1, 99'000);
  const Analysis& analysis = sample.finish();
  const gprof::MeasuredAndPropagated graphs = gprof::measured_and_propagated_graph(analysis);
  const gprof::CallGraph &measured = graphs.measured, &guessed = graphs.propagated;
  const uint32_t by_beta = index_of(measured, "beta"), by_step = index_of(measured, "step"),
                 alpha = index_of(measured, "alpha");
  CHECK(arc_of(measured, by_beta, alpha).ticks == 990);
  CHECK(arc_of(measured, by_step, alpha).ticks == 99'000);
  const size_t same = size_t(&arc_of(measured, by_beta, alpha) - measured.arcs.data());
  CHECK(guessed.arcs[same].ticks == doctest::Approx(0.99 * 99'990));
  CHECK(measured.functions[by_step].child_ticks == 99'000);
  CHECK(measured.functions[index_of(measured, "main")].child_ticks == 100'000);

  const std::string table = printed([&](Output& out) { gprof::print_fallacy(analysis, 2, out); });
  CHECK(std::count(table.begin(), table.end(), '\n') == 4);
  CHECK(table.find("   +0.000098            1  step -> alpha\n") != std::string::npos);
}

TEST_CASE("gprof: measured times of recursion are counted once") {
  // alpha calls itself, and beta, which calls alpha.
  Sample sample;
  const uint32_t main = sample.add(0, "main", 1, 1), outer = sample.add(main, "alpha", 2, 10),
                 again = sample.add(outer, "alpha", 3, 20), beta = sample.add(again, "beta", 4, 40),
                 inner = sample.add(beta, "alpha", 5, 80);
  sample.add(inner, "step", 6, 160);
  const gprof::CallGraph graph = gprof::measured_graph(sample.finish());
  const uint32_t m = index_of(graph, "main"), a = index_of(graph, "alpha"), b = index_of(graph, "beta"),
                 s = index_of(graph, "step");
  REQUIRE(graph.cycle_count() == 1);
  CHECK(graph.functions[a].calls == 7);
  CHECK(graph.functions[a].self_calls == 3);
  // All of alpha's own time belongs to the call by main, and so does all that was below it.
  CHECK(arc_of(graph, m, a).ticks == 110);
  CHECK(arc_of(graph, m, a).child_ticks == 200);
  CHECK(arc_of(graph, b, a).ticks == 0);
  CHECK(arc_of(graph, b, a).child_ticks == 0);
  CHECK(arc_of(graph, a, b).ticks == 40);
  CHECK(arc_of(graph, a, b).child_ticks == 240);
  CHECK(arc_of(graph, a, s).ticks == 160);
  CHECK(graph.functions[a].self_shown == 110);
  CHECK(graph.functions[a].children_shown == 200);
  const gprof::Function& cycle = graph.functions[graph.functions[a].head];
  CHECK(cycle.self_shown == 150);
  CHECK(cycle.children_shown == 160);
  CHECK(graph.shown_ticks == 311);
  const std::string report = report_of(graph);
  CHECK(report.find("                0.11    0.20       2/2           main") != std::string::npos);
  CHECK(report.find("<spontaneous>") != std::string::npos);
}

TEST_CASE("gprof: a profile without times has calls") {
  Sample sample;
  sample.add(sample.add(0, "main", 1, 0), "alpha", 12, 0);
  sample.analysis.type = FigureType::count;
  const Analysis& analysis = sample.finish();
  CHECK(report_of(gprof::measured_graph(analysis)).find("     12/12          main") != std::string::npos);
  CHECK_THROWS_AS(printed([&](Output& out) { gprof::print_fallacy(analysis, {}, out); }), Error);
}
