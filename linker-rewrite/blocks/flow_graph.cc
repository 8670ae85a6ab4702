#include "flow_graph.h"

#include "linker-rewrite/x86/decode_cache.h"

namespace profld {

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
  const auto behind = std::upper_bound(begin, end, insn, [](uint32_t i, const BasicBlock& b) { return i < b.first; });
  return uint32_t(behind - blocks_.begin() - 1);
}

void FlowGraph::pass_to(OldAddr at, BasicBlock& from) {
  if (const auto to = block_at(at))
    successors_.push_back(*to);
  else
    from.leaves = true;
}

void FlowGraph::jump_indirectly(BasicBlock& from) {
  from.leaves = true;
  const InsnRef at{from.part, from.end - 1};
  const auto jump = std::ranges::lower_bound(group_.indirect.jumps, at, {}, &IndirectJump::at);
  if (jump == group_.indirect.jumps.end() || jump->at != at) return;
  from.to_labels = jump->kind == JumpKind::labels;
  if (jump->kind != JumpKind::table) return;
  from.leaves = false;
  std::vector<OldAddr> targets = group_.indirect.tables[jump->table].targets;
  std::ranges::sort(targets);
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
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

}  // namespace profld
