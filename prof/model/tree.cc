#include "tree.h"

#include <algorithm>
#include <optional>

#include "prof/read/estimate.h"
#include "prof/read/numbers.h"

namespace prof {

namespace {

using RawNode = prof_format::Node;

// Cycles, not negative, as a whole number. Damaged profiles have too many.
uint64_t whole(double cycles) { return uint64_t(std::min(cycles, 0x1p62)); }

// Damaged counts may be as great as they can be.
void add_calls(uint64_t& sum, uint64_t calls) {
  if (__builtin_add_overflow(sum, calls, &sum)) sum = UINT64_MAX;
}

}  // namespace

struct TreeBuilder::State {
  Tree tree;
  std::vector<uint32_t> last_child;
  std::vector<double> probe;    // cycles of probe cost in the self time of each node
  std::vector<double> outside;  // cycles of probe cost that the calls of each node brought upon its parent
  bool is_folded = false;       // some calls were made by others than the node's parent

  // Which child of the parent that is being filled a function is. A mark of an earlier parent is void.
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
    probe.push_back(0);
    outside.push_back(0);
    return index;
  }

  // Moves cost of folded calls from nodes that have no time for it to the nodes that were called.
  void lower_folded_cost() {
    const std::vector<CallNode>& nodes = tree.nodes;
    for (size_t i = 1; i < nodes.size(); i++) {
      const double missing = probe[i] - double(nodes[i].self);
      if (missing <= 0) continue;
      double all = 0;
      for (uint32_t c = nodes[i].first_child; c != 0; c = nodes[c].next_sibling) all += outside[c];
      if (all <= 0) continue;
      const double part = std::min(missing / all, 1.0);
      for (uint32_t c = nodes[i].first_child; c != 0; c = nodes[c].next_sibling) probe[c] += part * outside[c];
      probe[i] -= part * all;
    }
  }

