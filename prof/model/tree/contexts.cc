#include "contexts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linker-rewrite/names/pattern.h"
#include "overlay.h"
#include "recorded.h"

namespace prof {

namespace {

bool is_one_of(const FunctionSet& functions, const CallNode& node) {
  return node.function < functions.size() && functions[node.function];
}

// By node, whether it is of one of the functions or below one that is.
std::vector<bool> nodes_within(const Tree& tree, const FunctionSet& functions) {
  std::vector<bool> within(tree.nodes.size());
  for (size_t i = 1; i < within.size(); ++i)
    within[i] = within[tree.nodes[i].parent] || is_one_of(functions, tree.nodes[i]);
  return within;
}

void forget_own_time(CallNode& node) {
  CallNode empty;
  empty.function = node.function;
  empty.parent = node.parent;
  empty.calls = node.calls;
  empty.has_estimated_calls = node.has_estimated_calls;
  empty.has_doubtful_calls = node.has_doubtful_calls;
  empty.has_tail_calls = node.has_tail_calls;
  node = empty;
}

// The nodes that are kept, which must be closed upwards. Of those that do not keep their own time there are the calls.
Tree part_of(const Tree& tree, const std::vector<bool>& kept, const std::vector<bool>& with_own_time) {
  const size_t count = tree.nodes.size();
  std::vector<bool> is_whole = with_own_time;  // the subtree is as it was
  for (size_t i = count; i-- > 1;)
    if (!kept[i] || !is_whole[i]) is_whole[tree.nodes[i].parent] = false;
  Tree part;
  std::vector<uint32_t> place(count);
  std::vector<bool> has_new_total;
  for (size_t i = 0; i < count; ++i) {
    if (i != 0 && !kept[i]) continue;
    place[i] = uint32_t(part.nodes.size());
    CallNode& node = part.nodes.emplace_back(tree.nodes[i]);
    node.parent = place[node.parent];
    if (!with_own_time[i]) forget_own_time(node);
    if (!is_whole[i]) begin_total(node);  // what is left of its children is added below
    has_new_total.push_back(!is_whole[i]);
  }
  for (size_t i = part.nodes.size(); i-- > 1;) {
    const uint32_t parent = part.nodes[i].parent;
    if (has_new_total[parent]) add_total(part.nodes[parent], part.nodes[i]);
  }
  link_children(part);
  return part;
}

std::vector<uint32_t> functions_of(const Tree& tree) {
  std::vector<uint32_t> functions;
  functions.reserve(tree.nodes.size());
  for (const CallNode& node : tree.nodes) functions.push_back(node.function);
  return functions;
}

// By node, whether no node above it is of the same function.
std::vector<bool> outermost_nodes(const Tree& tree, const FunctionSet& functions) {
  const std::vector<CallNode>& nodes = tree.nodes;
  std::vector<bool> outermost(nodes.size());
  std::vector<uint32_t> open(functions.size());  // how many calls of the function the walk is inside of
  auto enter = [&](uint32_t i, uint32_t) {
    outermost[i] = is_one_of(functions, nodes[i]) && open[nodes[i].function]++ == 0;
  };
  walk(tree, enter, [&](uint32_t i) {
    if (is_one_of(functions, nodes[i])) --open[nodes[i].function];
  });
  return outermost;
}

}  // namespace

Tree focus_on(const Tree& tree, const FunctionSet& functions) {
  const std::vector<bool> within = nodes_within(tree, functions);
  std::vector<bool> kept = within;
  for (size_t i = kept.size(); i-- > 1;)
    if (kept[i]) kept[tree.nodes[i].parent] = true;
  return part_of(tree, kept, within);
}

Tree leave_out(const Tree& tree, const FunctionSet& functions) {
  std::vector<bool> kept = nodes_within(tree, functions);
  kept.flip();
  return part_of(tree, kept, kept);
}

Tree callees_of(const Tree& tree, const FunctionSet& functions) {
  const std::vector<CallNode>& nodes = tree.nodes;
  const std::vector<bool> within = nodes_within(tree, functions);
  const std::vector<uint32_t> function_of = functions_of(tree);
  std::vector<Overlay::Member> outermost;
  for (uint32_t i = 1; i < nodes.size(); ++i)
    if (within[i] && !within[nodes[i].parent]) outermost.push_back({i, i});
  Overlay overlay(function_of);
  overlay.begin(outermost);
  auto follow = [&](const Overlay::Member& member, CallNode& sum, std::vector<Overlay::Member>& below) {
    add_self(sum, nodes[member.at]);
    add_total(sum, nodes[member.at]);
    for (uint32_t c = nodes[member.at].first_child; c != 0; c = nodes[c].next_sibling) below.push_back({c, c});
  };
  while (overlay.descend(follow)) continue;
  Tree callees = overlay.finish();
  for (uint32_t c = callees.nodes[0].first_child; c != 0; c = callees.nodes[c].next_sibling)
    add_total(callees.nodes[0], callees.nodes[c]);
  return callees;
}

CallersTree callers_of(const Tree& tree, const FunctionSet& functions) {
  // Chains of callers are as long as the tree is deep, and each activation has its own; nodes and steps have to end.
  constexpr size_t kMaxNodes = 4'000'000, kMaxSteps = 64'000'000;
  const std::vector<CallNode>& nodes = tree.nodes;
  const std::vector<uint32_t> function_of = functions_of(tree);
  std::vector<uint32_t> parents;  // beside each other in memory, since chains go all over the tree
  parents.reserve(nodes.size());
  for (const CallNode& node : nodes) parents.push_back(node.parent);
  const std::vector<bool> outermost = outermost_nodes(tree, functions);
  std::vector<Overlay::Member> activations;
  for (uint32_t i = 1; i < nodes.size(); ++i)
    if (is_one_of(functions, nodes[i])) activations.push_back({i, i});

  Overlay overlay(function_of);
  overlay.begin(activations);
  bool is_cut = false;
  // At the end of its chain an activation hands over what it has; all nodes of the chain get that below.
  auto follow = [&](const Overlay::Member& member, CallNode& sum, std::vector<Overlay::Member>& callers) {
    const uint32_t caller = parents[member.at];
    if (caller != 0 && !is_cut) return callers.push_back({caller, member.source});
    add_self(sum, nodes[member.source]);
    if (outermost[member.source]) add_total(sum, nodes[member.source]);
  };
  CallersTree callers;
  uint32_t level = 0;
  size_t steps = 0;
  do {
    steps += overlay.last_members();
    is_cut = level > 0 && (steps > kMaxSteps || overlay.nodes() + overlay.last_members() > kMaxNodes);
    if (is_cut && overlay.last_members() != 0) callers.levels = level;
    ++level;
  } while (overlay.descend(follow));
  callers.tree = overlay.finish();
  std::vector<CallNode>& chains = callers.tree.nodes;
  for (size_t i = chains.size(); i-- > 1;) {
    CallNode& caller_of = chains[chains[i].parent];
    if (chains[i].parent != 0) add_self(caller_of, chains[i]);
    add_total(caller_of, chains[i]);
  }
  return callers;
}

namespace {

// The functions whose names match one of the patterns.
FunctionSet functions_meant(const Recorded& recorded, const std::vector<std::string>& patterns) {
  std::vector<prof_names::Pattern> meant;
  for (const std::string& pattern : patterns) meant.emplace_back(pattern);
  FunctionSet set;
  if (meant.empty()) return FunctionSet(recorded.functions.functions().size());
  for (const Function& f : recorded.functions.functions()) {
    const prof_names::Name name = recorded.functions.name_for_patterns(f);
    set.push_back(std::ranges::any_of(meant, [&](const prof_names::Pattern& p) { return p.matches(name); }));
  }
  return set;
}

// Samples without chains are of functions, and are spread over their contexts (sampled.h). Of a function that is in no
// context, the part that is left is all or nothing.
void keep_samples(Recorded& a, const std::vector<FunctionSum>& before, const FunctionSet& is_left) {
  for (size_t f = 0; f < before.size(); ++f) {
    uint64_t& samples = a.sampled->samples[f];
    if (before[f].calls != 0 || a.sampled->has_chains()) {
      const double part = before[f].self == 0 ? 0 : double(a.sums[f].self) / double(before[f].self);
      samples = uint64_t(std::llround(double(samples) * std::min(part, 1.0)));
    } else if (is_left[f]) {
      a.sums[f] = before[f];
    } else {
      samples = 0;
    }
  }
}

}  // namespace

void select_contexts(Recorded& a, const ContextSelection& selection) {
  if (!selection.is_any()) return;
  a.contexts = SelectedContexts{selection};
  for (const FunctionSum& sum : a.sums) add_self(a.contexts.whole, sum);
  const FunctionSet focus = functions_meant(a, selection.focus), ignore = functions_meant(a, selection.ignore);
  const FunctionSet callers = functions_meant(a, selection.callers), callees = functions_meant(a, selection.callees);
  auto for_each_tree = [&](auto change) {
    change(a.tree);
    if (a.cpu) change(a.cpu->tree);
  };
  for_each_tree([&](Tree& tree) {
    if (!selection.focus.empty()) tree = focus_on(tree, focus);
    if (!selection.ignore.empty()) tree = leave_out(tree, ignore);
    if (!selection.callees.empty()) tree = callees_of(tree, callees);
  });
  FunctionSet is_left;
  for (size_t f = 0; f < a.sums.size(); ++f)
    is_left.push_back((selection.focus.empty() || focus[f]) && !ignore[f] && (selection.callees.empty() || callees[f]));
  std::vector<FunctionSum> before = std::exchange(a.sums, sum_functions(a.tree, a.sums.size()));
  if (a.sampled) keep_samples(a, before, is_left);
  if (a.by_samples()) make_zeros_uncertain(a.sums, a.cycles_of_sample());
  if (a.cpu) a.cpu->sums = sum_functions(a.cpu->tree, a.cpu->sums.size());
  if (selection.callers.empty()) return;
  for_each_tree([&](Tree& tree) {
    CallersTree seen = callers_of(tree, callers);
    tree = std::move(seen.tree);
    a.contexts.caller_levels = seen.levels;
  });
}

std::string problem_of(const ContextSelection& selection, const Recorded& recorded) {
  for (const auto& [option, patterns] : {std::pair("--focus ", &selection.focus),
                                         {"--ignore ", &selection.ignore},
                                         {"--callers ", &selection.callers},
                                         {"--callees ", &selection.callees}}) {
    if (patterns->empty()) continue;
    const FunctionSet set = functions_meant(recorded, *patterns);
    if (std::ranges::find(set, true) != set.end()) continue;
    prof_names::Nearest nearest(prof_names::Pattern(patterns->front()));
    for (const Function& f : recorded.functions.functions()) nearest.add(recorded.functions.name_for_patterns(f));
    const std::string question = nearest.question();
    return option + patterns->front() + ": no function matches" + (question.empty() ? "" : "; " + question);
  }
  return "";
}

}  // namespace prof
