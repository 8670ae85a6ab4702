#include "tree.h"

#include <algorithm>

#include "prof/read/clock.h"
#include "prof/read/cycles.h"
#include "prof/read/header.h"

namespace prof {

namespace {

// Cycles, not negative, as a whole number. Those of damaged profiles may not fit into one.
uint64_t whole(double cycles) { return uint64_t(std::min(cycles, 0x1p62)); }
uint64_t whole(ScaledCycles cycles) { return whole(cycles.count); }

}  // namespace

struct TreeBuilder::State {
  Tree tree;
  std::vector<uint32_t> last_child;
  std::vector<ScaledCycles> self;     // measured, of each node
  std::vector<UncertainCost> probe;   // that is in it
  std::vector<UncertainCost> inside;  // that its calls brought upon itself
  std::vector<UncertainCost> pairs;   // that they brought upon it and its parent
  bool is_sampled = false;            // variances are those of self times, and add up
  bool is_folded = false;             // some calls were made by others than the node's parent

  // Which child of the parent that is being filled a function is. A mark with another number is of an earlier parent,
  // and does not count.
  struct Mark {
    uint32_t parent_number = 0, child = 0;
  };
  std::vector<Mark> marks;  // by function
  uint32_t parent_number = 0;

  State() { new_node(0, 0); }

  uint32_t new_node(uint32_t parent, uint32_t function) {
    const uint32_t index = uint32_t(tree.nodes.size());
    CallNode node;
    node.function = function;
    node.parent = parent;
    tree.nodes.push_back(node);
    last_child.push_back(0);
    self.emplace_back();
    probe.emplace_back();
    inside.emplace_back();
    pairs.emplace_back();
    return index;
  }

  // What the calls of a node brought upon its parent.
  UncertainCost outside(uint32_t node) const { return outside_of(pairs[node].likely - inside[node].likely); }

  // Moves the cost of folded calls from nodes with too little time for it to the nodes that were called.
  void lower_folded_cost() {
    const std::vector<CallNode>& nodes = tree.nodes;
    for (size_t i = 1; i < nodes.size(); ++i) {
      const double missing = probe[i].likely - self[i].count;
      if (missing <= 0) continue;
      UncertainCost all;
      for (uint32_t c = nodes[i].first_child; c != 0; c = nodes[c].next_sibling) all.add(outside(c));
      if (all.likely <= 0) continue;
      const double part = std::min(missing / all.likely, 1.0);
      for (uint32_t c = nodes[i].first_child; c != 0; c = nodes[c].next_sibling) probe[c].add(outside(c) * part);
      probe[i].add(all * -part);
    }
  }

  // To be called before the children of a parent are asked for.
  void begin_children(uint32_t parent) {
    ++parent_number;
    for (uint32_t c = tree.nodes[parent].first_child; c != 0; c = tree.nodes[c].next_sibling) {
      marks[tree.nodes[c].function] = {parent_number, c};
    }
  }

