#include "flow_graph.h"

#include <algorithm>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/unwind/lsda.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

namespace {

struct Found {
  OldAddr at;
  bool split;
};

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program) {}

  // An address that control may come to.
  void arrive(OldAddr at, std::vector<Found>& out) const {
    const ptrdiff_t r = program_.range_of(at);
    if (r < 0) return;
    const Code& code = program_.code(program_.ranges[size_t(r)]);
    if (code.insns.empty()) return;
    const OldAddr start = code.address(code.insns[code.covering(at)]);
    out.push_back({start, false});
    if (start != at) out.push_back({start, true});
  }

  // By the branches and calls of a group.
  void branches_of(uint32_t own, std::vector<Found>& out) const {
    for (const Code& code : program_.groups[own].code.parts) {
      for (const Insn& insn : code.insns) {
        const bool is_call = insn.flow == Flow::call;
        if (!is_call && insn.flow != Flow::jump && insn.flow != Flow::jump_if && insn.flow != Flow::jump_if_short)
          continue;
        const OldAddr target = code.target(insn);
        const ptrdiff_t r = program_.range_of(target);
        if (r < 0) continue;
        if (is_call || program_.ranges[size_t(r)].group != own) {
          arrive(target, out);
        } else {
          const Code& part = program_.code(program_.ranges[size_t(r)]);
          if (part.insns.empty()) continue;
          const OldAddr start = part.address(part.insns[part.covering(target)]);
          if (start != target) out.push_back({start, true});
        }
      }
    }
  }

  void labels_of(const Group& group, std::vector<Found>& out) const {
    for (const LabelUse& use : group.indirect.label_uses) arrive(use.label, out);
    for (const OldAddr label : group.indirect.label_arrivals) arrive(label, out);
    for (const OldAddr word : group.indirect.label_words)
      if (const auto bytes = program_.image->bytes(word, sizeof(uint64_t)))
        arrive(OldAddr(Reader(*bytes, "data").u64()), out);
  }

  // A damaged table has been a reason to stay.
  void landing_pads_of(const Fde& fde, std::vector<Found>& out) const {
    if (fde.lsda == OldAddr()) return;
    const std::optional<Lsda> lsda = read_lsda(*program_.image, *program_.frames, fde);
    if (!lsda) return;
    for (const CallSite& site : lsda->call_sites)
      if (site.landing_pad != OldAddr()) arrive(site.landing_pad, out);
  }

 private:
  const Program& program_;
};

}  // namespace

bool may_insert_before(const Code& code, const Insn& insn, const Arrivals& arrivals) {
  return !starts_with_endbr64(code.bytes_of(insn)) && !arrivals.is_split(code.address(insn));
}

Arrivals find_arrivals(const Program& program, const std::vector<OldAddr>& old_entries) {
  const Finder finder(program);
  std::vector<Found> found = parallel_collect<Found>(program.groups.size(), [&](size_t g, std::vector<Found>& out) {
    finder.branches_of(uint32_t(g), out);
    finder.labels_of(program.groups[g], out);
  });
  const std::vector<Fde>& fdes = program.frames->fdes;
  const std::vector<Found> pads = parallel_collect<Found>(
      fdes.size(), [&](size_t i, std::vector<Found>& out) { finder.landing_pads_of(fdes[i], out); });
  found.insert(found.end(), pads.begin(), pads.end());
  for (const OldAddr entry : old_entries) finder.arrive(entry, found);
  for (const Relocation& r : program.image->relocations())
    if ((r.type == R_X86_64_RELATIVE || r.type == R_X86_64_IRELATIVE) && !program.frame_tables.has(r.where))
      finder.arrive(OldAddr(uint64_t(r.addend)), found);
  for (const auto& [word, target] : program.apparent_pointers) finder.arrive(target, found);

  Arrivals arrivals;
  for (const Found& f : found) (f.split ? arrivals.split : arrivals.entered).push_back(f.at);
  for (std::vector<OldAddr>* all : {&arrivals.entered, &arrivals.split}) {
    parallel_sort(*all);
    all->erase(std::unique(all->begin(), all->end()), all->end());
  }
  return arrivals;
}

