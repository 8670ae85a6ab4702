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

class Sharing {
 public:
  Sharing(Tree& tree, const std::vector<CountedArc>& arcs, const std::vector<uint64_t>& calls)
      : tree_(tree), growing_(tree), calls_(calls), left_(calls), heaviest_(calls.size()) {
    for (const CountedArc& arc : arcs) add_up(arcs_[{arc.caller, arc.callee}], arc.calls);
    for (const auto& [arc, n] : arcs_) {
      left_[arc.second] -= std::min(left_[arc.second], n);
      callees_[arc.first].push_back(arc.second);
      callers_[arc.second].push_back(arc.first);
    }
    find_single_contexts();
  }

  void share() {
    add_nodes_without_samples();
    // By caller and callee, the samples of the nodes of the caller that have such a child; and of nodes without a counted
    // arc, by callee alone.
    struct Shared {
      double samples = 0, given = 0;
      uint64_t calls = 0;
      uint32_t nodes = 0, left = 0;
    };
    std::map<Arc, Shared> shared;
    for (uint32_t n = 1; n < tree_.nodes.size(); ++n) {
      Shared& s = shared[key_of(n)];
      s.samples += weight_of(n);
      ++s.nodes;
      ++s.left;
    }
    for (uint32_t n = 1; n < tree_.nodes.size(); ++n) {
      CallNode& node = tree_.nodes[n];
      if (calls_[node.function] == 0) continue;
      const Arc key = key_of(n);
      const uint64_t all = key.first == kOutside ? left_[node.function] : arcs_.at(key);
      Shared& s = shared.at(key);
      // No such call at all was counted where a function on the way ended in a jump, and has no frame any more.
      const bool is_only_one = key.first == kOutside ? is_single_[node.function] && all != 0
                                                     : is_single_[key.first] && left_[node.function] == 0;
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
  // A function is called in one context only if another one makes all of its calls, by counted arcs, and is so as well; or
  // if it was called once, from outside.
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
    for (uint32_t f = 0; f < calls_.size(); ++f) {
      if (calls_[f] == 0 || left_[f] == 0) continue;
      add(0, f);
      add_callees();
    }
    // A caller without any context is one whose calls are not known.
    std::vector<Arc> without_caller;
    for (const auto& [arc, n] : arcs_)
      if (!heaviest_[arc.first]) without_caller.push_back(arc);
    for (const Arc& arc : without_caller) {
      left_[arc.second] += arcs_.at(arc);
      arcs_.erase(arc);
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
      for (const uint32_t callee : callees_[caller])
        if (calls_[callee] != 0) add(*heaviest_[caller], callee);
    }
  }

  // What a node's calls are a part of.
  Arc key_of(uint32_t n) const {
    const CallNode& node = tree_.nodes[n];
    const Arc arc = {node.parent == 0 ? kOutside : tree_.nodes[node.parent].function, node.function};
    return arcs_.contains(arc) ? arc : Arc{kOutside, node.function};
  }

  // A little for what has none.
  double weight_of(uint32_t n) const { return double(tree_.nodes[n].total) + 1e-3; }

  Tree& tree_;
  Growing growing_;
  const std::vector<uint64_t>& calls_;
  std::vector<uint64_t> left_;  // by function, calls that no arc has
  std::map<Arc, uint64_t> arcs_;
  std::map<uint32_t, std::vector<uint32_t>> callees_, callers_;
  std::vector<bool> is_single_;  // by function
  // While nodes are added: by function, its node with most samples; what has a node; whose callees are to be looked at.
  std::vector<std::optional<uint32_t>> heaviest_;
  std::set<Arc> has_node_;
  std::vector<uint32_t> to_do_;
};

}  // namespace

Tree tree_of_chains(const SampledChains& chains, const std::vector<uint32_t>& functions, uint32_t kernel, double cycles,
                    double weight) {
  Tree tree;
  tree.nodes.resize(1);
  Growing growing(tree);
  std::vector<double> samples(1);  // by node of the tree
  auto add = [&](uint32_t node, uint64_t count) {
    samples.resize(tree.nodes.size());
    samples[node] += double(count);
  };
  std::vector<uint32_t> node_of = {0};  // by node of the chains
  for (size_t c = 1; c < chains.nodes().size(); ++c) {
    const ChainNode& chain = chains.nodes()[c];
    node_of.push_back(growing.child(node_of[chain.parent], functions[c]));
    add(node_of[c], chain.user);
    if (chain.kernel) add(growing.child(node_of[c], kernel), chain.kernel);
  }
  samples.resize(tree.nodes.size());
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    CallNode& node = tree.nodes[i];
    node.self = uint64_t(std::llround(samples[i] * cycles));
    node.total += node.self;
    node.self_variance = samples[i] * weight * cycles * cycles;
    node.total_variance += node.self_variance;
    node.self_range = {double(node.self), double(node.self)};
    node.total_range = {double(node.total), double(node.total)};
    if (i == 0) break;
    tree.nodes[node.parent].total += node.total;
    tree.nodes[node.parent].total_variance += node.total_variance;
  }
  link_children(tree);
  return tree;
}

void share_calls(Tree& tree, const std::vector<CountedArc>& arcs, const std::vector<uint64_t>& calls) {
  Sharing(tree, arcs, calls).share();
  link_children(tree);
}

}  // namespace prof
