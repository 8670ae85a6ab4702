#include <doctest/doctest.h>

#include <string>

#include "prof/model/analysis/analysis.h"
#include "prof/model/gmon/gmon_graph.h"
#include "prof/model/gmon/gmon_of.h"
#include "prof/read/error.h"
#include "tests/unit/prof_analysed.h"
#include "tests/unit/prof_fixture.h"
#include "tests/unit/prof_gmon_bytes.h"

using namespace prof_test;
using prof::Analysis;
using prof::GmonGraph;

namespace {

// Functions a, b, c ... of 16 bytes each, from 0x1000 on, and _start.
uint64_t address_of(char letter) { return 0x1000 + 0x10 * uint64_t(letter - 'a'); }

struct Program {
  Program() {
    ElfWriter e;
    for (char letter = 'a'; letter <= 'h'; ++letter) e.add_symbol(std::string(1, letter), address_of(letter), 16);
    e.add_symbol("_start", 0x900, 16);
    e.write(dir / "program");
  }
  Analysis analyse(const std::vector<std::string>& files) {
    prof::Input input;
    input.program = dir / "program";
    for (size_t i = 0; i < files.size(); ++i) {
      input.profiles.push_back(dir / ("gmon." + std::to_string(i)));
      write_file(input.profiles.back(), files[i]);
    }
    return prof::analyse(input);
  }
  TemporaryDirectory dir;
};

std::string tree_of(const Analysis& a) { return text_of(a.tree, a.functions); }

constexpr uint64_t kTick = 10'000'000;  // nanoseconds, of a clock with 100 ticks a second

// name:calls:self:total of each node, in milliseconds.
std::string unfolded(const GmonGraph& graph, size_t most = 1000) {
  std::string s;
  const auto append = [&](const auto& self, const prof::Tree& tree, uint32_t node) -> void {
    for (uint32_t c = tree.nodes[node].first_child; c != 0; c = tree.nodes[c].next_sibling) {
      const prof::CallNode& n = tree.nodes[c];
      if (!s.empty() && s.back() != '(') s += " ";
      s += std::string(1, char('a' + n.function)) + ":" + std::to_string(n.calls) + ":" + std::to_string(n.self) + ":" +
           std::to_string(n.total);
      if (n.first_child == 0) continue;
      s += "(";
      self(self, tree, c);
      s += ")";
    }
  };
  append(append, prof::unfold(graph, most).tree, 0);
  return s;
}

// Sums of calls and of self times over all nodes, by function.
std::string sums_of(const prof::Tree& tree, size_t functions) {
  std::string s;
  for (const prof::FunctionSum& sum : prof::sum_functions(tree, functions))
    s += std::to_string(sum.calls) + ":" + std::to_string(sum.self) + " ";
  return s;
}

}  // namespace

TEST_CASE("a gmon.out's self times, calls, and total times as gprof makes them") {
  GmonBytes file;  // bins of 16 bytes
  file.header().histogram(0x1000, 0x1080, {1, 2, 30, 0, 0, 0, 0, 0});
  file.arc(address_of('a') + 4, address_of('b'), 4).arc(address_of('a') + 9, address_of('c'), 2);
  file.arc(address_of('b') + 1, address_of('c'), 4);
  const Analysis a = Program().analyse({file.bytes});
  CHECK(sum_of(a, "a").calls == 0);
  CHECK(sum_of(a, "b").calls == 4);
  CHECK(sum_of(a, "c").calls == 6);
  CHECK(sum_of(a, "a").self == kTick);
  CHECK(sum_of(a, "b").self == 2 * kTick);
  CHECK(sum_of(a, "c").self == 30 * kTick);
  CHECK(sum_of(a, "b").total == 22 * kTick);
  CHECK(sum_of(a, "a").total == 33 * kTick);
  CHECK(tree_of(a) ==
        "a:0:10000000:330000000(b:4:20000000:220000000(c:4:200000000:200000000) c:2:100000000:100000000)");
  CHECK(std::string(a.properties().name) == "gmon");
  CHECK(a.timed());
  CHECK(a.by_samples());
  for (const prof::Function& f : a.functions.functions()) CHECK(f.has_calls == (f.name != "a"));
  // 30 of 33 samples: no more is known of them than chance allows.
  CHECK(sum_of(a, "c").self_variance == doctest::Approx(30.0 * kTick * kTick));
}

