#include "prof/model/tree/waiting.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "prof/model/analysis/analysis.h"
#include "prof/read/error.h"
#include "prof/views/run/views.h"
#include "tests/unit/prof_fixture.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;
using prof::Analysis;

namespace {

constexpr uint64_t kMilli = 1'000'000;  // cycles of a millisecond

// A program run twice: a calls b, which works, and c, which waits.
struct TwoRuns {
  TwoRuns() {
    cpu.writer.header().type = prof_format::kCpu;
    ea = elapsed.call(0, 'a', 1, 10 * kMilli);
    eb = elapsed.call(ea, 'b', 100, 600 * kMilli);
    ec = elapsed.call(ea, 'c', 3, 390 * kMilli);
    ca = cpu.call(0, 'a', 1, 9 * kMilli);
    cb = cpu.call(ca, 'b', 100, 601 * kMilli);
    cc = cpu.call(ca, 'c', 3, 2 * kMilli);
  }
  prof::Input input(bool raw_times = false) {
    elapsed.writer.write(elapsed.dir / "prof.1");
    cpu.writer.write(cpu.dir / "prof.2");
    prof::Input i;
    i.profiles = {elapsed.dir / "prof.1", cpu.dir / "prof.2"};
    i.raw_times = raw_times;
    i.side_by_side = true;
    return i;
  }

  LetteredRun elapsed, cpu;
  Block ea, eb, ec, ca, cb, cc;
};

// Analyses, and what that says.
struct Analysed {
  explicit Analysed(const prof::Input& input) : analysis(prof::analyse(input)), said(lines(analysis->remarks)) {}
  std::optional<Analysis> analysis;
  std::string said;
};

nlohmann::json json(const Analysis& a) {
  return nlohmann::json::parse(printed([&](prof::Output& out) { prof::print_json(a, {}, out); }));
}

// Nodes as (parent, function, calls).
prof::Tree tree_of(const std::vector<std::array<uint32_t, 3>>& nodes) {
  prof::Tree tree;
  tree.nodes.resize(1);
  for (const auto& [parent, function, calls] : nodes) {
    uint32_t* link = &tree.nodes[parent].first_child;
    while (*link) link = &tree.nodes[*link].next_sibling;
    *link = uint32_t(tree.nodes.size());
    prof::CallNode node;
    node.parent = parent;
    node.function = function;
    node.calls = calls;
    tree.nodes.push_back(node);
  }
  return tree;
}

// function:calls of each node in this order, children in parentheses.
std::string text(const prof::Tree& tree, uint32_t node = 0) {
  std::string s;
  for (uint32_t c = tree.nodes[node].first_child; c != 0; c = tree.nodes[c].next_sibling) {
    CHECK(tree.nodes[c].parent == node);
    s += (s.empty() ? "" : " ") + std::to_string(tree.nodes[c].function) + ":" + std::to_string(tree.nodes[c].calls);
    if (tree.nodes[c].first_child) s += "(" + text(tree, c) + ")";
  }
  return s;
}

}  // namespace

TEST_CASE("trees are united by the paths of functions, in the order of the first") {
  // 1 calls 2 and 3, 2 calls 3; in the other run 3 came first, called 1, and 4 was called by both.
  prof::Tree first = tree_of({{0, 1, 10}, {1, 2, 20}, {2, 3, 30}, {1, 3, 31}});
  prof::Tree second = tree_of({{0, 1, 11}, {1, 3, 32}, {2, 1, 12}, {1, 2, 21}, {4, 4, 41}, {4, 3, 33}, {0, 4, 42}});
  first.nodes[0].self = 7;
  second.nodes[0].self = 8;
  prof::unite(first, second);
  CHECK(text(first) == "1:10(2:20(3:30 4:0) 3:31(1:0)) 4:0");
  CHECK(text(second) == "1:11(2:21(3:33 4:41) 3:32(1:12)) 4:42");
  CHECK(first.nodes[0].self == 7);
  CHECK(second.nodes[0].self == 8);
  for (size_t i = 1; i < first.nodes.size(); ++i) CHECK(first.nodes[i].parent < i);
  for (size_t i = 0; i < first.nodes.size(); ++i) {
    CHECK(second.nodes[i].function == first.nodes[i].function);
    CHECK(second.nodes[i].parent == first.nodes[i].parent);
  }

  prof::Tree empty = tree_of({});
  prof::unite(empty, second);
  CHECK(text(empty) == "1:0(2:0(3:0 4:0) 3:0(1:0)) 4:0");
  prof::Tree other = tree_of({});
  prof::unite(empty, other);
  CHECK(text(other) == "1:0(2:0(3:0 4:0) 3:0(1:0)) 4:0");
}