namespace {

bool is_direct_branch(Flow flow) { return flow == Flow::jump || flow == Flow::jump_if || flow == Flow::jump_if_short; }

bool enters_kernel(const Code& code, const Insn& insn) {
  const CachedInsn* cached = DecodeCache::of_this_thread().find(code.bytes_of(insn));
  return !cached || cached->enters_kernel();
}

bool ends_block(const Code& code, const Insn& insn) { return insn.flow != Flow::next || enters_kernel(code, insn); }

}  // namespace

FlowGraph::FlowGraph(const Program& program, const Group& group, const Arrivals& arrivals)
    : program_(program), group_(group), code_(group.code), arrivals_(arrivals) {
  find_leaders();
  cut();
  connect();
}

bool FlowGraph::is_own(OldAddr at) const {
  const ptrdiff_t r = program_.range_of(at);
  return r >= 0 && &program_.groups[program_.ranges[size_t(r)].group] == &group_;
}

void FlowGraph::lead(OldAddr at) {
  if (!is_own(at)) return;
  const uint32_t part = program_.ranges[size_t(program_.range_of(at))].part;
  const Code& code = code_.parts[part];
  if (!code.insns.empty()) leaders_[part][code.covering(at)] = true;
}

void FlowGraph::find_leaders() {
  for (const Code& code : code_.parts) leaders_.emplace_back(code.insns.size());
  for (size_t p = 0; p < code_.parts.size(); ++p) {
    const Code& code = code_.parts[p];
    if (code.insns.empty()) continue;
    leaders_[p][0] = true;
    for (size_t i = 0; i < code.insns.size(); ++i) {
      const Insn& insn = code.insns[i];
      if (ends_block(code, insn) && i + 1 < code.insns.size()) leaders_[p][i + 1] = true;
      if (is_direct_branch(insn.flow)) lead(code.target(insn));
    }
    const auto end = std::ranges::lower_bound(arrivals_.entered, code.range.end);
    for (auto a = std::ranges::lower_bound(arrivals_.entered, code.range.start); a != end; ++a) lead(*a);
  }
  for (const JumpTable& table : group_.indirect.tables)
    for (const OldAddr target : table.targets) lead(target);
}

void FlowGraph::cut() {
  for (uint32_t p = 0; p < code_.parts.size(); ++p) {
    const Code& code = code_.parts[p];
    const CodeRange& range = program_.ranges[group_.ranges[p]];
    first_block_.push_back(uint32_t(blocks_.size()));
    for (uint32_t i = 0; i < code.insns.size(); ++i) {
      if (leaders_[p][i]) {
        const OldAddr at = code.address(code.insns[i]);
        const bool is_entry = i == 0 && !range.fragment;
        blocks_.push_back({.part = p,
                           .first = i,
                           .end = i,
                           .first_successor = 0,
                           .entered = is_entry || arrivals_.is_entered(at),
                           .leaves = false});
      }
      blocks_.back().end = i + 1;
    }
  }
  first_block_.push_back(uint32_t(blocks_.size()));
}

std::optional<uint32_t> FlowGraph::block_at(OldAddr at) const {
  if (!is_own(at)) return std::nullopt;
  const uint32_t part = program_.ranges[size_t(program_.range_of(at))].part;
  const Code& code = code_.parts[part];
  if (code.insns.empty()) return std::nullopt;
  const uint32_t insn = uint32_t(code.covering(at));
  const auto begin = blocks_.begin() + first_block_[part], end = blocks_.begin() + first_block_[part + 1];
  const auto after = std::upper_bound(begin, end, insn, [](uint32_t i, const BasicBlock& b) { return i < b.first; });
  return uint32_t(after - blocks_.begin() - 1);
}

void FlowGraph::pass_to(OldAddr at, BasicBlock& from) {
  if (const auto to = block_at(at))
    successors_.push_back(*to);
  else
    from.leaves = true;
}

const IndirectJump* FlowGraph::jump_of(const BasicBlock& block) const {
  const InsnRef at{block.part, block.end - 1};
  const auto jump = std::ranges::lower_bound(group_.indirect.jumps, at, {}, &IndirectJump::at);
  return jump != group_.indirect.jumps.end() && jump->at == at ? &*jump : nullptr;
}