TEST_CASE("ticks of a bin that holds several functions are shared") {
  GmonBytes file;  // one bin for a and b, and one that ends within d
  file.header().histogram(0x1000, 0x1040, {8, 6});
  Analysis a = Program().analyse({file.bytes});
  CHECK(sum_of(a, "a").self == 4 * kTick);
  CHECK(sum_of(a, "b").self == 4 * kTick);
  CHECK(sum_of(a, "c").self == 3 * kTick);
  CHECK(sum_of(a, "d").self == 3 * kTick);
  // Bins of no whole number of bytes: units 0, 1 and 2 of three, of which the second and the third are b's.
  a = Program().analyse({GmonBytes().header().histogram(0x100e, 0x1014, {6, 5, 4, 3}).bytes});
  CHECK(sum_of(a, "a").self == 11 * kTick);
  CHECK(sum_of(a, "b").self == 7 * kTick);
}

TEST_CASE("several gmon.out are added up, of each format") {
  GmonBytes gnu, bsd, bsd44;
  gnu.header().histogram(0x1000, 0x1020, {1, 2}).arc(address_of('a'), address_of('b'), 5);
  bsd.bsd_header(0x1000, 0x1020, 2).number(1, 2).number(0, 2).bsd_arc(address_of('a'), address_of('b'), 6);
  bsd44.bsd_header(0x1000, 0x1020, 2, 100).number(0, 2).number(1, 2).bsd_arc(address_of('b'), address_of('c'), 7);
  const Analysis a = Program().analyse({gnu.bytes, bsd.bytes, bsd44.bytes});
  CHECK(sum_of(a, "a").self == 2 * kTick);
  CHECK(sum_of(a, "b").self == 3 * kTick);
  CHECK(sum_of(a, "b").calls == 11);
  CHECK(sum_of(a, "c").calls == 7);
  CHECK(a.profiles.size() == 3);
}

TEST_CASE("calls from _start are calls from outside") {
  GmonBytes file;
  file.header()
      .histogram(0x1000, 0x1020, {1, 2})
      .arc(0x900, address_of('a'), 1)
      .arc(address_of('a'), address_of('b'), 2);
  const Analysis a = Program().analyse({file.bytes});
  CHECK(tree_of(a) == "a:1:10000000:30000000(b:2:20000000:20000000)");
}

TEST_CASE("addresses of a gmon.out that are no code are told of, and none else is another program's") {
  GmonBytes file;
  file.header().histogram(0x1000, 0x1010, {1}).histogram(0x900000, 0x900010, {2}).arc(5, 6, 1);
  const Analysis a = Program().analyse({file.bytes});
  CHECK(sum_of(a, "a").self == kTick);
  CHECK(sum_of(a, "[unknown]").self == 2 * kTick);
  CHECK(a.remarks.size() == 3);
  CHECK_THROWS_AS(Program().analyse({GmonBytes().header().histogram(0x900000, 0x900010, {2}).bytes}), prof::Error);
  CHECK_THROWS_AS(Program().analyse({GmonBytes().header().arc(0x900000, 0x900010, 2).bytes}), prof::Error);
  CHECK_FALSE(Program().analyse({GmonBytes().header().bytes}).timed());
}

TEST_CASE("what prof -g writes is read again as it was, but for contexts") {
  GmonBytes file;
  file.header().histogram(0x1000, 0x1002, {100}, 1'000'000).histogram(0x1010, 0x1012, {50}, 1'000'000);
  file.arc(0x900, address_of('a'), 1).arc(address_of('a'), address_of('b'), 2);
  file.number(2, 1).number(1, 4).word(0x1004).word(9);
  Program program;
  const Analysis a = program.analyse({file.bytes});
  CHECK_FALSE(a.by_samples());  // a million ticks a second are no samples
  CHECK(sum_of(a, "a").self_variance == 0);
  const prof::Gmon gmon = prof::gmon_of(a, 0);
  REQUIRE(gmon.histograms.size() == 2);
  CHECK(gmon.histograms[0].low == 0x1000);
  CHECK(gmon.histograms[0].high == 0x1010);
  CHECK(gmon.histograms[0].bins[0] == 100);
  CHECK(gmon.histograms[1].bins[0] == 50);
  REQUIRE(gmon.arcs.size() == 2);
  CHECK(gmon.arcs[0].from == 0x900);
  CHECK(gmon.arcs[1].calls == 2);
  REQUIRE(gmon.blocks.size() == 1);
  CHECK(gmon.blocks[0].count == 9);
}

