#include "prof/model/tree/sampled_contexts.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using prof::CallNode;
using prof::CountedArc;
using prof::FramePlace;
using prof::SampledChains;
using prof::Tree;

namespace {

enum : uint32_t { kMain, kA, kB, kLeaf, kSort, kCompare, kKernel, kNever, kInlined, kFunctions };

// Samples in the contexts that are given, the outermost function first; the offset of a place is its function.
class Contexts {
 public:
  void add(const std::vector<uint32_t>& functions, int samples, bool in_kernel = false) {
    std::vector<FramePlace> frames;
    for (size_t i = functions.size(); i-- > 0;) frames.push_back({0, functions[i]});
    for (int i = 0; i < samples; ++i) chains_.add(frames, 1, in_kernel, index_);
  }
  Tree tree(const std::vector<CountedArc>& arcs, const std::vector<uint64_t>& calls,
            const std::vector<prof::OwnPart>& own = {}, const std::vector<uint64_t>& indirect = {}) const {
    prof::ChainFunctions functions = {.kernel = kKernel};
    functions.inlined.push_back({kInlined});
    functions.are_inlined.resize(kFunctions);
    functions.are_inlined[kInlined] = true;
    for (const prof::ChainNode& node : chains_.nodes()) {
      const uint32_t function = uint32_t(node.place.offset);
      functions.by_node.push_back({.function = function, .inlined = uint32_t(function == with_inlined_)});
    }
    return prof::tree_of_chains(chains_, functions, {100, 1, own}, {arcs, indirect}, calls).tree;
  }
  // All instructions of that function are of one that was inlined into it.
  void set_inlined(uint32_t into) { with_inlined_ = into; }

 private:
  SampledChains chains_;
  prof::ChainIndex index_;
  uint32_t with_inlined_ = kFunctions;
};

// The node in a context, or null.
const CallNode* find(const Tree& tree, const std::vector<uint32_t>& functions) {
  uint32_t at = 0;
  for (const uint32_t function : functions) {
    uint32_t child = tree.nodes[at].first_child;
    while (child != 0 && tree.nodes[child].function != function) child = tree.nodes[child].next_sibling;
    if (child == 0) return nullptr;
    at = child;
  }
  return &tree.nodes[at];
}

// "calls total", the calls with ~ if they are estimated.
std::string figures(const Tree& tree, const std::vector<uint32_t>& functions) {
  const CallNode* node = find(tree, functions);
  if (!node) return "none";
  return (node->has_estimated_calls ? "~" : "") + std::to_string(node->calls) + " " + std::to_string(node->total);
}

}  // namespace

TEST_CASE("sampled contexts: times are those of the chains, and calls are exact where there is one context") {
  Contexts c;
  c.add({kMain, kA, kLeaf}, 3);
  c.add({kMain, kB, kLeaf}, 1);
  c.add({kMain, kB}, 1, true);
  c.add({kMain, kSort, kCompare}, 5);
  c.add({kMain, kSort, kCompare, kLeaf}, 2);
  const std::vector<CountedArc> arcs = {
      {kMain, kA, 10}, {kMain, kB, 5}, {kA, kLeaf, 30}, {kB, kLeaf, 70}, {kCompare, kLeaf, 6}};
  std::vector<uint64_t> calls(kFunctions);
  calls[kMain] = 1, calls[kA] = 10, calls[kB] = 5, calls[kLeaf] = 106, calls[kCompare] = 12;
  const Tree tree = c.tree(arcs, calls);
  CHECK(figures(tree, {kMain}) == "1 1200");
  CHECK(figures(tree, {kMain, kA}) == "10 300");
  CHECK(figures(tree, {kMain, kA, kLeaf}) == "30 300");
  CHECK(figures(tree, {kMain, kB}) == "5 200");
  CHECK(figures(tree, {kMain, kB, kLeaf}) == "70 100");
  CHECK(figures(tree, {kMain, kB, kKernel}) == "0 100");
  CHECK(figures(tree, {kMain, kSort}) == "0 700");
  // Called through a pointer: by whom is not counted.
  CHECK(figures(tree, {kMain, kSort, kCompare}) == "~12 700");
  CHECK(figures(tree, {kMain, kSort, kCompare, kLeaf}) == "~6 200");
}

