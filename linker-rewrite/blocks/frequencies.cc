// The problem. Counters belong where a program seldom comes, and nobody has run it yet. Where two blocks can be counted
// instead of each other, it matters only which of them runs more often.
//
// The way taken. What comes to a block goes on to the blocks after it, in shares that are guessed; where a loop begins, it
// is taken several times (Wu and Larus 1994, without their solving of equations: once through the graph is enough to say
// which of two blocks is hotter). These are the guesses:
//
//     A loop runs kLoop times, so each way out of it is seldom taken. This also tells a switch in a loop from its cases:
//     each of them runs a part of the times only.
//     What a compiler has put apart, and what does not come back, runs seldom.
//     A compiler lays the way that it thinks likely after a conditional jump, so the jump is less likely.
//
// Loops are found by one walk (Wei, Mao, Zou and Chen 2007): where it meets a block that it is in, that is the head of a
// loop, and all that lies between belongs to it. This needs no dominators, and takes code in which control jumps into
// loops, too. A jump to labels may lead wherever control enters the group: all of these jumps go by way of one node that
// is no block.

#include "frequencies.h"

#include <algorithm>

namespace profld {

namespace {

constexpr double kLoop = 8;     // how often a loop is taken to run
constexpr double kJump = 0.5;   // of a jump forward, if going on after it is 1
constexpr double kMax = 1e100;  // of what a block is taken to run

class Guess {
 public:
  Guess(const FlowGraph& graph, const std::vector<bool>& ends)
      : graph_(graph),
        ends_(ends),
        labels_(uint32_t(graph.blocks().size())),
        head_of_(labels_ + 1, kNone),
        is_head_(labels_ + 1),
        depth_(labels_ + 1),
        is_seen_(labels_ + 1),
        order_of_(labels_ + 1) {
    for (uint32_t b = 0; b < labels_; ++b)
      if (graph.blocks()[b].entered) entered_.push_back(b);
  }

  Frequencies frequencies() {
    for (const uint32_t b : entered_) walk(b);
    for (uint32_t b = 0; b < labels_; ++b) walk(b);
    std::ranges::reverse(order_);
    for (uint32_t i = 0; i < order_.size(); ++i) order_of_[order_[i]] = i;
    flow();
    frequency_.resize(labels_);
    ways_.resize(labels_);
    return {std::move(frequency_), std::move(ways_)};
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  std::span<const uint32_t> successors(uint32_t b) const {
    if (b == labels_) return entered_;
    return graph_.blocks()[b].to_labels ? std::span(&labels_, 1) : graph_.successors(b);
  }

  // Visits all that can be reached. `depth_` is that of a block on the way from the start to where the walk is, else 0.
  void walk(uint32_t start) {
    struct Step {
      uint32_t block;
      uint32_t next = 0;  // of its successors
    };
    if (is_seen_[start]) return;
    std::vector<Step> steps;
    const auto enter = [&](uint32_t b) {
      steps.push_back({b});
      is_seen_[b] = true;
      depth_[b] = uint32_t(steps.size());
    };
    enter(start);
    while (!steps.empty()) {
      Step& step = steps.back();
      const uint32_t b = step.block;
      if (step.next == successors(b).size()) {
        steps.pop_back();
        depth_[b] = 0;
        order_.push_back(b);
        if (!steps.empty()) put_into_loop(steps.back().block, head_of_[b]);
        continue;
      }
      const uint32_t to = successors(b)[step.next++];
      if (!is_seen_[to])
        enter(to);
      else
        meet(b, to);
    }
  }

  // Control goes from `b`, where the walk is, to a block that was seen.
  void meet(uint32_t b, uint32_t to) {
    if (depth_[to] != 0) {
      is_head_[to] = true;
      put_into_loop(b, to);
      return;
    }
    uint32_t head = head_of_[to];
    while (head != kNone && depth_[head] == 0) head = head_of_[head];  // loops that are entered in the middle
    put_into_loop(b, head);
  }

  // The loops of a block are those of its innermost head, and that one; heads lie on the way of the walk, inner ones deeper.
  void put_into_loop(uint32_t b, uint32_t head) {
    if (b == head || head == kNone) return;
    while (head_of_[b] != kNone) {
      const uint32_t own = head_of_[b];
      if (own == head) return;
      if (depth_[own] < depth_[head]) {
        head_of_[b] = head;
        b = head;
        head = own;
      } else {
        b = own;
      }
      if (b == head) return;
    }
    head_of_[b] = head;
  }

  bool is_in_loop(uint32_t b, uint32_t head) const {
    while (b != head && b != kNone) b = head_of_[b];
    return b == head;
  }

  // How likely control goes on from a block to a successor, beside the others.
  double share(uint32_t b, uint32_t to) const {
    if (b == labels_ || to == labels_) return 1;
    const std::vector<BasicBlock>& blocks = graph_.blocks();
    double share = 1;
    const uint32_t loop = is_head_[b] ? b : head_of_[b];
    if (loop != kNone && !is_in_loop(to, loop)) share /= kLoop;
    if (ends_[to] || (blocks[to].part != 0 && blocks[b].part == 0)) share *= kSeldom;
    if (graph_.last_insn(blocks[b]).flow == Flow::jump_if && to > b + 1) share *= kJump;
    return share;
  }

  double begin(uint32_t b) const {
    if (b == labels_) return 0;
    const BasicBlock& block = graph_.blocks()[b];
    return block.entered && block.first == 0 && block.part == 0 ? 1 : kSeldom;
  }

  void flow() {
    frequency_.resize(order_of_.size());
    ways_.resize(order_of_.size());
    for (const uint32_t b : order_) {
      double& own = frequency_[b];
      own = std::min((own + (own == 0 ? begin(b) : 0)) * (is_head_[b] ? kLoop : 1), kMax);
      double all = 0;
      for (const uint32_t to : successors(b)) all += share(b, to);
      const bool is_to_labels = b == labels_ || graph_.blocks()[b].to_labels;
      for (const uint32_t to : successors(b)) {
        const double way = own * share(b, to) / all;
        if (!is_to_labels) ways_[b].push_back(way);
        if (order_of_[to] > order_of_[b]) frequency_[to] += way;
      }
    }
  }

  const FlowGraph& graph_;
  const std::vector<bool>& ends_;
  const uint32_t labels_;  // the node between jumps to labels and where they lead
  std::vector<uint32_t> entered_;
  // By node:
  std::vector<uint32_t> head_of_;  // of the innermost loop that it is in, and not the head of
  std::vector<bool> is_head_;
  std::vector<uint32_t> depth_;
  std::vector<bool> is_seen_;
  std::vector<uint32_t> order_of_;  // where it is in order_
  std::vector<double> frequency_;
  std::vector<std::vector<double>> ways_;

  std::vector<uint32_t> order_;  // blocks, each before those that control goes on to, but for jumps back
};

}  // namespace

Frequencies guess_frequencies(const FlowGraph& graph, const std::vector<bool>& ends) {
  return Guess(graph, ends).frequencies();
}

}  // namespace profld
