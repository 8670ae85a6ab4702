#include "prof/views/run/views.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "prof/commands/showing/suggest.h"
#include "prof/model/tree/contexts.h"
#include "prof/read/error.h"
#include "prof/views/text/names.h"
#include "prof/views/text/text_columns.h"
#include "tests/unit/prof_fixture.h"
#include "tests/unit/prof_gmon.h"
#include "tests/unit/prof_made_analysis.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;
using prof::Analysis;

namespace {

std::string gmon_bytes(const Analysis& a, std::vector<std::string>* remarks = nullptr) {
  TemporaryDirectory dir;
  const std::vector<std::string> returned = prof::write_gmon(a, dir / "gmon.out");
  if (remarks) *remarks = returned;
  return read_file(dir / "gmon.out");
}

}  // namespace

TEST_CASE("the tree view is Plan 9's: two columns a level, a tab for four") {
  Sample s;
  uint32_t at = s.add(0, "main", 1, 90'000'000);
  at = s.add(at, "foo", 2, 10'000'000);
  at = s.add(at, "beta", 1, 400);
  at = s.add(at, "alpha", 7, 1'000'000);
  s.add(at, "step", 1, 0);
  s.add(1, "tiny", 3, 499);
  CHECK(tree(s.finish()) ==
        "main:101.001\n"
        ". foo::foo(int):11.000/2\n"
        ".\tbeta:1.000\n"
        ".\t. alpha:1.000/7\n"
        ".\t.\tstep:0.000\n"
        ". tiny:0.000/3\n");
}

TEST_CASE("the tree's tab stop is Plan 9's environment variable") {
  Sample s;
  s.add(s.add(s.add(0, "main", 1, 0), "foo", 1, 0), "beta", 1, 0);
  setenv("tabstop", "8", 1);
  CHECK(printed([&](prof::Output& out) { prof::print_tree(s.finish(), {}, out); }) ==
        "main:0.000\n. foo::foo(int):0.000\n.   beta:0.000\n");
  unsetenv("tabstop");
}

TEST_CASE("recursion is cut off with dots unless it is asked for") {
  Sample s;
  uint32_t at = s.add(0, "main", 1, 0);
  at = s.add(at, "alpha", 1, 0);
  at = s.add(at, "beta", 1, 0);
  at = s.add(at, "alpha", 1, 0);
  at = s.add(at, "beta", 1, 0);
  s.add(at, "step", 1, 0);
  s.add(2, "alpha", 9, 0);  // a leaf: there is nothing to cut
  CHECK(tree(s.finish()) ==
        "main:0.000\n. alpha:0.000\n.\tbeta:0.000\n.\t. alpha:0.000\n.\t.\t...\n.\talpha:0.000/9\n");
  CHECK(tree(s.finish(), {.whole_recursion = true}) ==
        "main:0.000\n. alpha:0.000\n.\tbeta:0.000\n.\t. alpha:0.000\n.\t.\tbeta:0.000\n.\t.\t. step:0.000\n"
        ".\talpha:0.000/9\n");
}

