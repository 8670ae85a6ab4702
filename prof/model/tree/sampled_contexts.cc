#include "sampled_contexts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "overlay.h"

namespace prof {

namespace {

using Arc = std::pair<uint32_t, uint32_t>;  // caller and callee

// From outside, in place of a caller.
constexpr uint32_t kOutside = UINT32_MAX;

class Growing {
 public:
  explicit Growing(Tree& tree) : nodes_(tree.nodes) {
    for (uint32_t n = 1; n < nodes_.size(); ++n) children_[{nodes_[n].parent, nodes_[n].function}] = n;
  }

  uint32_t child(uint32_t parent, uint32_t function) {
    const auto [at, is_new] = children_.try_emplace({parent, function}, uint32_t(nodes_.size()));
    if (is_new) {
      CallNode& node = nodes_.emplace_back();
      node.function = function;
      node.parent = parent;
    }
    return at->second;
  }

 private:
  std::vector<CallNode>& nodes_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> children_;
};

// What was counted of calls.
class Counted {
 public:
  Counted(const CountedCalls& counted, const std::vector<uint64_t>& calls)
      : calls_(calls), indirect_(counted.indirect), left_(calls) {
    for (const CountedArc& arc : counted.arcs) {
      OfArc& sum = arcs_[{arc.caller, arc.callee}];
      add_up(sum.calls, arc.calls);
      sum.has_jumps |= arc.is_jump;
    }
    for (const auto& [arc, sum] : arcs_) {
      left_[arc.second] -= std::min(left_[arc.second], sum.calls);
      callees_[arc.first].push_back(arc.second);
      callers_[arc.second].push_back(arc.first);
    }
    find_single_contexts();
  }

  size_t functions() const { return calls_.size(); }
  uint64_t calls(uint32_t function) const { return calls_[function]; }
  // Those that no arc has: through pointers, or from code that is not counted.
  uint64_t left(uint32_t function) const { return left_[function]; }
  // How many of its calls may be through pointers.
  uint64_t indirect(uint32_t function) const { return function < indirect_.size() ? indirect_[function] : 0; }
  bool has(const Arc& arc) const { return arcs_.contains(arc); }
  uint64_t calls(const Arc& arc) const { return arcs_.at(arc).calls; }
  bool has_single_context(uint32_t function) const { return is_single_[function]; }
  const std::vector<uint32_t>& callees(uint32_t function) { return callees_[function]; }

  // All arcs from functions for which `is_unknown`, whose calls are left then.
  template <class IsUnknown>
  std::vector<Arc> take_arcs_from(const IsUnknown& is_unknown) {
    std::vector<Arc> taken;
    for (const auto& [arc, sum] : arcs_)
      if (is_unknown(arc.first)) taken.push_back(arc);
    for (const Arc& arc : taken) {
      left_[arc.second] += arcs_.at(arc).calls;
      arcs_.erase(arc);
    }
    return taken;
  }

  // A chain has one function right below another that never calls it: the one that `caller` called and that ended in a
  // jump to `callee`, if it can only be one.
  std::optional<uint32_t> jumped_from(uint32_t caller, uint32_t callee) const {
    const auto callers = callers_.find(callee);
    if (has({caller, callee}) || callers == callers_.end() || left_[callee] != 0) return {};
    std::optional<uint32_t> found;
    for (const uint32_t between : callers->second) {
      if (!arcs_.at({between, callee}).has_jumps || !has({caller, between})) continue;
      if (found) return {};
      found = between;
    }
    return found;
  }

 private:
  struct OfArc {
    uint64_t calls = 0;
    bool has_jumps = false;
  };

  // A function is called in one context only if another one makes all of its calls, by counted arcs, and is so as well;
  // or if it was called once, from outside.
  void find_single_contexts() {
    enum : uint8_t { unknown, no, yes };
    std::vector<uint8_t> state(calls_.size(), unknown);
    std::vector<uint32_t> way;
    for (uint32_t f = 0; f < calls_.size(); ++f) {
      way.clear();
      uint32_t at = f;
      uint8_t found = unknown;
      while (found == unknown) {
        found = state[at];
        if (found != unknown) break;
        state[at] = no;  // if it comes back to itself
        way.push_back(at);
        const auto callers = callers_.find(at);
        if (callers == callers_.end()) {
          found = calls_[at] == 1 ? yes : no;
        } else if (callers->second.size() != 1 || left_[at] != 0) {
          found = no;
        } else {
          at = callers->second[0];
        }
      }
      for (const uint32_t w : way) state[w] = found;
    }
    for (const uint8_t s : state) is_single_.push_back(s == yes);
  }

