#include "prof/model/tree/contexts.h"

#include <doctest/doctest.h>

#include <random>

#include "prof/model/analysis/analysis.h"
#include "tests/unit/prof_analysed.h"
#include "tests/unit/prof_fixture.h"

using namespace prof_test;
using prof::Analysis;
using prof::CallNode;
using prof::FunctionSet;
using prof::Tree;

namespace {

FunctionSet functions(const Analysis& a, const std::string& letters) {
  FunctionSet set;
  for (const prof::Function& f : a.functions.functions()) set.push_back(letters.find(f.name) != std::string::npos);
  return set;
}

std::string text(const Analysis& a, const Tree& tree) { return text_of(tree, a.functions); }

// a calls b, and c, which calls b; b calls d.
Analysis two_ways_to_b() {
  AnalysedRun run;
  const Block a = run.call(0, 'a', 1, 1000);
  const Block b = run.call(a, 'b', 2, 200);
  const Block c = run.call(a, 'c', 3, 300);
  const Block below_c = run.call(c, 'b', 4, 40);
  run.call(b, 'd', 5, 5);
  run.call(below_c, 'd', 6, 6);
  run.call(c, 'd', 7, 7);
  return run.analyse(true);
}

// a calls b, b itself, and that b again; each calls c.
Analysis recursive() {
  AnalysedRun run;
  Block at = run.call(0, 'a', 1, 1000);
  for (int i = 0; i < 3; ++i) {
    at = run.call(at, 'b', 2, 100);
    run.call(at, 'c', 3, 10);
  }
  return run.analyse(true);
}

// A tree of a few functions that call each other at random, deep and wide.
Tree random_tree(unsigned seed, uint32_t function_count, uint32_t size) {
  std::mt19937 generator(seed);
  auto random = [&] { return uint32_t(generator()); };
  Tree tree;
  tree.nodes.resize(1);
  std::vector<FunctionSet> children(1, FunctionSet(function_count));
  while (tree.nodes.size() < size) {
    CallNode node;
    node.parent = random() % 4 ? uint32_t(tree.nodes.size() - 1) : random() % uint32_t(tree.nodes.size());
    node.function = random() % function_count;
    if (children[node.parent][node.function]) continue;
    children[node.parent][node.function] = true;
    const uint32_t index = uint32_t(tree.nodes.size());
    uint32_t* link = &tree.nodes[node.parent].first_child;
    while (*link) link = &tree.nodes[*link].next_sibling;
    *link = index;
    node.calls = random() % 100;
    node.self = random() % 1000;
    node.self_waiting = random() % 1000;
    tree.nodes.push_back(node);
    children.emplace_back(function_count);
  }
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    CallNode& node = tree.nodes[i];
    node.total += node.self;
    node.total_waiting += node.self_waiting;
    node.self_range = node.total_range = {double(node.self), double(node.self)};
    if (i == 0) break;
    tree.nodes[node.parent].total += node.total;
    tree.nodes[node.parent].total_waiting += node.total_waiting;
  }
  return tree;
}

// Whether parents precede their children, and the links say what the parents say, in the order of the nodes.
bool is_well_formed(const Tree& tree) {
  std::vector<uint32_t> last(tree.nodes.size());
  for (uint32_t i = 1; i < tree.nodes.size(); ++i) {
    const uint32_t parent = tree.nodes[i].parent;
    if (parent >= i) return false;
    if ((last[parent] ? tree.nodes[last[parent]].next_sibling : tree.nodes[parent].first_child) != i) return false;
    last[parent] = i;
  }
  for (uint32_t i = 0; i < tree.nodes.size(); ++i)
    if (last[i] ? tree.nodes[last[i]].next_sibling != 0 : tree.nodes[i].first_child != 0) return false;
  return true;
}

}  // namespace

TEST_CASE("contexts: a focus leaves what leads to a function, without its time, and all that is below it") {
  const Analysis a = two_ways_to_b();
  CHECK(text(a, prof::focus_on(a.tree, functions(a, "b"))) ==
        "a:1:0:251(b:2:200:205(d:5:5:5) c:3:0:46(b:4:40:46(d:6:6:6)))");
  CHECK(text(a, prof::focus_on(a.tree, functions(a, "c"))) == "a:1:0:353(c:3:300:353(b:4:40:46(d:6:6:6) d:7:7:7))");
  CHECK(text(a, prof::focus_on(a.tree, functions(a, "bc"))) ==
        "a:1:0:558(b:2:200:205(d:5:5:5) c:3:300:353(b:4:40:46(d:6:6:6) d:7:7:7))");
  CHECK(text(a, prof::focus_on(a.tree, functions(a, "a"))) == text(a, a.tree));
  CHECK(prof::focus_on(a.tree, functions(a, "")).nodes.size() == 1);
}

