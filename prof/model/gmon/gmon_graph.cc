#include "gmon_graph.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "prof/model/tree/call_cycles.h"
#include "prof/model/tree/overlay.h"
#include "prof/model/tree/tree.h"

namespace prof {

void GmonGraph::add_calls(uint32_t from, uint32_t to, uint64_t calls) {
  if (calls == 0) return;
  functions_[from].callees.push_back({to, calls});
  add_up(functions_[to].calls, calls);
}

void GmonGraph::add_calls_from_outside(uint32_t to, uint64_t calls) {
  add_up(functions_[to].calls_from_outside, calls);
  add_up(functions_[to].calls, calls);
}

void GmonGraph::finish() {
  sum_up_arcs();
  find_cycles();
  add_totals();
}

void GmonGraph::sum_up_arcs() {
  for (Function& f : functions_) {
    std::ranges::sort(f.callees, {}, &GmonCall::to);
    std::vector<GmonCall> sums;
    for (const GmonCall& call : f.callees) {
      if (!sums.empty() && sums.back().to == call.to) {
        add_up(sums.back().calls, call.calls);
      } else {
        sums.push_back(call);
      }
    }
    f.callees = std::move(sums);
  }
}

void GmonGraph::find_cycles() {
  const CallCycles found =
      find_call_cycles({uint32_t(functions_.size()), [&](uint32_t f) { return functions_[f].callees.size(); },
                        [&](uint32_t f, size_t i) { return functions_[f].callees[i].to; }});
  for (uint32_t f = 0; f < functions_.size(); ++f) {
    functions_[f].cycle = found.numbers[f] - 1;
    cycles_.resize(std::max(cycles_.size(), size_t(found.numbers[f])));
    cycles_[found.numbers[f] - 1].members.push_back(f);
  }
  for (const Function& f : functions_) {
    add_up(cycles_[f.cycle].calls, f.calls_from_outside);
    for (const GmonCall& call : f.callees) {
      Cycle& called = cycles_[functions_[call.to].cycle];
      if (functions_[call.to].cycle == f.cycle) {
        ++called.inner_arcs;
      } else {
        add_up(called.calls, call.calls);
      }
    }
  }
}

void GmonGraph::add_totals() {
  for (Cycle& cycle : cycles_) {
    for (const uint32_t member : cycle.members) {
      Function& f = functions_[member];
      f.total = f.self;
      for (const GmonCall& call : f.callees) {
        const Cycle& called = cycle_of(call.to);
        if (&called != &cycle) f.total.add(called.total, called.part(double(call.calls)));
      }
      cycle.total.add(f.total);
    }
  }
}

namespace {

// Shares out whole numbers in parts that are not whole, so that the parts add up.
class SharedOut {
 public:
  uint64_t next(long double part) {
    const uint64_t before = rounded(sum_);
    sum_ += part;
    return rounded(sum_) - before;
  }

 private:
  static uint64_t rounded(long double n) { return n >= 0x1p64L ? UINT64_MAX : uint64_t(std::floor(n + 0.5L)); }
  long double sum_ = 0;
};

class Unfolding {
 public:
  Unfolding(const GmonGraph& graph, size_t most_contexts)
      : graph_(graph),
        most_(most_contexts),
        self_(graph.functions().size()),
        outermost_(graph.functions().size()),
        left_over_(graph.cycles().size()),
        place_in_cycle_(graph.functions().size()) {
    tree_.nodes.resize(1);
    for (const GmonGraph::Function& f : graph.functions()) calls_.emplace_back(f.callees.size());
  }

  UnfoldedTree unfold() {
    enter_from_outside();
    while (!pending_.empty()) {
      const Pending next = pending_.top();
      pending_.pop();
      call_others(next);
    }
    add_left_over();
    sum_up();
    leave_out_empty();
    link_children(tree_);
    return {std::move(tree_), folded_};
  }