TEST_CASE("what was waited is elapsed time less time on a processor, and not below 0") {
  TwoRuns runs;
  const Analysed a(runs.input());
  CHECK(a.said == "");
  // The runs are two, and each time may be 5 % more or less.
  CHECK(flat(*a.analysis) ==
        "   %  Elapsed     CPU   Waiting  Total  Calls  Per-call\tName\n"
        "60.0    600ms   601ms    0-60ms  600ms    100    6.00ms\tb\n"
        "39.0    390ms  2.00ms     388ms  390ms      3     130ms\tc\n"
        " 1.0   10.0ms  9.00ms  0.05-2ms  1.00s      1     1.00s\ta\n");
  CHECK(tree(*a.analysis) ==
        "a:1000.000 waiting 300-470\n"
        ". b:600.000/100 waiting 0-60\n"
        ". c:390.000/3 waiting 388.000\n");
  CHECK(a.analysis->complete);

  // The other way round.
  prof::Input input = runs.input();
  std::swap(input.profiles[0], input.profiles[1]);
  CHECK(flat(*Analysed(input).analysis) == flat(*a.analysis));

  const Analysed raw(runs.input(true));
  CHECK(flat(*raw.analysis) ==
        "   %  Elapsed     CPU  Waiting  Total  Calls  Per-call\tName\n"
        "60.0    600ms   601ms  -1.00ms  600ms    100    6.00ms\tb\n"
        "39.0    390ms  2.00ms    388ms  390ms      3     130ms\tc\n"
        " 1.0   10.0ms  9.00ms   1.00ms  1.00s      1     1.00s\ta\n");
  CHECK(tree(*raw.analysis).find("b:600.000/100 waiting -1.000\n") != std::string::npos);
}

TEST_CASE("each time is rounded by itself, and zero has no sign") {
  TwoRuns runs;
  runs.elapsed.writer.node(runs.ea).cycles = 1'400'000;  // 0.0014 - 0.0009 = 0.0005 s
  runs.cpu.writer.node(runs.ca).cycles = 899'000;
  runs.elapsed.writer.node(runs.ec).cycles = 2'000'000;
  runs.cpu.writer.node(runs.cc).cycles = 2'400'000;  // -0.0004 s
  const std::string text = flat(*Analysed(runs.input(true)).analysis);
  CHECK(cell(text, "Elapsed", "a") == "1.40ms");
  CHECK(cell(text, "CPU", "a") == "899us");
  CHECK(cell(text, "Waiting", "a") == "501us");
  CHECK(cell(text, "Waiting", "c") == "-400us");
}

TEST_CASE("JSON has the figures of both runs") {
  TwoRuns runs;
  const nlohmann::json j = json(*Analysed(runs.input()).analysis);
  CHECK(j["type"] == "waiting");
  CHECK(j["functions"].size() == 3);
  const nlohmann::json& a = j["functions"][0];
  CHECK(a["name"] == "a");
  CHECK(a["calls"] == 1);
  CHECK(a["cpu_calls"] == 1);
  CHECK(a["self_cycles"] == 10 * kMilli);
  CHECK(a["total_cycles"] == 1000 * kMilli);
  CHECK(a["self_cpu_cycles"] == 9 * kMilli);
  CHECK(a["total_cpu_cycles"] == 612 * kMilli);
  CHECK(a["self_cpu_probe_cycles"] == 0);
  CHECK(a["total_cpu_probe_cycles"] == 0);
  CHECK(a["self_waiting_cycles"] == kMilli);
  CHECK(a["total_waiting_cycles"] == 388 * kMilli);
  const nlohmann::json& b = j["tree"][1];
  CHECK(b["cycles"] == 600 * kMilli);
  CHECK(b["cpu_cycles"] == 601 * kMilli);
  CHECK(b["waiting_cycles"] == 0);
  CHECK(j["tree"][2]["self_cpu_cycles"] == 2 * kMilli);
  CHECK(j["tree"][2]["self_waiting_cycles"] == 388 * kMilli);
  CHECK(json(*Analysed(runs.input(true)).analysis)["tree"][1]["waiting_cycles"] == -int64_t(kMilli));

  prof::Input input = runs.input();
  input.profiles.pop_back();
  const nlohmann::json alone = json(*Analysed(input).analysis);
  CHECK(alone["type"] == "elapsed");
  CHECK_FALSE(alone["functions"][0].contains("cpu_calls"));
  input.profiles = {runs.cpu.dir / "prof.2"};
  CHECK(json(*Analysed(input).analysis)["type"] == "cpu");
}

TEST_CASE("a program that did not do the same twice is told of, once, with what differs most") {
  TwoRuns runs;
  runs.cpu.writer.node(runs.cb).count = 107;
  runs.cpu.call(runs.cb, 'd', 50, 5 * kMilli);  // in this run only
  const Analysed a(runs.input());
  CHECK(a.said ==
        "2 functions were not called as often in both runs (d 0 and 50 times): the program did not do the same "
        "twice\n");
  CHECK(cell(flat(*a.analysis), "Elapsed", "d") == "0");
  CHECK(cell(flat(*a.analysis), "CPU", "d") == "5.00ms");
  CHECK(cell(flat(*a.analysis), "Waiting", "d") == "0");
  CHECK(cell(flat(*a.analysis), "Calls", "d") == "0");
  CHECK(tree(*a.analysis) ==
        "a:1000.000 waiting 300-470\n"
        ". b:600.000/100 waiting 0-55\n"
        ".\td:0.000/0 waiting 0.000\n"
        ". c:390.000/3 waiting 388.000\n");
  prof::Input input = runs.input();
  input.remarks = false;
  CHECK(Analysed(input).said == "");
  CHECK(json(*Analysed(input).analysis)["functions"][1]["cpu_calls"] == 107);

  TwoRuns others;
  others.elapsed.writer.node(others.ec).count = 4;
  CHECK(Analysed(others.input()).said.find("1 function was not called as often in both runs (c 4 and 3 times)") == 0);
}