  uint32_t child(uint32_t parent, uint32_t function) {
    if (function >= marks.size()) marks.resize(function + function / 2 + 64);
    Mark& mark = marks[function];
    if (mark.parent_number != parent_number) {
      mark = {parent_number, new_node(parent, function)};
      uint32_t& link =
          last_child[parent] ? tree.nodes[last_child[parent]].next_sibling : tree.nodes[parent].first_child;
      link = mark.child;
      last_child[parent] = mark.child;
    }
    return mark.child;
  }
};

TreeBuilder::TreeBuilder() : state_(std::make_unique<State>()) {}
TreeBuilder::~TreeBuilder() = default;

std::string TreeFaults::damage() const {
  std::string text;
  if (broken_links)
    text = std::to_string(broken_links) + " of the links in its tree are broken, the calls below them are missing";
  if (impossible_counts)
    text += (text.empty() ? "" : "; ") + std::to_string(impossible_counts) +
            " of its counts are greater than any can be, and shown with ?";
  return text;
}

namespace {

// A recorded node, with its times as they go into the tree.
struct Child {
  const RecordedNode* node;  // null: of what libraries or the kernel did for the parent
  uint32_t function = 0;
  ScaledCycles self = {}, inclusive = {};  // one is known, and the other 0
  double variance = 0;
  // Of the probe's: that is still in the node's own time, and what its calls cost the caller.
  UncertainCost inside = {}, outside = {};
  UncertainCost pairs = {};  // both together
  bool has_doubtful_calls = false;
};

// `period`: what a sample stands for; `weight`: how many samples came at once.
Child sampled(uint32_t function, double samples, double weight, ScaledCycles period) {
  Child c{nullptr, function};
  c.self = period * samples;
  c.variance = samples * weight * period.count * period.count;
  return c;
}

Child self_timed(const RecordedNode& node, uint32_t function, const ProbeCost& probe, ClockScale scale) {
  Child c{&node, function};
  c.has_doubtful_calls = !is_possible_count(node.calls);
  c.self = scale(node.cycles);
  // No cost is subtracted for an impossible number of calls.
  const double calls = c.has_doubtful_calls ? 0 : double(node.calls);
  c.inside = probe.inside * calls;
  c.pairs = c.inside;
  if (node.is_sought_call) {
    c.inside = probe.sought_inside * calls;
    c.outside = probe.sought_outside * calls;
    c.pairs = c.inside;
    c.pairs.add(c.outside);
  }
  if (node.is_tail_call) return c;
  c.outside = probe.outside * calls;
  c.pairs = probe.pair * calls;
  return c;
}

Child estimated(const RecordedNode& node, uint32_t function, const ProbeCost& probe, ClockScale scale) {
  Child c{&node, function};
  c.has_doubtful_calls = !is_possible_count(node.calls);
  const double calls = c.has_doubtful_calls ? 0 : double(node.calls);
  const double timed = std::min(double(std::min(node.timed, node.calls)), calls);
  // The cost inside is subtracted here, since the time is compared with those of others; not so what it may be instead.
  const UncertainCost inside = probe.inside * calls;
  c.inclusive = {std::max(scale(node.cycles).count - inside.likely, 0.0)};
  c.inside = {0, inside.low - inside.likely, inside.high - inside.likely};
  c.variance = node.variance * scale.factor * scale.factor;
  c.outside = probe.inside * timed;
  c.outside.add(probe.outside * timed);
  c.outside.add(probe.counted * (calls - timed));
  c.pairs = probe.pair * timed;
  c.pairs.add(probe.counted * (calls - timed));
  return c;
}

}  // namespace

// Lays the trees of one profile over what is there.
class TreeBuilder::Overlay {
 public:
  Overlay(State& state, const Profile& profile, Resolver& resolver, ClockScale scale)
      : state_(state),
        resolver_(resolver),
        scale_(scale),
        probe_(profile.header(), scale.factor),
        is_estimated_(profile.header().type == prof_format::kAdaptive),
        is_sampled_(is_sampled(profile.header())) {
    state_.is_sampled = state_.is_sampled || is_sampled_;
    if (!is_sampled_) return;
    const double hz = time_stamp_rate(profile.header());
    period_ = scale({double(profile.header().sample_period) * 1e-9 * rate_or_default(hz)});
    libraries_ = resolver.uncalled("[libraries]");
    kernel_ = resolver.uncalled("[kernel]");
  }