TEST_CASE(
    "sampled contexts: inlined functions are nodes without calls, and what they call is called by what has their "
    "code") {
  Contexts c;
  c.set_inlined(kA);
  c.add({kMain, kA}, 2);
  c.add({kMain, kA, kLeaf}, 3);
  c.add({kMain, kA, kLeaf}, 1, true);
  const std::vector<CountedArc> arcs = {{kMain, kA, 10}, {kA, kLeaf, 30}, {kA, kB, 4}};
  std::vector<uint64_t> calls(kFunctions);
  calls[kMain] = 1, calls[kA] = 10, calls[kLeaf] = 30, calls[kB] = 4;
  const Tree tree = c.tree(arcs, calls);
  CHECK(figures(tree, {kMain, kA}) == "10 600");
  CHECK(find(tree, {kMain, kA})->self == 0);
  CHECK(figures(tree, {kMain, kA, kInlined}) == "0 600");
  CHECK(find(tree, {kMain, kA, kInlined})->self == 200);
  CHECK(figures(tree, {kMain, kA, kInlined, kLeaf}) == "30 400");
  CHECK(figures(tree, {kMain, kA, kB}) == "4 0");
}

TEST_CASE("sampled contexts: calls of a caller in several contexts are shared by samples") {
  Contexts c;
  c.add({kMain, kA, kLeaf, kB}, 3);
  c.add({kMain, kLeaf, kB}, 1);
  const std::vector<CountedArc> arcs = {{kMain, kA, 1}, {kMain, kLeaf, 1}, {kA, kLeaf, 1}, {kLeaf, kB, 100}};
  std::vector<uint64_t> calls(kFunctions);
  calls[kMain] = 1, calls[kA] = 1, calls[kLeaf] = 2, calls[kB] = 100;
  const Tree tree = c.tree(arcs, calls);
  CHECK(figures(tree, {kMain, kA, kLeaf}) == "1 300");
  CHECK(figures(tree, {kMain, kA, kLeaf, kB}) == "~75 300");
  CHECK(figures(tree, {kMain, kLeaf, kB}) == "~25 100");
}

TEST_CASE("sampled contexts: calls without samples are below the caller's context with most of them, or outside") {
  Contexts c;
  c.add({kMain, kA}, 3);
  c.add({kA}, 1);
  const std::vector<CountedArc> arcs = {{kA, kB, 7}, {kB, kLeaf, 8}, {kLeaf, kLeaf, 2}};
  std::vector<uint64_t> calls(kFunctions);
  calls[kMain] = 1, calls[kA] = 4, calls[kB] = 7, calls[kLeaf] = 10, calls[kNever] = 9;
  const Tree tree = c.tree(arcs, calls);
  CHECK(figures(tree, {kMain, kA, kB}) == "~7 0");
  CHECK(figures(tree, {kMain, kA, kB, kLeaf}) == "~8 0");
  CHECK(figures(tree, {kA, kB}) == "none");
  CHECK(figures(tree, {kNever}) == "~9 0");
}

TEST_CASE("sampled contexts: calls through pointers are shared among callers, also those that call directly") {
  Contexts c;
  c.add({kMain, kA, kLeaf}, 9);
  c.add({kMain, kB, kLeaf}, 1);
  const std::vector<CountedArc> arcs = {{kMain, kA, 1}, {kMain, kB, 1}, {kA, kLeaf, 10}};
  std::vector<uint64_t> calls(kFunctions), indirect(kFunctions);
  calls[kMain] = calls[kA] = calls[kB] = 1, calls[kLeaf] = 1010;
  const auto shares = [&](uint64_t of_a) {
    indirect[kA] = of_a;
    const Tree tree = c.tree(arcs, calls, {}, indirect);
    return figures(tree, {kMain, kA, kLeaf}) + ", " + figures(tree, {kMain, kB, kLeaf});
  };
  CHECK(shares(5000) == "~909 900, ~101 100");
  CHECK(shares(700) == "~710 900, ~300 100");  // it cannot have made more
  CHECK(shares(0) == "~10 900, ~1000 100");
}