 private:
  // A node whose callees outside its cycle are not there yet.
  struct Pending {
    uint32_t node, function;
    double share;  // of all that its cycle did
    double weight, calls;

    bool operator<(const Pending& other) const {
      if (weight != other.weight) return weight < other.weight;
      return calls != other.calls ? calls < other.calls : node > other.node;
    }
  };

  const GmonGraph::Function& function(uint32_t f) const { return graph_.functions()[f]; }
  bool in_one_cycle(uint32_t f, uint32_t g) const { return function(f).cycle == function(g).cycle; }

  // A share of the calls of an arc, which is the one at this place among the caller's.
  uint64_t calls(uint32_t from, size_t arc, double share) {
    return calls_[from][arc].next(static_cast<long double>(function(from).callees[arc].calls) * share);
  }

  uint32_t add_node(uint32_t parent, uint32_t f, uint64_t calls, double share) {
    const uint32_t index = uint32_t(tree_.nodes.size());
    CallNode& node = tree_.nodes.emplace_back();
    node.parent = parent;
    node.function = f;
    node.calls = calls;
    add_time(node, share);
    return index;
  }

  void add_time(CallNode& node, double share) {
    const GmonTime& self = function(node.function).self;
    node.self += self_[node.function].next(static_cast<long double>(self.time) * share);
    node.self_variance += self.variance * share;
  }

  // The node of a function at the outermost level.
  uint32_t outermost(uint32_t f) {
    if (outermost_[f] == 0) outermost_[f] = add_node(0, f, 0, 0);
    return outermost_[f];
  }

  void enter_from_outside() {
    std::vector<std::pair<uint32_t, double>> first;  // and what share of its cycle it has
    for (const GmonGraph::Cycle& cycle : graph_.cycles()) {
      if (cycle.calls == 0) first.emplace_back(cycle.members[0], 1);
      for (const uint32_t f : cycle.members)
        if (const uint64_t n = function(f).calls_from_outside; n > 0) first.emplace_back(f, cycle.part(double(n)));
    }
    std::ranges::stable_sort(first, [&](const auto& a, const auto& b) {
      return graph_.cycle_of(a.first).total.time * a.second > graph_.cycle_of(b.first).total.time * b.second;
    });
    for (const auto& [f, share] : first) {
      if (function(f).callees.empty() && function(f).self.time <= 0 && function(f).calls == 0) continue;
      if (outermost_[f] == 0 && has_room_for(f)) {
        outermost_[f] = enter(0, f, function(f).calls_from_outside, share);
      } else {
        fold(f, function(f).calls_from_outside, share);
      }
    }
  }

  bool has_room_for(uint32_t f) const { return tree_.nodes.size() + graph_.cycle_of(f).inner_arcs < most_; }

  void fold(uint32_t f, uint64_t calls_made, double share) {
    ++folded_;
    tree_.nodes[outermost(f)].calls += calls_made;
    left_over_[function(f).cycle] += share;
  }

  // Calls of a function of another cycle than the caller's. Returns the node.
  uint32_t enter(uint32_t parent, uint32_t first, uint64_t calls_made, double share) {
    const GmonGraph::Cycle& cycle = graph_.cycle_of(first);
    const uint32_t entry = add_node(parent, first, calls_made, share);
    std::vector<std::pair<uint32_t, uint32_t>> members = {{first, entry}};  // and their nodes
    ++entries_;
    place_in_cycle_[first] = entries_;
    for (size_t m = 0; m < members.size(); ++m) {
      const auto [f, node] = members[m];
      wait(node, f, share);
      if (cycle.inner_arcs == 0) break;
      const std::vector<GmonCall>& callees = function(f).callees;
      for (size_t a = 0; a < callees.size(); ++a) {
        const uint32_t to = callees[a].to;
        if (!in_one_cycle(f, to)) continue;
        const bool is_new = std::exchange(place_in_cycle_[to], entries_) != entries_;
        const uint32_t child = add_node(node, to, calls(f, a, share), is_new ? share : 0);
        if (is_new) members.emplace_back(to, child);
      }
    }
    return entry;
  }

