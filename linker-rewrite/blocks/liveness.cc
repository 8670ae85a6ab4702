#include "liveness.h"

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

namespace {

constexpr int kMaxRounds = 8;

}  // namespace

FlagEffect flag_effect_of(const Code& code, const Insn& insn) {
  const CachedInsn* cached = DecodeCache::of_this_thread().find(code.bytes_of(insn));
  if (cached) {
    constexpr int64_t kCountMask = 31;  // of a shift; that of 8 bytes takes one bit more
    FlagEffect effect = cached->flags;
    if (effect.overwrites_if_shift && (cached->immediate.read(code.bytes_of(insn).data()) & kCountMask) != 0)
      effect.overwrites |= effect.overwrites_if_shift;
    return effect;
  }
  FlagEffect unknown;
  unknown.reads = kAllFlags;
  return unknown;
}

LiveFlags::LiveFlags(const Program& program, const Group& group, const FlowGraph& graph, const FlagPassing& passing)
    : Liveness(graph), program_(program), group_(group), passing_(passing), noreturn_(*program.image, *program.frames) {
  returns_flags_ = passing.any_returns || std::ranges::any_of(group.ranges, [&](uint32_t r) {
                     return passing.returns(program.ranges[r].range.start);
                   });
  solve();
}

bool LiveFlags::live_outside(OldAddr target) const {
  const ptrdiff_t r = program_.range_of(target);
  const bool is_own = r >= 0 && &program_.groups[program_.ranges[size_t(r)].group] == &group_;
  return !is_own && takes_flags(target);  // its own are successors
}

bool LiveFlags::takes_flags(OldAddr target) const {
  const ptrdiff_t r = program_.range_of(target);
  if (r < 0) return false;  // a linker's stub
  const Code& code = program_.code(program_.ranges[size_t(r)]);
  return !code.index(target) || passing_.takes(target);
}

Flags LiveFlags::at_end(size_t block, Flags of_successors) const {
  const BasicBlock& b = graph_.blocks()[block];
  const Code& code = group_.code.parts[b.part];
  const Insn& last = graph_.last_insn(b);
  if (!b.leaves) return of_successors;
  const auto all_if = [&](bool all) { return all ? passing_.which : of_successors; };
  switch (last.flow) {
    case Flow::jump:
    case Flow::jump_if:
    case Flow::jump_if_short:
      return all_if(live_outside(code.target(last)) || live_outside(code.next(last)));
    case Flow::jump_indirect:
    case Flow::ret:
      return all_if(returns_flags_);
    case Flow::next:
      return all_if(live_outside(code.next(last)));
    case Flow::call:
    case Flow::call_indirect:
    case Flow::stop:
      return of_successors;
  }
  return passing_.which;
}

Flags LiveFlags::before(const BasicBlock& b, uint32_t i, Flags after) const {
  const Code& code = group_.code.parts[b.part];
  const Insn& insn = code.insns[i];
  if (insn.flow == Flow::call && takes_flags(code.target(insn))) return passing_.which;
  if (insn.flow == Flow::call || insn.flow == Flow::call_indirect)
    return after == 0 || noreturn_.never_returns(insn, code.target(insn)) ? Flags(0) : after;
  return Flags(flag_effect_of(code, insn).live_before(after) & passing_.which);
}

namespace {

struct Found {
  enum Kind { taker, returner, any_returns } kind;
  OldAddr function;
};

// What one group says of others.
class PassingOfGroup {
 public:
  PassingOfGroup(const Program& program, const Group& group, const Arrivals& arrivals, const FlagPassing& passing)
      : group_(group), graph_(program, group, arrivals), live_(program, group, graph_, passing) {}