TEST_CASE("histograms that are written begin and end where global functions do") {
  const std::vector<uint64_t> borders = {0x1000, 0x1080, 0x1200, 0x1300};
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
  const auto ranges = [&](const std::map<uint64_t, uint64_t>& ticks) {
    Ranges found;
    for (const prof::GmonHistogram& h : prof::histograms_at(ticks, borders, 100)) {
      found.emplace_back(h.low, h.high);
      CHECK(h.bins.size() == (h.high - h.low) / 2);
    }
    return found;
  };
  CHECK(ranges({{0x1000, 1}, {0x1100, 2}, {0x11fe, 3}}) == Ranges{{0x1000, 0x1080}, {0x1080, 0x1200}});
  CHECK(ranges({{0x1110, 1}}) == Ranges{{0x1080, 0x1200}});  // the same, whatever ran
  // What is outside of all functions.
  CHECK(ranges({{0x10, 1}, {0x9001300, 1}}) == Ranges{{0, 0x1000}, {0x9001300, 0x9002300}});
  CHECK(prof::histograms_at({{0x1082, 7}}, borders, 100)[0].bins[1] == 7);
  CHECK(ranges({{UINT64_MAX - 1, 1}}).empty());
}

TEST_CASE("recursion and cycles are unfolded once where they are entered") {
  GmonGraph graph(4);  // a calls b; b and c call each other, and b itself; c calls d
  graph.add_self(1, {10, 0});
  graph.add_self(2, {20, 0});
  graph.add_self(3, {30, 0});
  graph.add_calls_from_outside(0, 1);
  graph.add_calls(0, 1, 2);
  graph.add_calls(1, 1, 3);
  graph.add_calls(1, 2, 4);
  graph.add_calls(2, 1, 5);
  graph.add_calls(2, 3, 6);
  graph.finish();
  CHECK(graph.cycle_of(1).members == std::vector<uint32_t>{1, 2});
  CHECK(graph.cycle_of(1).calls == 2);
  CHECK(graph.cycle_of(1).total.time == 60);
  CHECK(graph.functions()[0].total.time == 60);
  CHECK(graph.functions()[1].total.time == 10);
  CHECK(graph.functions()[2].total.time == 50);
  CHECK(graph.functions()[1].calls == 10);
  CHECK(unfolded(graph) == "a:1:0:60(b:2:10:60(b:3:0:0 c:4:20:50(b:5:0:0 d:6:30:30)))");
}

TEST_CASE("shares of calls and times are rounded so that they add up") {
  GmonGraph graph(6);  // a, b and c call d three times each, which calls e once, and that f 7 times
  for (uint32_t f = 0; f < 3; ++f) {
    graph.add_calls_from_outside(f, 1);
    graph.add_calls(f, 3, 3);
  }
  graph.add_calls(3, 4, 1);
  graph.add_calls(4, 5, 7);
  graph.add_self(3, {100, 0});
  graph.add_self(5, {50, 0});
  graph.finish();
  const prof::Tree tree = prof::unfold(graph, 1000).tree;
  CHECK(sums_of(tree, 6) == "1:0 1:0 1:0 9:100 1:0 7:50 ");
  CHECK(tree.nodes[0].total == 150);
}

TEST_CASE("a graph with too many contexts keeps its sums") {
  constexpr uint32_t kLevels = 30;  // 2^30 contexts
  GmonGraph graph(2 * kLevels);
  graph.add_calls_from_outside(0, 1);
  for (uint32_t level = 0; level + 1 < kLevels; ++level) {
    for (uint32_t from : {2 * level, 2 * level + 1})
      for (uint32_t to : {2 * level + 2, 2 * level + 3}) graph.add_calls(from, to, 3);
    graph.add_self(2 * level, {1000, 1});
  }
  graph.finish();
  const prof::UnfoldedTree unfolded = prof::unfold(graph, 500);
  CHECK(unfolded.folded > 0);
  CHECK(unfolded.tree.nodes.size() < 1000);
  std::string expected = "1:1000 0:0 ";  // function 1 is called by nobody
  for (uint32_t level = 1; level < kLevels; ++level) expected += level + 1 < kLevels ? "6:1000 6:0 " : "6:0 6:0 ";
  CHECK(sums_of(unfolded.tree, 2 * kLevels) == expected);
  CHECK(unfolded.tree.nodes[0].total == (kLevels - 1) * 1000);
}

TEST_CASE("many functions that call each other, from many places, do not fill the memory") {
  constexpr uint32_t kFunctions = 300;
  GmonGraph graph(kFunctions);
  for (uint32_t f = 0; f < kFunctions; ++f) {
    graph.add_calls_from_outside(f, 1);
    graph.add_self(f, {10, 0});
    for (uint32_t to = 0; to < kFunctions; ++to) graph.add_calls(f, to, 1);
  }
  graph.finish();
  const prof::UnfoldedTree unfolded = prof::unfold(graph, 10'000);
  CHECK(unfolded.tree.nodes.size() < 20'000);
  std::string expected;
  for (uint32_t f = 0; f < kFunctions; ++f) expected += "301:10 ";
  CHECK(sums_of(unfolded.tree, kFunctions) == expected);
}