TEST_CASE("several profiles of each of the two types are summed by type") {
  TwoRuns runs;
  prof::Input input = runs.input();
  runs.elapsed.writer.write(runs.elapsed.dir / "prof.3");
  // Of a machine whose time stamps tick at half the speed: its cycles are twice as long.
  runs.cpu.writer.header().ns_last = runs.cpu.writer.header().ns_end = 1'000 + 2 * (kEnd - kStart);
  runs.cpu.writer.write(runs.cpu.dir / "prof.4");
  input.profiles = {runs.cpu.dir / "prof.4", runs.elapsed.dir / "prof.1", runs.cpu.dir / "prof.2",
                    runs.elapsed.dir / "prof.3"};
  const Analysed a(input);
  CHECK(a.said == "");
  CHECK(flat(*a.analysis) ==
        "   %  Elapsed     CPU  Waiting  Total  Calls  Per-call\tName\n"
        "60.0    1.20s   1.80s        0  1.20s    200    6.00ms\tb\n"
        "39.0    780ms  6.00ms    774ms  780ms      6     130ms\tc\n"
        " 1.0   20.0ms  27.0ms        0  2.00s      2     1.00s\ta\n");
  // Of one type alone as ever.
  input.profiles = {runs.elapsed.dir / "prof.1", runs.elapsed.dir / "prof.3"};
  CHECK(flat(*Analysed(input).analysis) ==
        "   %    Self  Total  Calls  Per-call\tName\n"
        "60.0   1.20s  1.20s    200    6.00ms\tb\n"
        "39.0   780ms  780ms      6     130ms\tc\n"
        " 1.0  20.0ms  2.00s      2     1.00s\ta\n");
}

TEST_CASE("times that are mostly correction are ranges, in either run and in what was waited") {
  TwoRuns runs;
  runs.elapsed.writer.header().probe_inside = 5 * kMilli * 256;
  runs.cpu.writer.header().probe_inside = 4 * kMilli * 256;
  // b: 600 - 500, and 601 - 400. c: 390 - 15, and 2 - 12. a: 10 - 5, and 9 - 4.
  CHECK(flat(*Analysed(runs.input()).analysis) ==
        "    %   Elapsed         CPU  Waiting      Total  Calls   Per-call\tName\n"
        "    -   0-630ms  0.95-640ms  0-630ms    0-630ms    100    0-6.3ms\tb\n"
        "~78.1     375ms     0-2.1ms    375ms      375ms      3      125ms\tc\n"
        "    -  2.3-11ms   2.8-9.5ms  0-7.7ms  300-730ms      1  300-730ms\ta\n");
}

TEST_CASE("what is not complete or not of one program is said of both runs") {
  TwoRuns runs;
  runs.cpu.writer.header().flags = 0;
  runs.cpu.writer.header().lost = 2;
  const Analysed a(runs.input());
  CHECK_FALSE(a.analysis->complete);
  CHECK(a.analysis->lost == 2);
  CHECK(a.said.find(runs.cpu.dir / "prof.2: the program did not end by exit") != std::string::npos);

  runs.cpu.writer.module(runs.cpu.writer.header().first_module).build_id[0]++;
  CHECK_THROWS_WITH_AS(prof::analyse(runs.input()), doctest::Contains("of another program"), prof::Error);
}

TEST_CASE("only elapsed times and times on a processor are shown side by side, and only where there is room for them") {
  TwoRuns runs;
  prof::Input input = runs.input();
  input.side_by_side = false;
  CHECK_THROWS_WITH_AS(prof::analyse(input), doctest::Contains("different PROFTYPEs; name profiles of one PROFTYPE"),
                       prof::Error);
  CHECK_THROWS_WITH_AS(prof::analyse_apart(runs.input(), prof::Apart::processes, [](const Analysis&) {}),
                       doctest::Contains("different PROFTYPEs; name profiles of one PROFTYPE"), prof::Error);
  for (const uint32_t type : {prof_format::kCount, prof_format::kAdaptive}) {
    TwoRuns others;
    others.cpu.writer.header().type = type;
    CHECK_THROWS_WITH_AS(prof::analyse(others.input()),
                         doctest::Contains("different PROFTYPEs; name profiles of one PROFTYPE"), prof::Error);
    others.cpu.writer.header().type = prof_format::kCpu;
    others.elapsed.writer.header().type = type;
    CHECK_THROWS_WITH_AS(prof::analyse(others.input()),
                         doctest::Contains("different PROFTYPEs; name profiles of one PROFTYPE"), prof::Error);
  }
}
