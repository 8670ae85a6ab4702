#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "prof/export/contexts.h"
#include "prof/export/exports.h"
#include "tests/unit/prof_fixture.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;
using prof::Analysis;
using prof::Measure;

namespace {

// An analysis made by hand, of functions with any names, that call each other.
class Calls {
 public:
  explicit Calls(const std::vector<std::string>& names) : analysis_(table(names), "/bin/sample") {
    analysis_.tsc_hz = 3e9;
    analysis_.tree.nodes.resize(1);
  }
  uint32_t add(uint32_t parent, size_t function, uint64_t calls, uint64_t self) {
    auto& nodes = analysis_.tree.nodes;
    last_child_.resize(nodes.size() + 1);
    prof::CallNode node;
    node.parent = parent;
    node.function = analysis_.functions.at(0, address_of(function));
    node.calls = calls;
    node.self = self;
    const auto index = uint32_t(nodes.size());
    (last_child_[parent] ? nodes[last_child_[parent]].next_sibling : nodes[parent].first_child) = index;
    last_child_[parent] = index;
    nodes.push_back(node);
    return index;
  }
  const Analysis& finish() {
    auto& nodes = analysis_.tree.nodes;
    for (auto& n : nodes) n.total = n.self;
    for (size_t i = nodes.size(); i-- > 1;) nodes[nodes[i].parent].total += nodes[i].total;
    analysis_.sums = prof::sum_functions(analysis_.tree, analysis_.functions.functions().size());
    return analysis_;
  }
  Analysis& analysis() { return analysis_; }

 private:
  static uint64_t address_of(size_t function) { return 0x1000 + 0x10 * function; }
  static prof::FunctionTable table(const std::vector<std::string>& names) {
    TemporaryDirectory dir;
    ElfWriter e;
    for (size_t i = 0; i < names.size(); ++i) e.add_symbol(names[i], address_of(i), 16);
    e.write(dir / "sample");
    prof::Object object("sample", prof::Object::Kind::program);
    object.add_symbols(prof::ElfFile(dir / "sample"));
    object.finish();
    return {std::move(object), false};
  }

  Analysis analysis_;
  std::vector<uint32_t> last_child_;
};

std::string exported(const Analysis& analysis, std::unique_ptr<prof::Export> (*make)(prof::Output&)) {
  return printed([&](prof::Output& out) {
    const auto one = make(out);
    one->add(analysis);
    one->finish();
  });
}

}  // namespace

TEST_CASE("the rounded times of contexts add up to the rounded time of their function") {
  Calls calls({"main", "step"});
  const uint32_t main = calls.add(0, 0, 1, 1);
  for (int i = 0; i < 10; ++i) {
    const uint32_t between = calls.add(main, 0, 1, 1);
    calls.add(between, 1, 1, 4);  // a nanosecond and a third
  }
  const Analysis& a = calls.finish();
  uint64_t step = 0, main_time = 0;
  for (const prof::Context& c : prof::contexts_of(a, {Measure::time}))
    (c.function == a.tree.nodes[main].function ? main_time : step) += c.self[0];
  CHECK(step == 13);
  CHECK(main_time == 4);
}

TEST_CASE("folded stacks have no names that a reader takes for something else") {
  Calls calls(
      {"main", "a;b", "operator 5", "ends.12", "new\nline", std::string(300, 'x'), std::string(299, 'x') + "y"});
  const uint32_t main = calls.add(0, 0, 1, 3);
  for (size_t f = 1; f < 7; ++f) calls.add(main, f, 1, 6);
  calls.add(main, 7, 1, 6);  // without a symbol
  calls.add(0, 7, 1, 9);
  calls.add(0, 3, 1, 0);
  const std::string x(250, 'x');
  CHECK(exported(calls.finish(), prof::folded_export) ==
        "main 1\nmain;a\\x3bb 2\nmain;operator\\x205 2\nmain;ends.12 2\n"
        "main;new\\x0aline 2\nmain;" +
            x + "...[0x1050] 2\nmain;" + x + "...[0x1060] 2\nmain;sample#1070 2\nsample#1070 3\n");
}

TEST_CASE("folded stacks of a profile that was only counted have calls") {
  Calls calls({"main", "step"});
  calls.add(calls.add(0, 0, 1, 0), 1, 700, 0);
  calls.analysis().type = prof::FigureType::count;
  CHECK(exported(calls.finish(), prof::folded_export) == "main 1\nmain;step 700\n");
}

