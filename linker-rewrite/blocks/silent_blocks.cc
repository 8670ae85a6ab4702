// The problem. A record costs some eight cycles, as long as each takes its place from the one before, and that is more
// than most blocks take. So as few blocks as possible are to write one, and those that seldom run; and a reader still
// has to know each block that ran, in order.
//
// What is enough. Ball and Larus (1994) show it: if from each block no two ways without a record lead to the same
// block, then a record and the next one tell which way control took between them. (In "if (c) A; B" with records in A
// and B, B after A says one thing, and B after what stands before the condition another.) Seen from a block, what can
// be reached without a record is then a tree, whose leaves are the records that may come next. Each branch parts its
// leaves.
//
// The way taken. At first all blocks have records, and so have some of the ways on from a conditional jump. The dearest
// one after the other becomes silent, if all trees stay trees.
//
// Signals. A handler may come between any two blocks, and its records then stand between two of the function that it
// came to. So a reader keeps what was interrupted (prof/instructions/trace/blocks.h). It has to know a handler's first
// record as such, and the first one after a call, too, without knowing what happened before: a call may never return,
// or return twice (longjmp). Therefore, where control comes from OUTSIDE, at the entry of the function, after a call,
// or where an unwinder leads, the next record is one that tells by itself all that ran since: between the two, no ways
// meet. And before such a place no block is silent, or what ran before it would depend on whether control came from
// outside.
//
// Such a place may also be what comes next in a tree. If its record is there, a reader cannot tell whether the tree
// goes on, or code inside a handler came from outside. Nothing may depend on that. So then no other record of that tree
// depends on where it begins, and records that the tree shares with other trees are taken for ones from outside, too.
//
// With memory, a block that becomes silent has to leave its values in registers for the next records: a judge says
// whether it does (memory_records.cc).
//
// What is told is lost, though, if nothing follows: when the program is killed, or a handler leaves by siglongjmp, the
// blocks after the last record are not in the trace.

#include "silent_blocks.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "libprof/format/trace.h"

namespace profld {

namespace {

static_assert(2 * TreeLimits().silent <= prof_format::kMaxBlocksBefore);

std::vector<uint32_t> way_in(const std::vector<RecordNode>& nodes, const std::vector<bool>& silent,
                             const std::vector<std::vector<uint32_t>>& leaves, uint32_t from, uint32_t to) {
  std::vector<uint32_t> way;
  while (std::ranges::find(nodes[from].next, to) == nodes[from].next.end()) {
    from = *std::ranges::find_if(nodes[from].next,
                                 [&](uint32_t n) { return silent[n] && std::ranges::binary_search(leaves[n], to); });
    way.push_back(from);
  }
  return way;
}

class Choice {
 public:
  Choice(const std::vector<RecordNode>& nodes, TreeLimits limits, SilenceJudge* judge)
      : nodes_(nodes),
        limits_(limits),
        judge_(judge),
        before_(nodes.size()),
        leaves_(nodes.size()),
        silent_(nodes.size()),
        is_fresh_(nodes.size()),
        leads_outside_(nodes.size()),
        seen_(nodes.size()) {
    for (uint32_t n = 0; n < nodes.size(); ++n) {
      leaves_[n] = nodes[n].next;
      std::ranges::sort(leaves_[n]);
      if (nodes[n].is_entered) is_fresh_[n] = true;
      for (const uint32_t to : nodes[n].next) {
        before_[to].push_back(n);
        if (nodes[n].leaves) is_fresh_[to] = true;
      }
    }
    find_fresh();
  }

  std::optional<SilentNodes> choose() {
    std::vector<uint32_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t n) { return nodes_[n].cost; });
    for (const uint32_t n : order) {
      if (silence(n)) continue;
      if (nodes_[n].cost == RecordNode::kNoPlace) return std::nullopt;
    }
    return told();
  }