  void find(std::vector<Found>& out) const {
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b) {
      const BasicBlock& block = graph_.blocks()[b];
      const Code& code = group_.code.parts[block.part];
      if (live_.returns_flags()) pass_on(block, code, graph_.last_insn(block), out);
      if (live_.at_start(b) == 0) continue;
      if (block.entered) out.push_back({Found::taker, code.address(code.insns[block.first])});
      if (block.first == 0) continue;
      const Insn& before = code.insns[block.first - 1];
      if (live_.never_returns(code, before)) continue;
      if (before.flow == Flow::call)
        out.push_back({Found::returner, code.target(before)});
      else if (before.flow == Flow::call_indirect)
        out.push_back({Found::any_returns, {}});
    }
  }

 private:
  // A function that is jumped to, or run into, returns in the place of the one that leaves so.
  static void pass_on(const BasicBlock& block, const Code& code, const Insn& last, std::vector<Found>& out) {
    if (!block.leaves) return;
    const bool jumps_if = last.flow == Flow::jump_if || last.flow == Flow::jump_if_short;
    if (last.flow == Flow::jump || jumps_if) out.push_back({Found::returner, code.target(last)});
    if (last.flow == Flow::next || jumps_if) out.push_back({Found::returner, code.next(last)});
    if (last.flow == Flow::jump_indirect && !block.to_labels) out.push_back({Found::any_returns, {}});
  }

  const Group& group_;
  const FlowGraph graph_;
  const LiveFlags live_;
};

void make_set(std::vector<OldAddr>& all) {
  parallel_sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

// What hand-written code passes on from one function to the next and the next but does not stop in a few rounds is not
// worth more of them: then all functions may take and return flags.
FlagPassing find_flag_passing(const Program& program, const Arrivals& arrivals, Flags which) {
  FlagPassing passing;
  passing.which = which;
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<Found> found =
        parallel_collect<Found>(program.groups.size(), [&](size_t g, std::vector<Found>& out) {
          PassingOfGroup(program, program.groups[g], arrivals, passing).find(out);
        });
    FlagPassing next;
    next.which = which;
    for (const Found& f : found) {
      if (f.kind == Found::any_returns) next.any_returns = true;
      if (f.kind == Found::taker) next.takers.push_back(f.function);
      if (f.kind == Found::returner) next.returners.push_back(f.function);
    }
    make_set(next.takers);
    make_set(next.returners);
    if (next == passing) return passing;
    passing = std::move(next);
  }
  passing.any_takes = passing.any_returns = true;
  return passing;
}

namespace {

constexpr RegisterSet kAllRegisters = 0xffff;
constexpr uint8_t kClearsUpperHalf = 4;  // bytes: an operand that leaves no part of the register as it was

RegisterSet bit(uint8_t reg) { return reg < kRegisters ? RegisterSet(1u << reg) : RegisterSet(0); }

// What the instruction overwrites as a whole, whatever its operands are.
RegisterSet overwritten_by(const Semantics& op) {
  if (op.to.type != Operand::Type::reg || op.to.size < kClearsUpperHalf) return 0;
  switch (op.action) {
    case Action::move:
    case Action::lea:
    case Action::zero:
    case Action::pop:
      return bit(op.to.reg);
    default:
      return 0;
  }
}

RegisterSet read_by(const Semantics& op) {
  const RegisterSet reads = op.action == Action::zero ? RegisterSet(0) : op.reads;
  return RegisterSet(reads | op.addressing | bit(op.memory.base) | bit(op.memory.index));
}

}  // namespace

LiveRegisters::LiveRegisters(const Group& group, const FlowGraph& graph) : Liveness(graph), group_(group) { solve(); }

RegisterSet LiveRegisters::at_end(size_t block, RegisterSet of_successors) const {
  return graph_.blocks()[block].leaves ? kAllRegisters : of_successors;
}

RegisterSet LiveRegisters::before(const BasicBlock& b, uint32_t i, RegisterSet after) const {
  const Code& code = group_.code.parts[b.part];
  const Semantics op = semantics_of(code, code.insns[i]);
  return RegisterSet((after & ~overwritten_by(op)) | read_by(op));
}

}  // namespace profld