  const std::vector<uint64_t>& calls_;
  const std::vector<uint64_t>& indirect_;
  std::vector<uint64_t> left_;  // by function
  std::map<Arc, OfArc> arcs_;
  std::map<uint32_t, std::vector<uint32_t>> callees_, callers_;
  std::vector<bool> is_single_;  // by function
};

// The node that has the code of a node: itself, or a caller.
uint32_t not_inlined(const Tree& tree, const ChainFunctions& functions, uint32_t node) {
  while (node != 0 && functions.is_inlined(tree.nodes[node].function)) node = tree.nodes[node].parent;
  return node;
}

// Gives the nodes of a tree calls.
class Sharing {
 public:
  Sharing(Tree& tree, Growing& growing, Counted& counted, const ChainFunctions& functions)
      : tree_(tree), growing_(growing), counted_(counted), functions_(functions), heaviest_(counted.functions()) {}

  void share() {
    add_nodes_without_samples();
    std::map<Arc, Shared> shared;
    for (uint32_t n = 1; n < tree_.nodes.size(); ++n) {
      Shared& s = shared[key_of(n)];
      s.samples += weight_of(n);
      ++s.nodes;
      ++s.left;
    }
    share_among_callers(shared);
    for (uint32_t n = 1; n < tree_.nodes.size(); ++n) {
      CallNode& node = tree_.nodes[n];
      if (counted_.calls(node.function) == 0) continue;
      const Arc key = key_of(n);
      Shared& s = shared.at(key);
      const uint64_t all = s.all;
      // No such call at all was counted where a function on the way ended in a jump, and has no frame any more.
      const bool is_only_one = key.first == kOutside
                                   ? counted_.has_single_context(node.function) && all != 0
                                   : counted_.has_single_context(key.first) && counted_.left(node.function) == 0;
      node.has_estimated_calls = !is_only_one || s.nodes > 1;
      // Rounded so that the shares add up to the whole.
      s.given += weight_of(n);
      const uint64_t up_to_here =
          --s.left == 0 ? all : std::min(all, uint64_t(std::llround(double(all) * s.given / s.samples)));
      node.calls = up_to_here - std::min(up_to_here, s.calls);
      s.calls = std::max(s.calls, up_to_here);
    }
  }

 private:
  // By caller and callee, the nodes of the caller that have such a child; and nodes without a counted arc, by callee
  // alone.
  struct Shared {
    double samples = 0, given = 0;
    uint64_t all = 0, calls = 0;  // to be given, and given
    uint32_t nodes = 0, left = 0;
    double excess = 0, most = 0;  // of calls by its samples over those that are counted; of calls through pointers
  };

  // Sets `all` of each.
  void share_among_callers(std::map<Arc, Shared>& shared) const {
    std::map<uint32_t, std::vector<Shared*>> of_callees;
    for (auto& [arc, s] : shared) {
      const bool is_counted = arc.first != kOutside;
      s.all = is_counted ? counted_.calls(arc) : 0;
      s.most = is_counted ? double(counted_.indirect(arc.first)) : HUGE_VAL;
      of_callees[arc.second].push_back(&s);
    }
    for (auto& [callee, callers] : of_callees)
      if (counted_.left(callee) != 0) share_among(callers, double(counted_.left(callee)), counted_.calls(callee));
  }

  // Adds what was called through pointers to what each caller made of the function's `calls`.
  static void share_among(std::vector<Shared*>& callers, double through_pointers, uint64_t calls) {
    double samples = 0, sum = 0;
    for (const Shared* s : callers) samples += s->samples;
    for (Shared* s : callers) {
      s->excess = std::max(0.0, double(calls) * s->samples / samples - double(s->all));
      sum += s->excess;
    }
    // Those whose part would be more than they can have made have that, and the others the rest.
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (Shared* s : callers) {
        if (s->excess <= 0 || through_pointers * s->excess <= s->most * sum) continue;
        add_up(s->all, uint64_t(s->most));
        through_pointers -= s->most;
        sum -= s->excess;
        s->excess = 0;
        is_changed = true;
      }
    }
    for (Shared* s : callers)
      if (s->excess > 0) add_up(s->all, uint64_t(std::llround(through_pointers * s->excess / sum)));
  }