const JumpTable* FlowGraph::table_of(const BasicBlock& block) const {
  const IndirectJump* jump = jump_of(block);
  return jump && jump->kind == JumpKind::table ? &group_.indirect.tables[jump->table] : nullptr;
}

void FlowGraph::jump_indirectly(BasicBlock& from) {
  const IndirectJump* jump = jump_of(from);
  const JumpTable* table = table_of(from);
  from.leaves = !table;
  from.to_labels = jump && jump->kind == JumpKind::labels;
  if (!table) return;
  std::vector<OldAddr> targets = table->targets;
  sort_unique(targets);
  // The end of the range stands for what cannot happen.
  for (const OldAddr target : targets)
    if (const auto to = block_at(target)) successors_.push_back(*to);
}

void FlowGraph::connect() {
  for (BasicBlock& b : blocks_) {
    b.first_successor = uint32_t(successors_.size());
    const Code& code = code_.parts[b.part];
    const Insn& last = last_insn(b);
    switch (last.flow) {
      case Flow::next:
        b.leaves = enters_kernel(code, last);
        pass_to(code.next(last), b);
        break;
      case Flow::call:
      case Flow::call_indirect:
        b.leaves = true;
        pass_to(code.next(last), b);
        break;
      case Flow::jump_if:
      case Flow::jump_if_short:
        pass_to(code.next(last), b);
        pass_to(code.target(last), b);
        break;
      case Flow::jump:
        pass_to(code.target(last), b);
        break;
      case Flow::jump_indirect:
        jump_indirectly(b);
        break;
      case Flow::ret:
      case Flow::stop:
        b.leaves = true;
        break;
    }
    if (b.first_successor == successors_.size()) b.leaves = true;
  }
}

// The problem. Counters belong where a program seldom comes, and nobody has run it yet. Where two blocks can be counted
// instead of each other, it matters only which of them runs more often.
//
// The way taken. What comes to a block goes on to the blocks after it, in shares that are guessed; where a loop begins,
// it is taken several times (Wu and Larus 1994, without their solving of equations: once through the graph is enough to
// say which of two blocks is hotter). These are the guesses:
//
//     A loop runs kLoop times, so each way out of it is seldom taken. This also tells a switch in a loop from its
//     cases: each of them runs a part of the times only.
//     What a compiler has put apart, and what does not come back, runs seldom.
//     A compiler lays the way that it thinks likely after a conditional jump, so the jump is less likely; still less if
//     it leads far, and if a call is there and none after the jump (Ball and Larus 1993).
//
// The numbers were chosen by how many increments sixteen programs execute, from bzip2 to cc1plus.
//
// Loops are found by one walk (Wei, Mao, Zou and Chen 2007): where it meets a block that it is in, that is the head of
// a loop, and all that lies between belongs to it. This needs no dominators, and takes code in which control jumps into
// loops, too. A jump to labels may lead wherever control enters the group: all of these jumps go by way of one node
// that is no block.

namespace {

constexpr double kLoop = 8;       // how often a loop is taken to run
constexpr double kJump = 0.75;    // of a jump forward, if going on after it is 1
constexpr double kJumpFar = 0.3;  // of one over more than kNear bytes
constexpr uint64_t kNear = 50;
constexpr double kToCall = 0.5;  // times that
constexpr double kMax = 1e100;   // of what a block is taken to run

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

  // The loops of a block are those of its innermost head, and that one; heads lie on the way of the walk, inner ones
  // deeper.
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
    if (graph_.last_insn(blocks[b]).flow == Flow::jump_if && to > b + 1) {
      const OldAddr after = graph_.range(blocks[b]).end, target = graph_.range(blocks[to]).start;
      share *= target >= after && target - after <= kNear ? kJump : kJumpFar;
      if (ends_with_call(to) && !ends_with_call(b + 1)) share *= kToCall;
    }
    return share;
  }
  bool ends_with_call(uint32_t b) const {
    const Flow last = graph_.last_insn(graph_.blocks()[b]).flow;
    return last == Flow::call || last == Flow::call_indirect;
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