TEST_CASE("contexts that are too deep are summed up by function") {
  Calls calls({"main", "even", "odd", "last"});
  uint32_t at = calls.add(0, 0, 1, 3);
  constexpr uint32_t kLevels = 1'000'000;
  for (uint32_t i = 1; i < kLevels; ++i) at = calls.add(at, 1 + i % 2, 1, 3);
  calls.add(0, 3, 1, 3);
  const Analysis& a = calls.finish();
  const std::vector<prof::Context> contexts = prof::contexts_of(a, {Measure::time, Measure::calls});
  REQUIRE(contexts.size() == prof::kDeepest + 4);
  CHECK(contexts[prof::kDeepest].function == prof::Context::kBetween);
  CHECK(contexts[prof::kDeepest].level == prof::kDeepest);
  for (size_t i = prof::kDeepest + 1; i < prof::kDeepest + 3; ++i) {
    CHECK(contexts[i].level == prof::kDeepest + 1);
    CHECK(contexts[i].self[1] == (kLevels - prof::kDeepest) / 2);
  }
  CHECK(contexts.back().level == 0);
  CHECK(prof::call_graph_of(a, {Measure::time}).arcs.size() == 5);

  for (auto make : {prof::folded_export, prof::speedscope_export, prof::pprof_export, prof::csv_export})
    CHECK(exported(a, make).size() < 4'000'000);
}

TEST_CASE("what leads to a recursive function costs its total") {
  Calls calls({"main", "even", "odd"});
  const uint32_t main = calls.add(0, 0, 1, 1);
  const uint32_t even = calls.add(main, 1, 1, 10), odd = calls.add(even, 2, 1, 100);
  calls.add(odd, 1, 2, 1000);
  calls.add(odd, 2, 3, 10000);
  const Analysis& a = calls.finish();
  const prof::CallGraph graph = prof::call_graph_of(a, {Measure::time, Measure::calls});
  std::string arcs;
  for (const prof::Arc& arc : graph.arcs) {
    arcs += arc.caller == prof::Arc::kOutside ? "outside" : a.functions.functions()[arc.caller].name;
    arcs += " " + a.functions.functions()[arc.callee].name + " " + std::to_string(arc.calls) + " " +
            std::to_string(arc.inclusive[0]) + "\n";
  }
  CHECK(arcs == "main even 1 11110\neven odd 1 11100\nodd even 2 0\nodd odd 3 0\noutside main 1 11111\n");
  CHECK(graph.self[1][0] == 1010);
  CHECK(graph.total[1][0] == 11110);
  CHECK(graph.total[2][1] == 6);
  CHECK(graph.whole[0] == 11111);
}

TEST_CASE("numbers of a damaged profile that are as great as they can be do no harm") {
  Calls calls({"main", "step"});
  const uint32_t main = calls.add(0, 0, UINT64_MAX, 1ull << 62);
  calls.add(main, 1, UINT64_MAX, 1ull << 62);
  calls.add(calls.add(main, 0, UINT64_MAX, 1ull << 62), 1, UINT64_MAX, 1ull << 62);
  const Analysis& a = calls.finish();
  for (auto make : {prof::folded_export, prof::speedscope_export, prof::pprof_export, prof::csv_export})
    CHECK(!exported(a, make).empty());
  CHECK(prof::call_graph_of(a, {Measure::calls}).total[0][0] == UINT64_MAX);
}

TEST_CASE("speedscope's events are balanced, and contexts without time are left out") {
  Calls calls({"main", "step", "idle"});
  const uint32_t main = calls.add(0, 0, 1, 3);
  calls.add(main, 1, 1, 6);
  calls.add(main, 2, 1, 0);
  calls.add(0, 1, 1, 9);
  const auto document = nlohmann::json::parse(exported(calls.finish(), prof::speedscope_export));
  const auto& profile = document["profiles"][0];
  std::string events;
  for (const auto& event : profile["events"]) {
    events += event["type"].get<std::string>() + " " +
              document["shared"]["frames"][event["frame"].get<size_t>()]["name"].get<std::string>() + " " +
              std::to_string(event["at"].get<int>()) + "\n";
  }
  CHECK(events == "O main 0\nO step 1\nC step 3\nC main 3\nO step 3\nC step 6\n");
  CHECK(profile["endValue"] == 6);
}
