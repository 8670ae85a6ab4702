#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "prof/commands/suggest.h"
#include "prof/read/error.h"
#include "prof/views/views.h"
#include "prof_fixture.h"
#include "prof_gmon.h"
#include "prof_printed.h"

using namespace prof_test;
using prof::Analysis;

namespace {

// An analysis made by hand: functions by name, nodes as (parent, function, calls, self), at a gigahertz.
class Sample {
 public:
  Sample() : analysis{{}, prof::FunctionTable(program(), false), {}, "/bin/sample"} {
    analysis.tsc_hz = 1e9;
    analysis.tree.nodes.resize(1);
  }
  uint32_t add(uint32_t parent, const std::string& function, uint64_t calls, uint64_t self) {
    return add_to(parent, 0, address_of(function), calls, self);
  }
  uint32_t add_to(uint32_t parent, uint32_t object, uint64_t address, uint64_t calls, uint64_t self) {
    auto& nodes = analysis.tree.nodes;
    prof::CallNode node;
    node.parent = parent;
    node.function = analysis.functions.at(object, address);
    node.calls = calls;
    node.self = self;
    const uint32_t index = uint32_t(nodes.size());
    uint32_t* link = &nodes[parent].first_child;
    while (*link) link = &nodes[*link].next_sibling;
    *link = index;
    nodes.push_back(node);
    return index;
  }
  const Analysis& finish() {
    auto& nodes = analysis.tree.nodes;
    for (auto& n : nodes) n.total = n.self;
    for (size_t i = nodes.size(); i-- > 1;) nodes[nodes[i].parent].total += nodes[i].total;
    analysis.sums = prof::sum_functions(analysis.tree, analysis.functions.functions().size());
    return analysis;
  }
  // Function `name`, at an address made from its first letter.
  static uint64_t address_of(const std::string& name) { return 0x1000 + 0x10 * uint64_t(name[0] - 'a'); }

  Analysis analysis;

 private:
  static prof::Object program() {
    TemporaryDirectory dir;
    ElfWriter e;
    for (const char* name : {"alpha", "beta", "_ZN3fooC2Ei", "main", "step", "tiny"}) {
      e.add_symbol(name, name[0] == '_' ? address_of("foo") : address_of(name), 16);
    }
    e.add_symbol("_start", 0x900, 16);
    e.write(dir / "sample");
    prof::Object object("sample", prof::Object::Kind::program);
    object.add_symbols(prof::ElfFile(dir / "sample"));
    object.finish();
    return object;
  }
};

std::string gmon_bytes(const Analysis& a, std::vector<std::string>* remarks = nullptr) {
  TemporaryDirectory dir;
  const std::vector<std::string> returned = prof::write_gmon(a, dir / "gmon.out");
  if (remarks) *remarks = returned;
  return read_file(dir / "gmon.out");
}

}  // namespace

TEST_CASE("the flat view is Plan 9's") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 100'000'000);
  const uint32_t foo = s.add(main, "foo", 62'135'400, 2'700'000'000);
  s.add(foo, "beta", 10, 100'000'000);
  s.add(foo, "alpha", 10, 100'000'000);
  s.add(main, "zero", 0, 0);
  CHECK(flat(s.finish()) ==
        "  %     Time     Calls  Name\n"
        "90.0    2.700 62135400\tfoo::foo(int)\n"
        " 3.3    0.100       10\talpha\n"
        " 3.3    0.100       10\tbeta\n"
        " 3.3    0.100        1\tmain\n");
}

TEST_CASE("a flat view of no time at all has no nan") {
  Sample s;
  s.add(0, "main", 1, 0);
  CHECK(flat(s.finish()) == "  %     Time     Calls  Name\n 0.0    0.000        1\tmain\n");
  CHECK(flat(Sample().finish()) == "  %     Time     Calls  Name\n");
}

TEST_CASE("counted programs show the share of calls and no time") {
  Sample s;
  s.analysis.timed = false;
  s.add(s.add(0, "main", 1, 0), "step", 3, 0);
  CHECK(flat(s.finish()) ==
        "  %     Time     Calls  Name\n75.0        -        3\tstep\n25.0        -        1\tmain\n");
  CHECK(tree(s.finish()) == "main:-\n. step:-/3\n");
}

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
  CHECK(tree(s.finish(), {.by_time = true}) ==
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
  const auto json = nlohmann::json::parse(printed([&](prof::Output& out) { prof::print_json(s.finish(), out); }));
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

TEST_CASE("without any time gmon.out still has a histogram") {
  Sample s;
  s.analysis.timed = false;
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

  // Counted, not timed: what little each does is not known, and a usual pair is assumed.
  s.analysis.duration = 300'000'000;
  s.analysis.timed = false;
  s.analysis.probe = 0;
  CHECK(prof::suggest(s.analysis).patterns == std::vector<std::string>{"step", "alpha", "beta"});
}