  void add(const Thread& thread) {
    if (thread.nodes.empty()) {
      ++faults_.broken_links;
      return;
    }
    const RecordedNode& root = thread.nodes[0];
    faults_.impossible_times += root.has_impossible_time;
    if (is_sampled_) {
      add_self(0, sampled(0, root.own_samples, root.sample_weight, period_));
      state_.tree.nodes[0].has_doubtful_self |= root.has_impossible_time;
    } else if (!is_estimated_) {
      add_cycles(0, scale_(root.cycles));
      add_waiting(state_.tree.nodes[0], root);
      state_.tree.nodes[0].has_doubtful_self |= root.has_impossible_time;
    }
    pending_.push_back({&root, 0, is_estimated_ ? scale_(root.cycles) : ScaledCycles()});
    while (!pending_.empty()) {
      const Pending parent = pending_.back();
      pending_.pop_back();
      read_children(thread, *parent.recorded);
      if (is_estimated_) share_out(parent);
      add_children(parent);
    }
  }

  const TreeFaults& faults() const { return faults_; }

 private:
  struct Pending {
    const RecordedNode* recorded;
    uint32_t node;  // in the tree
    ScaledCycles inclusive;
  };

  Child child_of(const RecordedNode& node) {
    const uint32_t function = resolver_.find(node.pc);
    if (is_estimated_) return estimated(node, function, probe_, scale_);
    if (!is_sampled_) return self_timed(node, function, probe_, scale_);
    Child c = sampled(function, node.own_samples, node.sample_weight, period_);
    c.node = &node;
    c.has_doubtful_calls = !is_possible_count(node.calls);
    return c;
  }

  void add_cycles(uint32_t index, ScaledCycles cycles) { state_.self[index].count += double(whole(cycles)); }

  void add_self(uint32_t index, const Child& c) {
    add_cycles(index, c.self);
    state_.tree.nodes[index].self_variance += c.variance;
    state_.tree.nodes[index].total_variance += c.variance;
  }

  void read_children(const Thread& thread, const RecordedNode& parent) {
    children_.clear();
    faults_.broken_links += parent.children != RecordedNode::Children::whole;
    for (uint32_t i = parent.first_child; i < parent.first_child + parent.child_count; ++i) {
      const RecordedNode& node = thread.nodes[i];
      children_.push_back(child_of(node));
      faults_.impossible_counts += children_.back().has_doubtful_calls;
      faults_.impossible_times += node.has_impossible_time;
    }
    if (parent.library_samples > 0)
      children_.push_back(sampled(libraries_, parent.library_samples, parent.sample_weight, period_));
    if (parent.kernel_samples > 0)
      children_.push_back(sampled(kernel_, parent.kernel_samples, parent.sample_weight, period_));
  }

  // Of estimated times: makes the children's fit into the parent's, and gives it the rest.
  void share_out(const Pending& parent) {
    ScaledCycles all, rest = parent.inclusive;
    for (const Child& c : children_) all += c.inclusive + ScaledCycles{c.outside.likely};
    const double part = all > rest ? rest / all : 1;
    for (Child& c : children_) {
      c.inclusive = c.inclusive * part;
      c.outside = c.outside * part;
      rest -= c.inclusive;
      state_.tree.nodes[parent.node].self_variance += c.variance;
    }
    add_cycles(parent.node, std::max(rest, ScaledCycles()));
  }

  static bool has_others(const RecordedNode& node) { return node.library_samples > 0 || node.kernel_samples > 0; }

  void add_waiting(CallNode& node, const RecordedNode& recorded) const {
    node.self_waiting += whole(scale_(recorded.blocked + recorded.preempted));
    node.self_preempted += whole(scale_(recorded.preempted));
  }

  void add_children(const Pending& parent) {
    if (children_.empty()) return;
    state_.begin_children(parent.node);
    const ptrdiff_t pushed = ptrdiff_t(pending_.size());
    for (const Child& c : children_) {
      const uint32_t index = state_.child(parent.node, c.function);
      CallNode& node = state_.tree.nodes[index];
      add_self(index, c);
      if (!c.node) continue;
      node.has_tail_calls |= c.node->is_tail_call;
      add_up(node.calls, c.node->calls);
      node.has_doubtful_calls |= c.has_doubtful_calls;
      node.has_doubtful_self |= c.node->has_impossible_time;
      add_waiting(node, *c.node);
      state_.probe[index].add(c.inside);
      state_.probe[parent.node].add(c.outside);
      state_.inside[index].add(c.inside);
      state_.pairs[index].add(c.pairs);
      if (c.node->child_count != 0 || c.node->children != RecordedNode::Children::whole || has_others(*c.node)) {
        pending_.push_back({c.node, index, c.inclusive});
      } else {
        add_cycles(index, c.inclusive);
      }
    }
    std::reverse(pending_.begin() + pushed, pending_.end());
  }