  // To be called before the children of a parent are asked for.
  void begin_children(uint32_t parent) {
    parent_number++;
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

std::string TreeBuilder::add(const Profile& profile, Resolver& resolver, double scale, uint64_t& impossible_times) {
  State& s = *state_;
  const prof_format::Header& header = profile.header();
  const double inside = double(header.probe_inside) / 256 * scale, outside = double(header.probe_outside) / 256 * scale;
  const double counted = double(header.probe_counted) / 256 * scale;
  const bool is_estimated = header.type == prof_format::kAdaptive;
  s.is_folded = s.is_folded || header.folded_nodes > 0;
  s.tree.nodes.reserve(s.tree.nodes.size() + std::min<size_t>(profile.blocks(), header.nodes));

  // Nodes are far apart in memory, so each is looked at once and what is needed of it kept.
  struct Child {
    Block block, first_child;
    uint64_t pc, calls;
    double self, inclusive;  // cycles; one is known, and the other 0
    double variance;
    double outside;  // cycles of probe cost for the caller
    bool has_doubtful_calls, has_doubtful_self;
  };
  struct Pending {
    Block block, first_child;
    uint32_t node;
    double inclusive;
  };
  std::vector<Pending> pending;
  std::vector<Child> children;
  std::vector<bool> seen(profile.blocks());
  uint64_t broken_links = 0, impossible_counts = 0;

  for (const Thread& thread : profile.threads()) {
    const RawNode* root = profile.node(thread.root);
    if (!root || seen[thread.root]) {
      broken_links++;
      continue;
    }
    const NumberReader numbers(profile, thread);
    std::optional<Estimator> estimator;
    if (is_estimated) estimator.emplace(profile, thread);
    auto self_of = [&](Block b, const RawNode& node) {
      SelfTime self = numbers.self(b, node.cycles);
      self.is_possible = self.is_possible && !profile.has_impossible_time(b);
      impossible_times += !self.is_possible;
      return self;
    };
    seen[thread.root] = true;
    if (!estimator) {
      const SelfTime self = self_of(thread.root, *root);
      s.tree.nodes[0].self += whole(double(self.cycles) * scale);
      s.tree.nodes[0].has_doubtful_self |= !self.is_possible;
    }
    pending.push_back({thread.root, root->child, 0, estimator ? estimator->whole() * scale : 0});
    while (!pending.empty()) {
      const Pending parent = pending.back();
      pending.pop_back();
      children.clear();
      for (Block b = parent.first_child; b != 0;) {
        const RawNode* child = profile.node(b);
        if (!child || seen[b] || child->parent != parent.block) {
          broken_links++;
          break;
        }
        seen[b] = true;
        const bool is_possible = is_possible_count(child->count);
        impossible_counts += !is_possible;
        // No cost is subtracted for calls that cannot be.
        const double calls = is_possible ? double(child->count) : 0;
        Child c = {b, child->child, child->pc, child->count, 0, 0, 0, outside * calls, !is_possible, false};
        if (estimator) {
          const Estimate e = estimator->inclusive(b, *child);
          const double timed = std::min(estimator->timed(*child), calls);
          c.inclusive = std::max(e.cycles * scale - inside * calls, 0.0);
          c.variance = e.variance * scale * scale;
          c.outside = (inside + outside) * timed + counted * (calls - timed);
        } else {
          const SelfTime self = self_of(b, *child);
          c.self = double(self.cycles) * scale;
          c.has_doubtful_self = !self.is_possible;
        }
        children.push_back(c);
        b = child->sibling;
      }
      if (estimator) {
        double all = 0, rest = parent.inclusive;
        for (const Child& c : children) all += c.inclusive + c.outside;
        const double part = all > rest ? rest / all : 1;
        for (Child& c : children) {
          c.inclusive *= part;
          c.outside *= part;
          rest -= c.inclusive;
          s.tree.nodes[parent.node].self_variance += c.variance;
        }
        s.tree.nodes[parent.node].self += whole(std::max(rest, 0.0));
      }
      if (children.empty()) continue;
      // Order of first call.
      std::sort(children.begin(), children.end(), [](const Child& a, const Child& b) { return a.block < b.block; });
      s.begin_children(parent.node);
      const ptrdiff_t pushed = ptrdiff_t(pending.size());
      for (const Child& c : children) {
        const uint32_t index = s.child(parent.node, resolver.find(c.pc));
        CallNode& node = s.tree.nodes[index];
        add_calls(node.calls, c.calls);
        node.has_doubtful_calls |= c.has_doubtful_calls;
        node.has_doubtful_self |= c.has_doubtful_self;
        node.self += whole(c.self);
        node.self_variance += c.variance;
        node.total_variance += c.variance;
        if (!estimator) s.probe[index] += c.has_doubtful_calls ? 0 : inside * double(c.calls);
        s.probe[parent.node] += c.outside;
        s.outside[index] += c.outside;
        if (c.first_child) {
          pending.push_back({c.block, c.first_child, index, c.inclusive});
        } else {
          node.self += whole(c.inclusive);
        }
      }
      std::reverse(pending.begin() + pushed, pending.end());
    }
  }

  std::string damage;
  if (broken_links)
    damage = std::to_string(broken_links) + " of the links in its tree are broken, the calls behind them are missing";
  if (impossible_counts)
    damage += (damage.empty() ? "" : "; ") + std::to_string(impossible_counts) +
              " of its counts are greater than any can be, and shown with ?";
  return damage;
}

Tree TreeBuilder::finish(bool subtract_probe, uint64_t& overdrawn) {
  if (subtract_probe && state_->is_folded) state_->lower_folded_cost();
  Tree tree = std::move(state_->tree);
  std::vector<double>& probe = state_->probe;
  overdrawn = 0;
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    CallNode& node = tree.nodes[i];
    const uint64_t measured = node.self;
    if (subtract_probe) {
      const double rest = double(node.self) - probe[i];
      if (rest >= 0) {
        node.self -= std::min(node.self, uint64_t(probe[i] + 0.5));
      } else {
        node.self = 0;
        if (i != 0)
          probe[node.parent] -= rest;
        else
          overdrawn = uint64_t(std::min(-rest, 1e18));
      }
    }
    node.self_probe = measured - node.self;
    node.total += node.self;
    node.total_probe += node.self_probe;
    node.has_doubtful_total |= node.has_doubtful_self;
    if (i == 0) break;
    tree.nodes[node.parent].has_doubtful_total |= node.has_doubtful_total;
    tree.nodes[node.parent].total += node.total;
    tree.nodes[node.parent].total_probe += node.total_probe;
  }
  return tree;
}

std::vector<FunctionSum> sum_functions(const Tree& tree, size_t functions) {
  std::vector<FunctionSum> sums(functions);
  std::vector<uint32_t> open(functions);  // how many calls of the function the walk is inside of
  const std::vector<CallNode>& nodes = tree.nodes;
  uint32_t at = nodes[0].first_child;
  while (at != 0) {
    const CallNode& node = nodes[at];
    FunctionSum& sum = sums[node.function];
    add_calls(sum.calls, node.calls);
    sum.has_doubtful_calls |= node.has_doubtful_calls;
    sum.has_doubtful_self |= node.has_doubtful_self;
    sum.self += node.self;
    sum.self_probe += node.self_probe;
    sum.self_variance += node.self_variance;
    if (open[node.function]++ == 0) {
      sum.total += node.total;
      sum.total_probe += node.total_probe;
      sum.total_variance += node.total_variance;
      sum.has_doubtful_total |= node.has_doubtful_total;
    }
    if (node.first_child) {
      at = node.first_child;
      continue;
    }
    // Leave every subtree that ends here.
    for (;;) {
      open[nodes[at].function]--;
      if (nodes[at].next_sibling) {
        at = nodes[at].next_sibling;
        break;
      }
      at = nodes[at].parent;
      if (at == 0) break;
    }
  }
  return sums;
}

}  // namespace prof