TEST_CASE("contexts: what leads to a focus was called or jumped to as before") {
  Analysis a = two_ways_to_b();
  for (CallNode& node : a.tree.nodes) node.has_tail_calls = true;
  const Tree focused = prof::focus_on(a.tree, functions(a, "d"));
  for (uint32_t i = 1; i < focused.nodes.size(); ++i) CHECK(focused.nodes[i].has_tail_calls);
}

TEST_CASE("contexts: what is ignored takes its time out of that of its callers") {
  const Analysis a = two_ways_to_b();
  CHECK(text(a, prof::leave_out(a.tree, functions(a, "b"))) == "a:1:1000:1307(c:3:300:307(d:7:7:7))");
  CHECK(text(a, prof::leave_out(a.tree, functions(a, "d"))) == "a:1:1000:1540(b:2:200:200 c:3:300:340(b:4:40:40))");
  CHECK(text(a, prof::leave_out(a.tree, functions(a, "a"))).empty());
  CHECK(text(a, prof::leave_out(a.tree, functions(a, ""))) == text(a, a.tree));
}

TEST_CASE("contexts: callees are all contexts of a function laid over each other") {
  const Analysis a = two_ways_to_b();
  CHECK(text(a, prof::callees_of(a.tree, functions(a, "b"))) == "b:6:240:251(d:11:11:11)");
  CHECK(text(a, prof::callees_of(a.tree, functions(a, "d"))) == "d:18:18:18");
  // What is below another of the functions is not taken out from there.
  CHECK(text(a, prof::callees_of(a.tree, functions(a, "bc"))) ==
        "b:2:200:205(d:5:5:5) c:3:300:353(b:4:40:46(d:6:6:6) d:7:7:7)");
  const Analysis r = recursive();
  CHECK(text(r, prof::callees_of(r.tree, functions(r, "b"))) ==
        "b:2:100:330(c:3:10:10 b:2:100:220(c:3:10:10 b:2:100:110(c:3:10:10)))");
  CHECK(text(r, prof::callees_of(r.tree, functions(r, "c"))) == "c:9:30:30");
}

TEST_CASE("contexts: callers have the part of a function's calls and times that belongs to them") {
  const Analysis a = two_ways_to_b();
  CHECK(text(a, prof::callers_of(a.tree, functions(a, "b")).tree) == "b:6:240:251(a:2:200:205 c:4:40:46(a:4:40:46))");
  CHECK(text(a, prof::callers_of(a.tree, functions(a, "d")).tree) ==
        "d:18:18:18(b:11:11:11(a:5:5:5 c:6:6:6(a:6:6:6)) c:7:7:7(a:7:7:7))");
  CHECK(text(a, prof::callers_of(a.tree, functions(a, "ad")).tree).starts_with("a:1:1000:1558 d:18:"));
}

TEST_CASE("contexts: an activation inside another one has no total time of its own for its callers") {
  const Analysis a = recursive();
  CHECK(text(a, prof::callers_of(a.tree, functions(a, "b")).tree) ==
        "b:6:300:330(a:2:100:330 b:4:200:0(a:2:100:0 b:2:100:0(a:2:100:0)))");
  CHECK(text(a, prof::callers_of(a.tree, functions(a, "c")).tree) ==
        "c:9:30:30(b:9:30:30(a:3:10:10 b:6:20:20(a:3:10:10 b:3:10:10(a:3:10:10))))");
}

TEST_CASE("contexts: of a part of a subtree the range of its total time is the sum of those that are left") {
  Analysis a = two_ways_to_b();
  for (CallNode& node : a.tree.nodes) node.self_range = {1, 10}, node.total_range = {100, 200};
  const Tree rest = prof::leave_out(a.tree, functions(a, "d"));
  CHECK(rest.nodes[1].total_range.high == 40);  // a, b, c, and b below it
  CHECK(rest.nodes[1].total_range.low == 4);
  const Tree focused = prof::focus_on(a.tree, functions(a, "b"));
  CHECK(focused.nodes[1].self_range.high == 0);
  CHECK(focused.nodes[1].total_range.high == 400);  // both b, which are whole
  CHECK(prof::callees_of(a.tree, functions(a, "b")).nodes[1].total_range.high == 400);
  CHECK(prof::callers_of(a.tree, functions(a, "b")).tree.nodes[1].total_range.high == 400);
}