  State& state_;
  Resolver& resolver_;
  const ClockScale scale_;
  const ProbeCost probe_;
  const bool is_estimated_, is_sampled_;
  ScaledCycles period_;  // what a sample stands for
  uint32_t libraries_ = 0, kernel_ = 0;
  std::vector<Pending> pending_;  // whose children are to be added, the next one last
  std::vector<Child> children_;   // of the parent that is being filled
  TreeFaults faults_;
};

TreeFaults TreeBuilder::add(const Profile& profile, Resolver& resolver, ClockScale scale) {
  size_t nodes = state_->tree.nodes.size();
  for (const Thread& thread : profile.threads()) nodes += thread.nodes.size();
  state_->tree.nodes.reserve(nodes);
  state_->is_folded = state_->is_folded || profile.folded() > 0;
  Overlay overlay(*state_, profile, resolver, scale);
  for (const Thread& thread : profile.threads()) overlay.add(thread);
  return overlay.faults();
}

Tree TreeBuilder::finish(bool subtract_probe) {
  if (subtract_probe && state_->is_folded) state_->lower_folded_cost();
  Tree tree = std::move(state_->tree);
  std::vector<UncertainCost> below(tree.nodes.size());  // of the calls in each node's subtree but its own
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    CallNode& node = tree.nodes[i];
    const double measured = state_->self[i].count;
    node.self = whole(measured);
    node.self_range = {double(node.self), double(node.self)};
    if (subtract_probe) {
      node.self_probe = std::min(node.self, whole(std::max(state_->probe[i].likely, 0.0) + 0.5));
      node.self -= node.self_probe;
      node.self_range = range_of(measured, state_->probe[i], double(node.self));
    }
    node.total += node.self;
    node.total_probe += node.self_probe;
    UncertainCost all = below[i];
    all.add(state_->inside[i]);
    node.total_range = {double(node.total), double(node.total)};
    if (subtract_probe) node.total_range = range_of(double(node.total + node.total_probe), all, double(node.total));
    node.total_waiting += node.self_waiting;
    node.total_preempted += node.self_preempted;
    node.has_doubtful_total |= node.has_doubtful_self;
    if (i == 0) break;
    CallNode& parent = tree.nodes[node.parent];
    if (state_->is_sampled) parent.total_variance += node.total_variance;
    parent.has_doubtful_total |= node.has_doubtful_total;
    parent.total += node.total;
    parent.total_probe += node.total_probe;
    parent.total_waiting += node.total_waiting;
    parent.total_preempted += node.total_preempted;
    below[node.parent].add(below[i]);
    below[node.parent].add(state_->pairs[i]);
  }
  return tree;
}

std::vector<FunctionSum> sum_functions(const Tree& tree, size_t functions) {
  std::vector<FunctionSum> sums(functions);
  std::vector<uint32_t> open(functions);  // how many calls of the function the walk is inside of
  const std::vector<CallNode>& nodes = tree.nodes;
  auto enter = [&](uint32_t node, uint32_t) {
    FunctionSum& sum = sums[nodes[node].function];
    add_self(sum, nodes[node]);
    if (open[nodes[node].function]++ == 0) add_total(sum, nodes[node]);
  };
  walk(tree, enter, [&](uint32_t node) { --open[nodes[node].function]; });
  return sums;
}

}  // namespace prof