TEST_CASE("siblings are sorted by inclusive time on request") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 0);
  s.add(main, "alpha", 1, 1'000);
  s.add(s.add(main, "beta", 1, 1'000), "step", 1, 5'000);
  s.add(main, "tiny", 1, 2'000);
  CHECK(tree(s.finish(), {.sort = prof::SortKey::total}) ==
        "main:0.009\n. beta:0.006\n.\tstep:0.005\n. tiny:0.002\n. alpha:0.001\n");
}

TEST_CASE("a deep tree's lines do not grow without end") {
  Sample s;
  uint32_t at = 0;
  for (int i = 0; i < 3'000; ++i) at = s.add(at, i % 2 ? "alpha" : "beta", 1, 0);
  const std::string text = tree(s.finish(), {.whole_recursion = true});
  CHECK(std::count(text.begin(), text.end(), '\n') == 3'000);
  CHECK(text.find("(level 2999) alpha:0.000\n") != std::string::npos);
  CHECK(text.size() < 3'000 * 1'100);
}

TEST_CASE("the JSON view holds everything") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 5);
  s.add(main, "foo", (uint64_t(1) << 53) + 1, 7);
  s.add(0, "main", 2, 1);
  s.analysis.lost = 3;
  s.analysis.complete = false;
  s.analysis.program = "/bin/\xff\"quoted\"";
  const auto json = nlohmann::json::parse(printed([&](prof::Output& out) { prof::print_json(s.finish(), {}, out); }));
  CHECK(json["type"] == "elapsed");
  CHECK(json["tsc_hz"] == 1'000'000'000);
  CHECK(json["complete"] == false);
  CHECK(json["lost"] == 3);
  CHECK(json["program"].get<std::string>().find("\"quoted\"") != std::string::npos);
  REQUIRE(json["functions"].size() == 2);
  const auto& foo = json["functions"][1];
  CHECK(foo["name"] == "foo::foo(int)");
  CHECK(foo["module"] == "sample");
  CHECK(foo["address"] == "0x1050");
  CHECK(foo["calls"] == (uint64_t(1) << 53) + 1);
  CHECK(foo["self_cycles"] == 7);
  CHECK(foo["total_cycles"] == 7);
  REQUIRE(json["tree"].size() == 3);
  CHECK(json["tree"][0]["parent"] == -1);
  CHECK(json["tree"][0]["cycles"] == 12);
  CHECK(json["tree"][0]["self_cycles"] == 5);
  CHECK(json["tree"][1]["parent"] == 0);
  CHECK(json["tree"][1]["function"] == 1);
  CHECK(json["tree"][2]["parent"] == -1);
}

TEST_CASE("gmon.out has exact times and arcs, from _start where the caller is unknown") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 1'234'567'000);
  const uint32_t beta = s.add(main, "beta", 10, 0);
  s.add(beta, "step", 62'135'400, 2'718'281'828);
  s.add(main, "step", 2, 0);
  s.add(0, "alpha", 4, 10'000);
  const Gmon gmon(gmon_bytes(s.finish()));
  CHECK(gmon.seconds.at(Sample::address_of("main")) == doctest::Approx(1.234567).epsilon(1e-9));
  CHECK(gmon.seconds.at(Sample::address_of("step")) == doctest::Approx(2.718282).epsilon(1e-9));
  CHECK(gmon.seconds.at(Sample::address_of("alpha")) == doctest::Approx(1e-5));
  const std::map<std::pair<uint64_t, uint64_t>, uint64_t> expected = {
      {{0x900, Sample::address_of("main")}, 1},
      {{Sample::address_of("main"), Sample::address_of("beta")}, 10},
      {{Sample::address_of("beta"), Sample::address_of("step")}, 62'135'400},
      {{Sample::address_of("main"), Sample::address_of("step")}, 2},
      {{0x900, Sample::address_of("alpha")}, 4}};
  CHECK(gmon.arcs == expected);
}

TEST_CASE("numbers that gmon.out has no room for are split over records") {
  Sample s;
  const uint64_t calls = (uint64_t(5) << 32) + 17, ten_days = 864'000;
  s.add(s.add(0, "main", 1, ten_days * 1'000'000'000), "step", calls, 1);
  const Gmon gmon(gmon_bytes(s.finish()));
  CHECK(gmon.arcs.at({Sample::address_of("main"), Sample::address_of("step")}) == calls);
  CHECK(gmon.seconds.at(Sample::address_of("main")) == doctest::Approx(double(ten_days)));
  CHECK(gmon.histograms < 30'000);
}

TEST_CASE("numbers beyond all reason are refused before the disk is full of gmon.out") {
  Sample s;
  s.add(s.add(0, "main", 1, 1), "step", uint64_t(1) << 60, 1);
  s.finish();
  TemporaryDirectory dir;
  CHECK_THROWS_WITH_AS(prof::write_gmon(s.analysis, dir / "gmon.out"), doctest::Contains("too great"), prof::Error);
  CHECK_FALSE(std::filesystem::exists(dir / "gmon.out"));
}

TEST_CASE("calls of one arc that add up to more than there are numbers are not told as few") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 1), library = s.analysis.functions.unknown_object();
  for (const uint64_t address : {0x7000, 0x8000})
    s.add(s.add_to(main, library, address, 1, 1), "step", uint64_t(1) << 63, 1);
  s.finish();
  CHECK_THROWS_WITH_AS(gmon_bytes(s.analysis), doctest::Contains("too great"), prof::Error);
}

TEST_CASE("without any time gmon.out still has a histogram") {
  Sample s;
  s.analysis.type = prof::FigureType::count;
  s.add(0, "main", 1, 0);
  const Gmon gmon(gmon_bytes(s.finish()));
  CHECK(gmon.histograms == 1);
  CHECK(gmon.arc_records == 1);
}

TEST_CASE("functions of other modules stay out of gmon.out, their callees are called by who called them") {
  Sample s;
  const uint32_t library = s.analysis.functions.unknown_object();
  const uint32_t main = s.add(0, "main", 1, 1'000'000);
  const uint32_t sort = s.add_to(main, library, 0x7000, 1, 5'000'000);
  s.add(sort, "beta", 100, 1'000'000);
  std::vector<std::string> remarks;
  const Gmon gmon(gmon_bytes(s.finish(), &remarks));
  CHECK(gmon.arcs.at({Sample::address_of("main"), Sample::address_of("beta")}) == 100);
  CHECK(gmon.seconds.count(0x7000) == 0);
  CHECK(lines(remarks).find("leaves out 1 function outside the program, 0.005 s") != std::string::npos);
}

TEST_CASE("gprof's table of names holds mangled names without blanks") {
  Sample s;
  s.add(s.add(0, "main", 1, 1), "foo", 1, 1);
  s.add_to(0, 0, 0x2139, 1, 1);
  s.finish();
  TemporaryDirectory dir;
  prof::write_gprof_symbols(s.analysis, dir / "symbols");
  CHECK(read_file(dir / "symbols") ==
        "900 T _start\n1050 T _ZN3fooC2Ei\n10c0 T main\n2139 T #2139\n2149 T _end_of_functions\n");
}

TEST_CASE("suggestions: what is called much and does less than a pair of hooks costs, with the most calls first") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 1'000'000);
  s.add(main, "alpha", 500'000, 500'000);      // a cycle each
  s.add(main, "beta", 400'000, 400'000'000);   // 1000 cycles each: worth it
  s.add(main, "step", 900'000, 900'000 * 50);  // less than a pair
  s.add(main, "foo", 1'000, 0);                // too few to matter
  s.analysis.probe = 60;
  s.analysis.duration = 600'000'000;
  s.finish();
  const prof::Suggestion found = prof::suggest(s.analysis);
  REQUIRE(found.patterns.size() == 2);
  CHECK(found.patterns[0] == "step");
  CHECK(found.patterns[1] == "alpha");
  CHECK(found.cost == doctest::Approx(60 * 1'801'001.0));
  CHECK(found.cost_left == doctest::Approx(60 * 401'001.0));
  CHECK(found.calls == doctest::Approx(1'400'000 / 1'801'001.0));
  CHECK(printed([&](prof::Output& out) { prof::print_suggestion(s.analysis, out); }) == "-N step -N alpha\n");

  // Little of a long run: not worth it.
  s.analysis.duration = 60e9;
  CHECK(prof::suggest(s.analysis).patterns.empty());

  // Nearly all of which it waited: as if it had been short.
  s.analysis.run_times.processes = 1;
  s.analysis.run_times.processor = s.analysis.seconds(600e6);
  CHECK(prof::suggest(s.analysis).patterns == found.patterns);
  s.analysis.run_times = {};

  // Counted, not timed: what little each does is not known, and a usual pair is assumed.
  s.analysis.duration = 300'000'000;
  s.analysis.type = prof::FigureType::count;
  s.analysis.probe = 0;
  CHECK(prof::suggest(s.analysis).patterns == std::vector<std::string>{"step", "alpha", "beta"});
}

TEST_CASE("siblings are sorted by what is asked for") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 0);
  s.add(main, "tiny", 2, 6'000);
  s.add(s.add(main, "beta", 9, 1'000), "step", 1, 8'000);
  s.add(main, "alpha", 3, 2'000);
  auto order = [&](prof::SortKey key) {
    const std::string text = tree(s.finish(), {.sort = key});
    std::string letters;
    for (size_t at = 0; (at = text.find("\n. ", at)) != std::string::npos; at += 3) letters += text[at + 3];
    return letters;
  };
  CHECK(order(prof::SortKey::total) == "bta");
  CHECK(order(prof::SortKey::self) == "tab");
  CHECK(order(prof::SortKey::calls) == "bat");
  CHECK(order(prof::SortKey::per_call) == "tba");
  CHECK(order(prof::SortKey::name) == "abt");
}

TEST_CASE("a tree of callers has their parts of the self time, the greatest first") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 0);
  s.add(s.add(main, "alpha", 1, 0), "tiny", 1, 1'000'000);
  const uint32_t beta = s.add(main, "beta", 2, 5'000'000);
  s.add(s.add(beta, "tiny", 3, 2'000'000), "tiny", 4, 4'000'000);
  s.finish();
  prof::select_contexts(s.analysis, {.callers = {"tiny"}});
  CHECK(tree(s.analysis, {.whole_recursion = true}) ==
        "tiny:7.000/8 self 7.000\n"
        ". beta:6.000/3 self 2.000\n"
        ".\tmain:6.000/3 self 2.000\n"
        ". alpha:1.000 self 1.000\n"
        ".\tmain:1.000 self 1.000\n"
        ". tiny:0.000/4 self 4.000\n"
        ".\tbeta:0.000/4 self 4.000\n"
        ".\t. main:0.000/4 self 4.000\n");
  s.analysis.type = prof::FigureType::count;
  CHECK(tree(s.analysis, {.pruning = {.depth = 2}}) ==
        "tiny:-/8\n. beta:-/3\n. alpha:-\n. tiny:-/4\n... 4 more contexts deeper than --depth 2\n");
}

TEST_CASE("chains of calls stand on one line where that is asked for") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 1'000);
  uint32_t at = main;
  for (const char* name : {"foo", "step", "tiny"}) at = s.add(at, name, 2, 1'000);
  s.add(at, "alpha", 2, 100'000'000);
  const uint32_t beta = s.add(at, "beta", 5, 100'000'000);
  s.add(beta, "alpha", 5, 300'000'000);                           // two are no chain
  at = s.add(s.add(main, "alpha", 1, 50'000'000), "beta", 1, 0);  // nor are those that take time themselves
  s.add(at, "step", 1, 0);
  CHECK(tree(s.finish(), {.chains = true}) ==
        "main:550.004\n"
        ". foo::foo(int) > step > tiny:500.003/2\n"
        ".\talpha:100.000/2\n"
        ".\tbeta:400.000/5\n"
        ".\t. alpha:300.000/5\n"
        ". alpha:50.000\n"
        ".\tbeta:0.000\n"
        ".\t. step:0.000\n");
}

TEST_CASE("of a long chain the ends are named, and no function stands in it twice") {
  Sample s;
  uint32_t at = 0;
  for (const char* name : {"main", "foo", "step", "tiny", "alpha", "beta", "foo", "step"}) at = s.add(at, name, 1, 0);
  s.add(at, "tiny", 1, 1'000);
  CHECK(tree(s.finish(), {.chains = true}) ==
        "main > foo::foo(int) > (2 more) > alpha > beta:0.001\n. foo::foo(int):0.001\n.\t...\n");
  CHECK(
      tree(s.finish(), {.whole_recursion = true, .chains = true}) ==
      "main > foo::foo(int) > (2 more) > alpha > beta:0.001\n. foo::foo(int):0.001\n.\tstep:0.001\n.\t. tiny:0.001\n");
}

TEST_CASE("subtrees that have less of the whole than a share are left out, and their number is told") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 900'000'000);
  s.add(s.add(main, "alpha", 2, 2'000'000), "beta", 3, 2'000'000);
  const uint32_t foo = s.add(main, "foo", 4, 1'000'000);
  s.add(foo, "step", 5, 95'000'000);
  const std::string step_only = "main:1000.000\n. foo::foo(int):96.000/4\n.\tstep:95.000/5\n";
  CHECK(tree(s.finish(), {.pruning = {.percent = 0.5}}) ==
        step_only + "... 2 more contexts, 0.4 % of the time, each below 0.5 %; --percent 0 shows them\n");
  CHECK(tree(s.finish(), {.pruning = {.percent = 0.4}}) ==
        "main:1000.000\n. alpha:4.000/2\n. foo::foo(int):96.000/4\n.\tstep:95.000/5\n"
        "... 1 more context, 0.2 % of the time, each below 0.4 %; --percent 0 shows them\n");
  CHECK(tree(s.finish(), {.pruning = {.percent = 0.5, .depth = 2}}) ==
        "main:1000.000\n. foo::foo(int):96.000/4\n"
        "... 2 more contexts, 0.4 % of the time, each below 0.5 %; --percent 0 shows them\n"
        "... 1 more context deeper than --depth 2\n");

  // What waited is not small.
  s.analysis.type = prof::FigureType::time;
  s.analysis.tree.nodes[2].total_waiting = s.analysis.tree.nodes[main].total_waiting = 5'000'000'000;
  s.analysis.sums[s.analysis.tree.nodes[2].function].self_waiting = 5'000'000'000;
  CHECK(tree(s.analysis, {.pruning = {.percent = 0.5}}).find(". alpha:4.000/2 waiting 5000.000\n") !=
        std::string::npos);

  // Of the whole, not of what is left of it.
  s.analysis.type = prof::FigureType::elapsed;
  for (prof::CallNode& node : s.analysis.tree.nodes) node.total_waiting = 0;
  s.finish();
  prof::select_contexts(s.analysis, {.focus = {"alpha"}});
  CHECK(tree(s.analysis, {.pruning = {.percent = 0.5}}) ==
        "... 3 more contexts, 0.4 % of the time, each below 0.5 %; --percent 0 shows them\n");
}

TEST_CASE("counted calls are pruned by the calls of the whole subtree") {
  Sample s;
  s.analysis.type = prof::FigureType::count;
  const uint32_t main = s.add(0, "main", 1, 0);
  s.add(s.add(main, "alpha", 1, 0), "beta", 97, 0);
  s.add(main, "step", 1, 0);
  CHECK(tree(s.finish(), {.pruning = {.percent = 10}}) ==
        "main:-\n. alpha:-\n.\tbeta:-/97\n... 1 more context, 1.0 % of the calls, each below 10 %; --percent 0 shows "
        "them\n");
}

TEST_CASE("percentages of a selection of contexts are of the whole, and JSON says what was selected") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 500'000'000);
  s.add(s.add(main, "alpha", 2, 100'000'000), "beta", 3, 150'000'000);
  s.add(main, "beta", 4, 250'000'000);
  s.finish();
  prof::select_contexts(s.analysis, {.focus = {"alpha"}});
  CHECK(flat(s.analysis) ==
        "   %   Self  Total  Calls  Per-call\tName\n"
        "15.0  150ms  150ms      3    50.0ms\tbeta\n"
        "10.0  100ms  250ms      2     125ms\talpha\n"
        " 0.0      0  250ms      1     250ms\tmain\n");
  auto json = [&](const prof::Pruning& pruning) {
    return nlohmann::json::parse(printed([&](prof::Output& out) { prof::print_json(s.analysis, {}, out, pruning); }));
  };
  CHECK(json({})["contexts"].dump() == R"({"focus":["alpha"]})");
  CHECK(json({})["whole_self_cycles"] == 1'000'000'000);
  CHECK(json({})["whole_calls"] == 10);
  CHECK(json({})["functions"].size() == 3);
  CHECK(json({})["tree"].size() == 3);
  CHECK(json({.percent = 20})["tree"].size() == 2);
  CHECK(json({.depth = 1})["tree"].size() == 1);
  CHECK(json({.depth = 1})["tree"][0]["cycles"] == 250'000'000);
  s.finish();
  prof::select_contexts(s.analysis, {.callers = {"alpha"}, .callees = {}});
  CHECK(json({})["contexts"].dump() == R"({"callers":["alpha"]})");
}

TEST_CASE("on a terminal the lines of a tree are no longer than it is wide") {
  Sample s;
  uint32_t at = s.add(0, "main", 1, 100'000'000);
  for (const char* name : {"foo", "alpha", "beta", "foo", "step", "tiny"}) at = s.add(at, name, 2, 0);
  s.add(s.add(1, "beta", 1, 50'000'000), "foo", 3, 50'000'000);
  CHECK(tree(s.finish(), {.chains = true, .columns = 80}) ==
        "main:200.000\n"
        ". foo::foo(int) > alpha > beta:0.000/2\n"
        ".   foo::foo(int):0.000/2\n"
        ".     ...\n"
        ". beta:100.000\n"
        ".   foo::foo(int):50.000/3\n");
  CHECK(tree(s.finish(), {.chains = true, .columns = 36}).find(" > (1 more) > beta:0.000/2\n") != std::string::npos);
  for (size_t columns = 24; columns < 70; ++columns) {
    std::istringstream text(tree(s.finish(), {.whole_recursion = true, .chains = true, .columns = columns}));
    for (std::string line; std::getline(text, line);) CHECK(prof::columns_of(line) <= columns);
  }
}

TEST_CASE("views: fields of CSV are quoted where they have to be") {
  CHECK(prof::csv_field("") == "");
  CHECK(prof::csv_field("main; f") == "main; f");
  CHECK(prof::csv_field("f(int, int)") == "\"f(int, int)\"");
  CHECK(prof::csv_field("operator\"\" _x") == "\"operator\"\"\"\" _x\"");
  CHECK(prof::csv_field("a\nb") == "\"a\nb\"");
}
