// Unwind tables say for each instruction how high the stack is. Without them it has to be followed. What compilers do
// with the stack pointer is little: they push and pop, add and subtract numbers, copy it to rbp and back, align it
// downwards (and keep its old value in another register, which they push), and subtract a length that is not known
// (alloca), after which they find the frame by rbp. So a value is followed if it is a distance from the stack pointer
// at the entry, or from where it was aligned or lowered (a frame of its own, of which nothing else is known).
//
// Registers that a function must keep for its caller are followed as well: they must be saved before they are used, and
// be restored before the function returns. All functions of compilers do that, and hardly any code that starts
// elsewhere than at an entry does. So it is a test of whether an address is a function's start.
//
// Writes to memory whose address is not known are taken to leave the saved registers alone.

#include "stack_state.h"

#include <algorithm>
#include <tuple>

#include "linker-rewrite/x86/semantics.h"

namespace profld {

namespace {

using Kind = Holds::Kind;
using Type = Operand::Type;

constexpr int64_t kWord = 8, kRedZone = 128;
constexpr uint16_t bit(uint8_t reg) { return uint16_t(1u << reg); }
// Those that hold no argument. (al holds one in functions with a variable number of arguments, which only test it; r10
// holds the frame of the function that a nested one belongs to.)
constexpr uint16_t kUnset = bit(kRax) | bit(kR11);
// rax, rcx, rdx, rsi, rdi, r8 to r11
constexpr uint16_t kCallerSaved = 0b0000'1111'1100'0111;

bool is_alike(const Holds& h, uint8_t reg) { return h.kind == Kind::entry && h.reg == reg; }

}  // namespace

StackState StackState::at_entry() {
  StackState s;
  for (uint8_t r = 0; r < kRegisters; ++r)
    if ((kKeptRegisters | kUnset) & bit(r)) s.registers_[r] = {Kind::entry, r, 0, 0};
  s.registers_[kRsp] = {Kind::stack, 0, 0, 0};
  return s;
}

std::optional<StackState::FrameAddress> StackState::frame_address() const {
  for (uint8_t reg : {kRsp, kRbp})
    if (const Holds& h = registers_[reg]; h.kind == Kind::stack && h.frame == 0)
      return FrameAddress{reg, kWord - h.offset};
  return std::nullopt;
}

bool StackState::is_as_at_entry() const { return breaches_at_return() == 0; }

bool StackState::is_after_epilogue() const {
  return is_as_at_entry() && std::ranges::any_of(words_, [](const Word& w) {
           return w.frame == 0 && w.offset < 0 && w.holds.kind == Kind::entry && (kKeptRegisters & bit(w.holds.reg));
         });
}

bool StackState::may_call() const {
  constexpr uint64_t kAlignment = 16;
  const Holds& rsp = registers_[kRsp];
  return rsp.kind != Kind::stack || rsp.frame != 0 || (uint64_t(rsp.offset) + kWord) % kAlignment == 0;
}

uint8_t StackState::breaches_at_return() const {
  uint8_t breaches = 0;
  const Holds& rsp = registers_[kRsp];
  if (rsp.kind != Kind::stack || rsp.frame != 0)
    breaches |= kHeightUnknown;
  else if (rsp.offset != 0)
    breaches |= kLeavesInFrame;
  for (uint8_t r = 0; r < kRegisters; ++r)
    if ((kKeptRegisters & bit(r)) && !is_alike(registers_[r], r)) breaches |= kNotKept;
  return breaches;
}

const Holds* StackState::word(const Holds& at) const {
  for (const Word& w : words_)
    if (w.frame == at.frame && w.offset == at.offset) return &w.holds;
  return nullptr;
}

void StackState::store(const Holds& at, uint64_t size, const Holds& what) {
  const int64_t end = at.offset + int64_t(size);
  std::erase_if(words_,
                [&](const Word& w) { return w.frame == at.frame && w.offset < end && w.offset + kWord > at.offset; });
  if (at.frame == 0)
    for (int64_t o = std::max(at.offset, -kRedZone); o < std::min<int64_t>(end, 0); ++o)
      written_below_ = uint16_t(written_below_ | 1u << (-o - 1) / kWord);
  if (what.kind == Kind::unknown || size != uint64_t(kWord)) return;
  const Word added{at.frame, at.offset, what};
  const auto key = [](const Word& w) { return std::tuple(w.frame, w.offset); };
  words_.insert(std::upper_bound(words_.begin(), words_.end(), added,
                                 [&](const Word& a, const Word& b) { return key(a) < key(b); }),
                added);
}

Holds StackState::address_of(const Memory& m, uint32_t place) const {
  if (!m.understood || m.rip_relative || m.base == kNoRegister) return {};
  Holds h = registers_[m.base];
  if (h.kind != Kind::stack) return {};
  h.offset += m.displacement;
  if (m.index != kNoRegister) h = {Kind::stack, 0, place + 1, 0};
  return h;
}

uint8_t StackState::uses(uint16_t registers) const {
  uint8_t breaches = 0;
  for (uint8_t r = 0; r < kRegisters; ++r) {
    if (!(registers & bit(r)) || registers_[r].kind != Kind::entry) continue;
    breaches |= uint8_t(kKeptRegisters & bit(registers_[r].reg) ? kUsesKept : kUsesUnset);
  }
  return breaches;
}

void StackState::clobber(uint16_t registers) {
  for (uint8_t r = 0; r < kRegisters; ++r)
    if (registers & bit(r)) registers_[r] = {};
}

uint8_t StackState::read_memory(const Semantics& op, uint32_t place) const {
  const Holds at = address_of(op.memory, place), &rsp = registers_[kRsp];
  if (op.memory.index != kNoRegister && op.memory.understood && op.memory.base != kNoRegister) {
    // Somewhere in an array: some of it must have been written.
    const Holds& base = registers_[op.memory.base];
    return base.kind == Kind::stack && base.frame == 0 && rsp.kind == Kind::stack && rsp.frame == 0 &&
                   base.offset + op.memory.displacement < std::min<int64_t>(rsp.offset, 0) && written_below_ == 0
               ? kReadsBelow
               : 0;
  }
  if (at.kind != Kind::stack || at.frame != 0 || rsp.frame != 0 || rsp.kind != Kind::stack) return 0;
  if (at.offset >= std::min<int64_t>(rsp.offset, 0) || at.offset < -kRedZone) return 0;
  return written_below_ >> (-at.offset - 1) / kWord & 1 ? 0 : kReadsBelow;
}

uint8_t StackState::write_memory(const Semantics& op, uint32_t place, const Holds& what) {
  const Holds at = address_of(op.memory, place);
  if (at.kind != Kind::stack) return what.kind == Kind::entry ? uses(bit(what.reg)) : 0;
  // Somewhere in an array on the stack.
  if (op.memory.index == kNoRegister) store(at, op.memory_size, what);
  return 0;
}

void StackState::push(const Holds& what) {
  Holds& rsp = registers_[kRsp];
  if (rsp.kind != Kind::stack) return;
  rsp.offset -= kWord;
  store(rsp, uint64_t(kWord), what);
}

Holds StackState::pop() {
  Holds& rsp = registers_[kRsp];
  if (rsp.kind != Kind::stack) return {};
  const Holds* found = word(rsp);
  const Holds popped = found ? *found : Holds();
  rsp.offset += kWord;
  return popped;
}

void StackState::add(const Semantics& op, uint32_t place) {
  Holds& to = registers_[op.to.reg];
  if (to.kind != Kind::stack || op.to.size != kWord) {
    to = {};
  } else if (op.from.type == Type::immediate) {
    to.offset += op.action == Action::add ? op.immediate : -op.immediate;
  } else {
    to = op.to.reg == kRsp ? Holds{Kind::stack, 0, place + 1, 0} : Holds();
  }
}

uint8_t StackState::step(const Semantics& op, Flow flow, uint32_t place) {
  uint16_t addressing = op.addressing;
  if (op.memory.base != kNoRegister) addressing = uint16_t(addressing | bit(op.memory.base));
  if (op.memory.index != kNoRegister) addressing = uint16_t(addressing | bit(op.memory.index));
  uint8_t breaches = uses(uint16_t(addressing & ~bit(kRsp)));
  const bool reads_memory = op.memory_size != 0 && op.action != Action::lea && !op.only_writes_memory();
  if (reads_memory) breaches |= read_memory(op, place);
  if (flow == Flow::jump_if && !flags_set_) breaches |= kUsesUnset;
  flags_set_ = flags_set_ || op.writes_flags || flow == Flow::call || flow == Flow::call_indirect;

  const bool to_register = op.to.type == Type::reg;
  switch (op.action) {
    case Action::move: {
      Holds value;
      if (op.from.type == Type::reg && op.from.size == kWord && (!to_register || op.to.size == kWord)) {
        value = registers_[op.from.reg];
        // To save it is no use; to copy what nobody has set is one.
        if (to_register && is_alike(value, kRax)) breaches |= kUsesUnset;
      } else if (op.from.type == Type::reg) {
        breaches |= uses(bit(op.from.reg));
      } else if (op.from.type == Type::memory && op.from.size == kWord) {
        const Holds at = address_of(op.memory, place);
        if (const Holds* found = at.kind == Kind::stack ? word(at) : nullptr) value = *found;
      }
      if (to_register)
        registers_[op.to.reg] = value;
      else
        breaches |= write_memory(op, place, value);
      return breaches;
    }
    case Action::lea:
      registers_[op.to.reg] =
          op.to.size == kWord && op.memory.index == kNoRegister ? address_of(op.memory, place) : Holds();
      return breaches;
    case Action::add:
    case Action::subtract:
      if (op.from.type == Type::reg) breaches |= uses(bit(op.from.reg));
      breaches |= uses(bit(op.to.reg));
      add(op, place);
      return breaches;
    case Action::mask:
      breaches |= uses(bit(op.to.reg));
      registers_[op.to.reg] = registers_[op.to.reg].kind == Kind::stack && op.to.size == kWord
                                  ? Holds{Kind::stack, 0, place + 1, 0}
                                  : Holds();
      return breaches;
    case Action::zero:
    case Action::forget:
      registers_[op.to.reg] = {};
      return breaches;
    case Action::push:
      push(op.from.type == Type::reg ? registers_[op.from.reg] : Holds());
      return breaches;
    case Action::pop: {
      const Holds popped = pop();
      if (to_register)
        registers_[op.to.reg] = popped;
      else
        breaches |= write_memory(op, place, {});
      return breaches;
    }
    case Action::leave:
      registers_[kRsp] = registers_[kRbp];
      registers_[kRbp] = pop();
      return breaches;
    case Action::call:
      if (op.from.type == Type::reg) breaches |= uses(bit(op.from.reg));
      clobber(kCallerSaved);
      return breaches;
    case Action::exchange:
      std::swap(registers_[op.to.reg], registers_[op.from.reg]);
      return breaches;
    default:
      break;
  }
  // al, where a function with a variable number of arguments finds how many of them are in vector registers, is tested.
  const bool tests_al = op.to.type == Type::reg && op.from.type == Type::reg && op.to.reg == kRax &&
                        op.from.reg == kRax && op.to.size == 1 && op.writes == 0;
  if (!tests_al) breaches |= uses(uint16_t(op.reads & ~bit(kRsp)));
  if (op.memory_written && op.memory_size != 0) breaches |= write_memory(op, place, {});
  clobber(op.writes);
  return breaches;
}

bool StackState::merge(const StackState& other) {
  bool changed = false;
  for (uint8_t r = 0; r < kRegisters; ++r)
    if (registers_[r].kind != Kind::unknown && !(registers_[r] == other.registers_[r])) {
      registers_[r] = {};
      changed = true;
    }
  changed |= std::erase_if(words_, [&](const Word& w) {
               const Holds* there = other.word({Kind::stack, 0, w.frame, w.offset});
               return !there || !(*there == w.holds);
             }) != 0;
  const uint16_t written = written_below_ & other.written_below_;
  const bool flags_set = flags_set_ && other.flags_set_;
  changed |= written != written_below_ || flags_set != flags_set_;
  written_below_ = written;
  flags_set_ = flags_set;
  return changed;
}

}  // namespace profld