  void wait(uint32_t node, uint32_t f, double share) {
    if (!function(f).callees.empty())
      pending_.push({node, f, share, function(f).total.time * share, double(function(f).calls) * share});
  }

  void call_others(const Pending& caller) {
    const std::vector<GmonCall>& callees = function(caller.function).callees;
    for (size_t a = 0; a < callees.size(); ++a) {
      const uint32_t to = callees[a].to;
      if (in_one_cycle(caller.function, to)) continue;
      const GmonGraph::Cycle& called = graph_.cycle_of(to);
      const uint64_t n = calls(caller.function, a, caller.share);
      const double share = called.part(double(callees[a].calls) * caller.share);
      if (has_room_for(to)) {
        enter(caller.node, to, n, share);
      } else {
        fold(to, n, share);
      }
    }
  }

  // Callers before their callees.
  void add_left_over() {
    for (size_t c = graph_.cycles().size(); c-- > 0;) {
      const double share = left_over_[c];
      if (share <= 0) continue;
      for (const uint32_t f : graph_.cycles()[c].members) {
        add_time(tree_.nodes[outermost(f)], share);
        const std::vector<GmonCall>& callees = function(f).callees;
        for (size_t a = 0; a < callees.size(); ++a) {
          const uint32_t to = callees[a].to;
          tree_.nodes[outermost(to)].calls += calls(f, a, share);
          const GmonGraph::Cycle& called = graph_.cycle_of(to);
          if (!in_one_cycle(f, to)) left_over_[function(to).cycle] += called.part(double(callees[a].calls) * share);
        }
      }
    }
  }

  void sum_up() {
    for (size_t i = tree_.nodes.size(); i-- > 0;) {
      CallNode& node = tree_.nodes[i];
      add_up(node.total, node.self);
      node.total_variance += node.self_variance;
      node.self_range = {double(node.self), double(node.self)};
      node.total_range = {double(node.total), double(node.total)};
      if (i == 0) break;
      add_up(tree_.nodes[node.parent].total, node.total);
      tree_.nodes[node.parent].total_variance += node.total_variance;
    }
  }

  // Contexts that were rounded to nothing.
  void leave_out_empty() {
    std::vector<CallNode>& nodes = tree_.nodes;
    std::vector<bool> is_needed(nodes.size());
    for (size_t i = nodes.size(); i-- > 1;) {
      const bool has_any = nodes[i].calls > 0 || nodes[i].self > 0 || nodes[i].self_variance > 0;
      is_needed[i] = is_needed[i] || has_any;
      if (is_needed[i]) is_needed[nodes[i].parent] = true;
    }
    std::vector<uint32_t> place(nodes.size());
    size_t kept = 1;
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (!is_needed[i]) continue;
      place[i] = uint32_t(kept);
      nodes[i].parent = place[nodes[i].parent];
      nodes[kept] = nodes[i];
      ++kept;
    }
    nodes.resize(kept);
  }

  const GmonGraph& graph_;
  const size_t most_;
  Tree tree_;
  std::priority_queue<Pending> pending_;
  std::vector<std::vector<SharedOut>> calls_;  // by caller and callee
  std::vector<SharedOut> self_;                // by function
  std::vector<uint32_t> outermost_;            // nodes by function; 0: none
  std::vector<double> left_over_;              // by cycle: which part of it is at the outermost level
  std::vector<uint32_t> place_in_cycle_;       // by function: in which entry into its cycle it was met last
  uint32_t entries_ = 0;
  uint64_t folded_ = 0;
};

}  // namespace

UnfoldedTree unfold(const GmonGraph& graph, size_t most_contexts) { return Unfolding(graph, most_contexts).unfold(); }

}  // namespace prof