TEST_CASE("sampled contexts: where a frame is missing no calls are made up") {
  Contexts c;
  c.add({kMain, kLeaf}, 2);  // a frame is missing
  std::vector<uint64_t> calls(kFunctions);
  calls[kMain] = 1, calls[kA] = 3, calls[kLeaf] = 3;
  const Tree tree = c.tree({{kMain, kA, 3}, {kA, kLeaf, 3}}, calls);
  CHECK(figures(tree, {kMain, kLeaf}) == "~0 200");
  CHECK(figures(tree, {kMain, kA}) == "3 0");
  CHECK(figures(tree, {kMain, kA, kLeaf}) == "3 0");
}

TEST_CASE(
    "sampled contexts: a function that jumped to another one is between it and its caller, if it can only be one") {
  Contexts c;
  c.add({kMain, kLeaf, kB}, 2);  // a jumped there
  std::vector<uint64_t> calls(kFunctions);
  calls[kMain] = 1, calls[kA] = 3, calls[kLeaf] = 3, calls[kB] = 4;
  const std::vector<CountedArc> arcs = {{kMain, kA, 3}, {kA, kLeaf, 3, true}, {kLeaf, kB, 4}};
  const Tree tree = c.tree(arcs, calls);
  CHECK(figures(tree, {kMain, kLeaf}) == "none");
  CHECK(figures(tree, {kMain, kA}) == "3 200");
  CHECK(figures(tree, {kMain, kA, kLeaf}) == "3 200");
  CHECK(figures(tree, {kMain, kA, kLeaf, kB}) == "4 200");
  CHECK(find(tree, {kMain, kA, kLeaf})->has_tail_calls);

  // Compare may have jumped there as well.
  std::vector<CountedArc> more = arcs;
  more.insert(more.end(), {{kMain, kCompare, 1}, {kCompare, kLeaf, 1, true}});
  calls[kCompare] = 1, calls[kLeaf] = 4;
  CHECK(figures(c.tree(more, calls), {kMain, kLeaf}) == "~0 200");
}

TEST_CASE("sampled contexts: functions that call each other come to an end") {
  Contexts c;
  c.add({kMain, kA, kB, kA, kB}, 2);
  std::vector<uint64_t> calls(kFunctions);
  calls[kMain] = 1, calls[kA] = 2, calls[kB] = 2;
  const Tree tree = c.tree({{kMain, kA, 1}, {kA, kB, 2}, {kB, kA, 1}}, calls);
  CHECK(figures(tree, {kMain, kA}) == "1 200");
  CHECK(figures(tree, {kMain, kA, kB, kA}) == "~1 200");
  CHECK(figures(tree, {kMain, kA, kB, kA, kB}) == "~1 200");
}

TEST_CASE(
    "sampled contexts: what counters move between a function and its caller is uncertain in the total of both, or of "
    "one") {
  Contexts c;
  c.add({kMain, kA, kLeaf}, 4);
  std::vector<uint64_t> calls(kFunctions);
  calls[kMain] = 1, calls[kA] = 1, calls[kLeaf] = 100;
  std::vector<prof::OwnPart> own(kFunctions);
  own[kLeaf] = {0.5, 1, 1.5};
  const Tree tree = c.tree({{kMain, kA, 1}, {kA, kLeaf, 100}}, calls, own);
  const prof::Range leaf = find(tree, {kMain, kA, kLeaf})->total_range, above = find(tree, {kMain, kA})->total_range;
  CHECK(leaf.low == 200);  // as its self time
  CHECK(leaf.high == 600);
  CHECK(above.low == 350);  // a fourth of that is not moved, but added
  CHECK(above.high == 400);
}