 private:
  void find_fresh() {
    std::vector<uint32_t> fresh;
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      if (before_[n].empty()) is_fresh_[n] = true;  // control comes there from somewhere
      if (is_fresh_[n]) fresh.push_back(n);
    }
    while (!fresh.empty()) {
      const uint32_t n = fresh.back();
      fresh.pop_back();
      for (const uint32_t b : before_[n]) {
        leads_outside_[b] = true;
        for (const uint32_t to : nodes_[b].next)
          if (has_several_before(to) && !is_fresh_[to]) {
            is_fresh_[to] = true;
            fresh.push_back(to);
          }
      }
    }
  }

  bool has_several_before(uint32_t n) const { return before_[n].size() > 1; }

  // Whether some tree that the node is a leaf of must not have places where ways meet.
  bool is_without_meeting(uint32_t n, const std::vector<uint32_t>& above) const {
    return is_fresh_[n] ||
           std::ranges::any_of(above, [&](uint32_t a) { return silent_[a] ? is_fresh_[a] : leads_outside_[a]; });
  }

  // The blocks whose trees the node is a leaf of, those that are silent and the others. False: too many.
  bool find_above(uint32_t n, std::vector<uint32_t>& above) {
    ++mark_;
    above.clear();
    size_t silent = 0;
    const auto add = [&](uint32_t to) {
      for (const uint32_t b : before_[to]) {
        if (seen_[b] == mark_) continue;
        seen_[b] = mark_;
        above.push_back(b);
        silent += silent_[b];
      }
    };
    add(n);
    for (size_t i = 0; i < above.size() && silent < limits_.silent; ++i)
      if (silent_[above[i]]) add(above[i]);
    return silent < limits_.silent;
  }

  // What comes after the node, up to the next records. False: too much.
  bool find_below(uint32_t n, std::vector<uint32_t>& below) const {
    below.clear();
    size_t silent = 0;
    const auto add = [&](uint32_t from) {
      for (const uint32_t to : nodes_[from].next) {
        below.push_back(to);
        silent += silent_[to];
      }
    };
    add(n);
    for (size_t i = 0; i < below.size() && silent < limits_.silent; ++i)
      if (silent_[below[i]]) add(below[i]);
    return silent < limits_.silent;
  }

  bool is_leaf(uint32_t n, uint32_t of) const { return std::ranges::binary_search(leaves_[of], n); }

  bool silence(uint32_t n) {
    const RecordNode& node = nodes_[n];
    if (node.leaves || node.next.empty() || is_leaf(n, n)) return false;
    if (leads_outside_[n]) return node.is_way && silence_way_outside(n);
    if (!find_above(n, above_) || !find_below(n, below_)) return false;
    if (is_without_meeting(n, above_) && std::ranges::any_of(below_, [&](uint32_t b) { return has_several_before(b); }))
      return false;
    for (const uint32_t a : above_) {
      if (leaves_[n].size() > 1 && leaves_[a].size() + leaves_[n].size() > limits_.leaves) return false;
      if (std::ranges::any_of(leaves_[n], [&](uint32_t leaf) { return is_leaf(leaf, a); })) return false;
    }
    if (judge_ && !judge_->accepts(n, newly_told(n))) return false;
    make_silent(n);
    return true;
  }

  // What records after the node are to tell, if it is silent.
  std::vector<SilenceJudge::Told> newly_told(uint32_t n) const {
    std::vector<SilenceJudge::Told> told;
    for (const uint32_t leaf : leaves_[n]) {
      const std::vector<uint32_t> after = way(n, leaf);
      told.push_back({n, leaf, after});
      for (const uint32_t a : above_) {
        if (!silent_[a]) continue;
        told.push_back({a, leaf, way(a, n)});
        told.back().way.push_back(n);
        told.back().way.insert(told.back().way.end(), after.begin(), after.end());
      }
    }
    return told;
  }

  std::vector<uint32_t> way(uint32_t from, uint32_t to) const { return way_in(nodes_, silent_, leaves_, from, to); }

  // A way to a place where control comes from outside as well: then it is as if the block before it led there.
  bool silence_way_outside(uint32_t n) {
    const uint32_t b = before_[n][0];
    if (silent_[b] || is_leaf(nodes_[n].next[0], b) || !find_below(b, below_)) return false;
    if (std::ranges::any_of(below_, [&](uint32_t to) { return has_several_before(to); })) return false;
    leads_outside_[b] = true;
    above_ = {b};
    make_silent(n);
    return true;
  }

  // `above_`: as find_above has it.
  void make_silent(uint32_t n) {
    silent_[n] = true;
    for (const uint32_t a : above_) {
      std::vector<uint32_t>& leaves = leaves_[a];
      leaves.erase(std::ranges::lower_bound(leaves, n));
      const auto middle = leaves.insert(leaves.end(), leaves_[n].begin(), leaves_[n].end());
      std::inplace_merge(leaves.begin(), middle, leaves.end());
    }
  }

  // Blocks that are before a node, those before ways too.
  std::vector<uint32_t> blocks_before(uint32_t n) const {
    std::vector<uint32_t> blocks;
    for (const uint32_t b : before_[n]) blocks.push_back(nodes_[b].is_way && silent_[b] ? before_[b][0] : b);
    return blocks;
  }

  SilentNodes told() const {
    const uint32_t count = uint32_t(nodes_.size());
    SilentNodes told{silent_, std::vector<uint32_t>(count, SilentNodes::kNone), std::vector<bool>(count),
                     std::vector<bool>(count)};
    std::vector<bool> meets(count);
    for (uint32_t n = 0; n < count; ++n) {
      const std::vector<uint32_t> blocks = blocks_before(n);
      if (is_fresh_[n] || std::ranges::none_of(blocks, [&](uint32_t b) { return silent_[b]; })) continue;
      if (blocks.size() == 1)
        told.before[n] = blocks[0];
      else
        meets[n] = true;
    }
    for (uint32_t n = 0; n < count; ++n) {
      uint32_t first = n;  // silent blocks make no circle
      while (told.before[first] != SilentNodes::kNone) first = told.before[first];
      told.by_ways[n] = meets[first];
      told.from_outside[n] = is_fresh_[first];
    }
    for (uint32_t n = 0; n < count; ++n)
      if (told.by_ways[n]) told.before[n] = SilentNodes::kNone;
    told.leaves = leaves_;
    return told;
  }

  const std::vector<RecordNode>& nodes_;
  const TreeLimits limits_;
  SilenceJudge* const judge_;
  // By node:
  std::vector<std::vector<uint32_t>> before_;  // those before it
  std::vector<std::vector<uint32_t>> leaves_;  // the records that may come next after it, ascending
  std::vector<bool> silent_;
  std::vector<bool> is_fresh_;       // control comes there from outside
  std::vector<bool> leads_outside_;  // it is right before such a place
  std::vector<uint32_t> seen_;       // mark_: it was seen in the walk of now
  uint32_t mark_ = 0;
  std::vector<uint32_t> above_, below_;
};

}  // namespace

std::optional<SilentNodes> choose_silent(const std::vector<RecordNode>& nodes, TreeLimits limits, SilenceJudge* judge) {
  return Choice(nodes, limits, judge).choose();
}

std::vector<uint32_t> silent_way(const std::vector<RecordNode>& nodes, const SilentNodes& told, uint32_t from,
                                 uint32_t to) {
  return way_in(nodes, told.silent, told.leaves, from, to);
}

}  // namespace profld