  // Callers before what they call, each arc once: below the node of the caller with most samples.
  void add_nodes_without_samples() {
    for (uint32_t n = 1; n < tree_.nodes.size(); ++n) {
      const CallNode& node = tree_.nodes[n];
      has_node_.insert(key_of(n));
      std::optional<uint32_t>& best = heaviest_[node.function];
      if (!best) to_do_.push_back(node.function);
      if (!best || tree_.nodes[*best].total < node.total) best = n;
    }
    add_callees();
    for (uint32_t f = 0; f < counted_.functions(); ++f) {
      if (counted_.calls(f) == 0 || counted_.left(f) == 0) continue;
      add(0, f);
      add_callees();
    }
    // A caller without any context is one whose calls are not known.
    for (const Arc& arc : counted_.take_arcs_from([&](uint32_t caller) { return !heaviest_[caller]; })) {
      add(0, arc.second);
      add_callees();
    }
  }

  void add(uint32_t parent, uint32_t function) {
    const Arc arc = {parent == 0 ? kOutside : tree_.nodes[parent].function, function};
    if (!has_node_.insert(arc).second) return;
    const uint32_t n = growing_.child(parent, function);
    if (heaviest_[function]) return;
    heaviest_[function] = n;
    to_do_.push_back(function);
  }

  void add_callees() {
    while (!to_do_.empty()) {
      const uint32_t caller = to_do_.back();
      to_do_.pop_back();
      for (const uint32_t callee : counted_.callees(caller))
        if (counted_.calls(callee) != 0) add(*heaviest_[caller], callee);
    }
  }

  // What a node's calls are a part of.
  Arc key_of(uint32_t n) const {
    const CallNode& node = tree_.nodes[n];
    const uint32_t caller = not_inlined(tree_, functions_, node.parent);
    const Arc arc = {caller == 0 ? kOutside : tree_.nodes[caller].function, node.function};
    return counted_.has(arc) ? arc : Arc{kOutside, node.function};
  }

  // A little for what has none.
  double weight_of(uint32_t n) const { return double(tree_.nodes[n].total) + 1e-3; }

  Tree& tree_;
  Growing& growing_;
  Counted& counted_;
  const ChainFunctions& functions_;
  // While nodes are added: by function, its node with most samples; what has a node; whose callees are to be looked at.
  std::vector<std::optional<uint32_t>> heaviest_;
  std::set<Arc> has_node_;
  std::vector<uint32_t> to_do_;
};

}  // namespace

ChainTree tree_of_chains(const SampledChains& chains, const ChainFunctions& functions, const SampleValue& sample,
                         const CountedCalls& counted_calls, const std::vector<uint64_t>& calls) {
  Counted counted(counted_calls, calls);
  ChainTree result;
  Tree& tree = result.tree;
  tree.nodes.resize(1);
  Growing growing(tree);
  std::vector<double> samples(1);  // by node of the tree
  auto add = [&](uint32_t node, uint64_t count) {
    samples.resize(tree.nodes.size());
    samples[node] += double(count);
  };
  std::vector<uint32_t>& node_of = result.user;
  node_of = result.kernel = {0};
  for (size_t c = 1; c < chains.nodes().size(); ++c) {
    const ChainNode& chain = chains.nodes()[c];
    const ChainPlace& place = functions.by_node[c];
    uint32_t caller = node_of[chain.parent];
    const uint32_t code = not_inlined(tree, functions, caller);
    const std::optional<uint32_t> between =
        code == 0 ? std::nullopt : counted.jumped_from(tree.nodes[code].function, place.function);
    if (between) caller = growing.child(caller, *between);
    uint32_t node = growing.child(caller, place.function);
    tree.nodes[node].has_tail_calls |= between.has_value();
    for (const uint32_t inlined : functions.inlined[place.inlined]) node = growing.child(node, inlined);
    node_of.push_back(node);
    add(node, chain.user);
    result.kernel.push_back(chain.kernel ? growing.child(node, functions.kernel) : 0);
    if (chain.kernel) add(result.kernel[c], chain.kernel);
  }
  samples.resize(tree.nodes.size());
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    CallNode& node = tree.nodes[i];
    sample.set_self(samples[i], node.function, node);
    node.total += node.self;
    node.total_variance += node.self_variance;
    node.total_range.add(SampleValue::in_total(node));
    if (i == 0) break;
    CallNode& caller = tree.nodes[node.parent];
    caller.total += node.total;
    caller.total_variance += node.total_variance;
    caller.total_range.add(node.total_range);
    SampleValue::add_moved(node);
  }
  Sharing(tree, growing, counted, functions).share();
  link_children(tree);
  return result;
}

}  // namespace prof