TEST_CASE("contexts: sums are those of the functions, in random trees") {
  constexpr uint32_t kFunctions = 7;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Tree tree = random_tree(seed, kFunctions, 500);
    const std::vector<prof::FunctionSum> sums = prof::sum_functions(tree, kFunctions);
    const uint32_t f = seed % kFunctions;
    FunctionSet set(kFunctions);
    set[f] = true;
    const Tree focused = prof::focus_on(tree, set), rest = prof::leave_out(tree, set);
    const Tree callees = prof::callees_of(tree, set), callers = prof::callers_of(tree, set).tree;
    for (const Tree* made : {&focused, &rest, &callees, &callers}) REQUIRE(is_well_formed(*made));
    CHECK(focused.nodes[0].total + rest.nodes[0].total == tree.nodes[0].total);
    CHECK(focused.nodes[0].total_waiting + rest.nodes[0].total_waiting == tree.nodes[0].total_waiting);
    for (const Tree* made : {&focused, &callees}) {
      const std::vector<prof::FunctionSum> left = prof::sum_functions(*made, kFunctions);
      CHECK(left[f].calls == sums[f].calls);
      CHECK(left[f].self == sums[f].self);
      CHECK(left[f].total == sums[f].total);
      CHECK(left[f].total_waiting == sums[f].total_waiting);
      CHECK(made->nodes[0].total == sums[f].total);
    }
    CHECK(prof::sum_functions(rest, kFunctions)[f].calls == 0);
    const CallNode& top = callers.nodes[1];
    CHECK(top.next_sibling == 0);
    CHECK(top.calls == sums[f].calls);
    CHECK(top.self == sums[f].self);
    CHECK(top.total == sums[f].total);
    CHECK(top.self_waiting == sums[f].self_waiting);
    CHECK(top.total_waiting == sums[f].total_waiting);
  }
}

TEST_CASE("contexts: chains of callers that are too long in all are cut off") {
  // A million levels: each of half a million activations has a chain of its own.
  constexpr uint32_t kLevels = 1'000'000;
  Tree tree;
  tree.nodes.resize(kLevels + 1);
  for (uint32_t i = 1; i <= kLevels; ++i) {
    tree.nodes[i].function = i % 2;
    tree.nodes[i].parent = i - 1;
    tree.nodes[i].calls = 1;
    tree.nodes[i - 1].first_child = i;
  }
  const prof::CallersTree callers = prof::callers_of(tree, {false, true});
  CHECK(callers.levels > 10);
  CHECK(callers.levels < kLevels);
  CHECK(is_well_formed(callers.tree));
  CHECK(callers.tree.nodes[1].calls == kLevels / 2);
  CHECK(prof::callers_of(prof::callees_of(tree, {true, true}), {false, false}).levels == 0);
}

TEST_CASE("contexts: functions are selected by patterns, percentages stay those of the whole") {
  AnalysedRun run;
  const Block a = run.call(0, 'a', 1, 600'000'000);
  run.call(run.call(a, 'b', 2, 300'000'000), 'c', 3, 50'000'000);
  run.call(a, 'c', 4, 50'000'000);
  run.writer.write(run.dir / "prof.1");
  prof::Input input;
  input.profiles = {run.dir / "prof.1"};
  input.raw_times = true;
  input.contexts.focus = {"nothing", "[b]"};
  Analysis analysis = prof::analyse(input);
  CHECK(text(analysis, analysis.tree) == "a:1:0:350000000(b:2:300000000:350000000(c:3:50000000:50000000))");
  CHECK(sum_of(analysis, "a").self == 0);
  CHECK(sum_of(analysis, "c").calls == 3);
  CHECK(analysis.contexts.is_any());
  CHECK(analysis.contexts.whole.self == 1'000'000'000);
  CHECK(analysis.contexts.whole.calls == 10);
  CHECK(lines(analysis.remarks).find("the contexts shown have 35.0 % of the time\n") != std::string::npos);
  CHECK(prof::problem_of(input.contexts, analysis).empty());

  input.contexts = {.ignore = {"b"}, .callers = {"c"}};
  analysis = prof::analyse(input);
  CHECK(text(analysis, analysis.tree) == "c:4:50000000:50000000(a:4:50000000:50000000)");
  CHECK(sum_of(analysis, "a").self == 600'000'000);
  CHECK(sum_of(analysis, "b").calls == 0);

  input.contexts = {.callees = {"x"}};
  analysis = prof::analyse(input);
  CHECK(analysis.tree.nodes.size() == 1);
  CHECK(prof::problem_of(input.contexts, analysis) == "--callees x: no function matches; did you mean a, b or c?");
}

TEST_CASE("contexts: two runs side by side stay alike") {
  AnalysedRun run;
  const Block a = run.call(0, 'a', 1, 1000);
  run.call(run.call(a, 'b', 2, 500), 'c', 3, 50);
  run.writer.write(run.dir / "prof.1");
  run.writer.header().type = prof_format::kCpu;
  run.call(run.call(a, 'd', 9, 90), 'c', 9, 9);
  run.writer.write(run.dir / "prof.2");
  prof::Input input;
  input.profiles = {run.dir / "prof.1", run.dir / "prof.2"};
  input.raw_times = input.side_by_side = true;
  input.contexts.callers = {"c"};
  const Analysis analysis = prof::analyse(input);
  REQUIRE(analysis.cpu);
  CHECK(text(analysis, analysis.tree) == "c:3:50:50(b:3:50:50(a:3:50:50) d:0:0:0(a:0:0:0))");
  CHECK(text(analysis, analysis.cpu->tree) == "c:12:59:59(b:3:50:50(a:3:50:50) d:9:9:9(a:9:9:9))");
}
