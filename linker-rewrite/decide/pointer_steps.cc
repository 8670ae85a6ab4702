// From which address a value is made:
//
//   * A sum is made from what its terms are made from, unless one of them is multiplied: that one is an index. If an
//     instruction contains an address as a number, the sum points there; the rest is an index.
//   * A difference of two addresses is a length, and no address. But it shows that the program looks at the bytes
//     between them.
//   * A mask that clears low bits keeps the address: programs find the page of a function like this.
//   * Anything else (shifts, products, bits) makes a number: the hash of a pointer, not a pointer.
//
// After a call, nothing is known about the registers that it may change, and its result is not followed. Values in
// memory are not followed either, except on the function's own stack, and there only if they were not stored through a
// pointer that may point to several places.

#include "pointer_steps.h"

#include <algorithm>
#include <bit>

#include "code_dependences.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/system_calls.h"

namespace profld {

namespace {

constexpr uint8_t kWord = 8;
constexpr size_t kMaxStackWords = 256;  // per state; about words that do not fit, nothing is known

}  // namespace

AddressSet met(AddressSet a, AddressSet b) {
  return a == b ? a : a != 0 && b != 0 && ((a | b) & kOfArguments) == 0 ? a | b : 0;
}

// A value that is added to a loaded pointer is an offset. (A pointer to a member function is either the function's
// address or, for a virtual function, the offset of its entry in the object's table.)
AddressSet sum(const PointerValue& a, const PointerValue& b) {
  const bool both = a.made_from != 0 && b.made_from != 0;
  return both || a.is_loaded() || b.is_loaded() ? 0 : a.made_from | b.made_from;
}

AddressSet PointerState::stack_word(const std::pair<uint32_t, int64_t>& at) const {
  const auto it = std::ranges::lower_bound(stack_words, at, {}, &StackWord::at);
  return it != stack_words.end() && it->at == at ? it->made_from : 0;
}

void PointerState::store(const PointerValue& address, uint8_t size, AddressSet made_from) {
  const auto from =
      std::ranges::upper_bound(stack_words, std::pair(address.frame, address.offset - kWord), {}, &StackWord::at);
  const auto to =
      std::ranges::lower_bound(stack_words, std::pair(address.frame, address.offset + size), {}, &StackWord::at);
  const auto place = stack_words.erase(from, to);
  if (made_from != 0 && size == kWord && stack_words.size() < kMaxStackWords)
    stack_words.insert(place, {address.place(), made_from});
}

template <class Join>
bool PointerState::merge_with(const PointerState& other, Join join) {
  bool changed = false;
  for (uint8_t r = 0; r < kRegisters; ++r) {
    PointerValue& here = registers[r];
    const PointerValue& there = other.registers[r];
    changed |= join(here.made_from, there.made_from);
    if (here.frame == 0 || here.place() == there.place()) continue;
    here.forget_place();
    changed = true;
  }
  for (StackWord& s : stack_words) changed |= join(s.made_from, other.stack_word(s.at));
  return changed;
}

bool PointerState::merge(const PointerState& other, AddressSet& lost) {
  const bool changed = merge_with(other, [&](AddressSet& here, AddressSet there) {
    const AddressSet before = here;
    here = met(here, there);
    if (here == 0) lost |= before | there;
    return here != before;
  });
  std::erase_if(stack_words, [](const StackWord& s) { return s.made_from == 0; });
  return changed;
}

bool PointerState::unite(const PointerState& other) {
  for (const StackWord& s : other.stack_words)
    if (stack_word(s.at) == 0 && stack_words.size() < kMaxStackWords)
      stack_words.insert(std::ranges::lower_bound(stack_words, s.at, {}, &StackWord::at), {s.at, 0});
  return merge_with(other, [](AddressSet& here, AddressSet there) {
    const bool changed = (there & ~here) != 0;
    here |= there;
    return changed;
  });
}

bool PointerState::has_addresses() const {
  return !stack_words.empty() || std::ranges::any_of(registers, [](const PointerValue& v) { return v.made_from != 0; });
}

namespace {

using How = AddressUse::How;
using Asked = AddressUse::Asked;
using Type = Operand::Type;

// rax, rcx, rdx, rsi, rdi, r8 to r11
constexpr uint16_t kCallerSaved = 0b0000'1111'1100'0111;
constexpr uint8_t kRdx = 2;

}  // namespace

PointerSteps::PointerSteps(const Program& program, const Group& group, const Instructions& code,
                           const Followed& followed, size_t first, std::vector<AddressUse>& uses)
    : program_(program),
      group_(group),
      code_(code),
      followed_(followed),
      addresses_(followed.addresses),
      words_(words_of_linker(*program.image)),
      first_(first),
      uses_(uses) {
  for (uint32_t part = 0; part < group.code.parts.size(); ++part)
    for (const auto& [i, address] : relocated_numbers(*program.image, group.code.parts[part]))
      relocated_.emplace(code.number({part, i}), address);
  for (uint32_t r : group.ranges) catches_ |= program.ranges[r].fde && program.ranges[r].fde->lsda != OldAddr();
}

bool PointerSteps::names_address(uint32_t insn) const {
  const Semantics& op = code_.semantics(insn);
  return immediate(op, insn) != 0 || (op.memory.rip_relative && op.action != Action::lea && in_word(op) != 0) ||
         (op.memory.field != 0 && named(OldAddr(uint64_t(op.memory.displacement))) != 0);
}

void PointerSteps::access(const PointerState& state, uint32_t insn) {
  const Semantics& op = code_.semantics(insn);
  if (op.memory_size == 0 || op.action == Action::lea || takes_off_tag(op)) return;
  AddressUse details;
  const bool is_offset = op.memory.base != kNoRegister && !may_be_address(op.memory.displacement);
  if (op.memory.index == kNoRegister)
    details.extent = extent((is_offset ? op.memory.displacement : 0) + op.memory_size);
  const AddressSet accessed = memory(state, op);
  if (accessed != 0 && notes_uses && !reads_type(insn)) use(How::accessed, accessed, insn, details);
}

bool PointerSteps::reads_type(uint32_t insn) {
  if (!type_reads_) {
    type_reads_.emplace();
    for (uint32_t part = 0; part < group_.code.parts.size(); ++part)
      for (uint32_t i : reads_of_type(program_, group_.code.parts[part])) type_reads_->insert(code_.number({part, i}));
  }
  return type_reads_->contains(insn);
}

void PointerSteps::call(PointerState& state, uint32_t insn) {
  const Semantics& op = code_.semantics(insn);
  use(How::kept, source(state, op, insn), insn);
  pass(state, insn);
  step(state, insn);
}

void PointerSteps::returns(const PointerState& state, uint32_t insn) {
  for (uint8_t r : {kRax, kRdx}) use(How::kept, state.registers[r].made_from, insn);
}

AddressSet PointerSteps::named(OldAddr a) const {
  const auto it = std::ranges::lower_bound(addresses_, a);
  if (it == addresses_.end() || *it != a) return 0;
  const size_t i = size_t(it - addresses_.begin());
  return i < first_ || i - first_ >= kMaxAddresses - kArguments ? 0 : AddressSet(1) << (i - first_ + kArguments);
}

bool PointerSteps::may_be_address(int64_t number) const {
  return !program_.image->is_position_independent() && program_.image->span().contains(OldAddr(uint64_t(number)));
}

PointerValue PointerSteps::constant(const Semantics& op, uint32_t insn) const {
  const AddressSet made_from = immediate(op, insn);
  if (const auto r = relocated_.find(insn); r != relocated_.end() && op.immediate_field != 0)
    return {made_from, PointerValue::kNamed, int64_t(r->second.value)};
  return {made_from, may_be_address(op.immediate) ? PointerValue::kNamed : PointerValue::kNumber, op.immediate};
}

AddressSet PointerSteps::immediate(const Semantics& op, uint32_t insn) const {
  if (const auto r = relocated_.find(insn); r != relocated_.end() && op.immediate_field != 0) return named(r->second);
  return op.immediate_field != 0 && may_be_address(op.immediate) ? named(OldAddr(uint64_t(op.immediate))) : 0;
}

AddressSet PointerSteps::in_word(const Semantics& op) const {
  const auto a = address_in_word(*program_.image, words_, OldAddr(uint64_t(op.memory.displacement)));
  return a ? named(*a) : 0;
}

bool PointerSteps::takes_off_tag(const Semantics& op) {
  return op.memory_size >= 4 && op.memory.displacement % 2 != 0 && !op.memory.rip_relative;
}

AddressSet PointerSteps::memory(const PointerState& state, const Semantics& op) const {
  const Memory& m = op.memory;
  if (!m.understood) return 0;
  if (m.rip_relative || (m.field != 0 && may_be_address(m.displacement)))
    return named(OldAddr(uint64_t(m.displacement)));
  const PointerValue base = m.base != kNoRegister ? state.registers[m.base] : PointerValue();
  return sum(base, m.index != kNoRegister && m.scale <= 1 ? state.registers[m.index] : PointerValue());
}

PointerValue PointerSteps::place_of_memory(const PointerState& state, const Memory& m) const {
  PointerValue place;
  if (!m.understood || m.rip_relative || m.base == kNoRegister || m.index != kNoRegister) return place;
  place = state.registers[m.base];
  if (place.frame != 0) place.offset += m.displacement;
  return place;
}

bool PointerSteps::is_through_pointer(const PointerState& state, const Memory& m) {
  return m.understood && m.base != kNoRegister && !state.registers[m.base].is_on_stack();
}

AddressSet PointerSteps::source(const PointerState& state, const Semantics& op, uint32_t insn) const {
  if (op.from.type == Type::immediate) return immediate(op, insn);
  if (op.from.size != kWord) return 0;
  if (op.from.type == Type::reg) return state.registers[op.from.reg].made_from;
  if (op.from.type != Type::memory) return 0;
  if (op.memory.rip_relative) return in_word(op);
  const PointerValue place = place_of_memory(state, op.memory);
  return place.is_on_stack() ? state.stack_word(place.place()) : 0;
}

AddressSet PointerSteps::half_of_source(const PointerState& state, const Semantics& op) const {
  return op.from.type == Type::reg && op.from.size == 4 ? state.registers[op.from.reg].made_from : 0;
}

void PointerSteps::use(How how, AddressSet set, uint32_t insn, const AddressUse& details) {
  if ((how == How::kept) != followed_.where_kept || (how != How::kept && !notes_uses)) return;
  for (; set != 0; set &= set - 1) {
    AddressUse& u = uses_.emplace_back(details);
    u.how = how;
    u.address = number(set);
    u.at = code_.address(insn);
  }
}

FollowedAddress PointerSteps::number(AddressSet set) const {
  const unsigned bit = unsigned(std::countr_zero(set));
  return bit < kArguments ? bit : FollowedAddress(bit + first_);
}

void PointerSteps::bound(AddressSet a, AddressSet b, uint32_t insn) {
  a &= ~kOfArguments;
  b &= ~kOfArguments;
  for (AddressSet rest = b; rest != 0; rest &= rest - 1) {
    AddressUse details;
    details.other = number(rest);
    use(How::bounded, a & ~(rest & -rest), insn, details);
  }
}

void PointerSteps::order(const PointerState& state, const Semantics& op, uint32_t insn) {
  if (!followed_.notes_order) return;
  if (op.action == Action::compare && !is_about_order(insn)) return;
  AddressSet to = 0;
  if (op.to.type == Type::reg && op.to.size == kWord) to = state.registers[op.to.reg].made_from;
  if (op.to.type == Type::memory && op.to.size == kWord)
    if (const PointerValue place = place_of_memory(state, op.memory); place.is_on_stack())
      to = state.stack_word(place.place());
  const auto note = [&](AddressSet set, const Operand& other) {
    const PointerValue value = other.type == Type::reg ? state.registers[other.reg] : PointerValue();
    if (other.type == Type::immediate ? !may_be_address(op.immediate) : value.is_number()) return;
    use(other.type == Type::immediate || value.is_named() ? How::ordered_to_named : How::ordered, set, insn);
  };
  note(to, op.from);
  note(source(state, op, insn), op.to);
}

void PointerSteps::compare(AddressSet a, AddressSet b, Asked asked, uint32_t insn) {
  AddressUse details;
  details.asked = asked;
  AddressSet compared = (a | b) & kOfArguments;
  if ((b & ~kOfArguments) == 0) compared |= a;
  if ((a & ~kOfArguments) == 0) compared |= b;
  use(How::compared, compared, insn, details);
}

bool PointerSteps::is_about_order(uint32_t comparison) const {
  constexpr uint32_t kNear = 4;
  const uint32_t end = std::min(code_.end_of_part(comparison), comparison + 1 + kNear);
  for (uint32_t i = comparison + 1; i < end; ++i) {
    const InsnRef ref = code_.ref(i);
    const Code& part = group_.code.parts[ref.part];
    const CachedInsn* in = DecodeCache::of_this_thread().find(part.bytes_of(part.insns[ref.insn]));
    if (!in) return false;
    if (in->flags.reads != 0) return (in->flags.reads & ~(kZero | kParity)) != 0;
    if (in->flags.overwrites != 0) return false;
  }
  return false;
}

uint64_t PointerSteps::extent(int64_t length) {
  constexpr int64_t kMax = 1 << 24;
  return length >= 0 && length <= kMax ? uint64_t(length) : 0;
}

void PointerSteps::pass(const PointerState& state, uint32_t insn, std::optional<OldAddr> runs_on_to) {
  const Flow flow = code_.insn(insn).flow;
  const bool through_pointer = code_.insn(insn).rip_relative;
  const bool is_indirect = flow == Flow::call_indirect || flow == Flow::jump_indirect;
  if (is_indirect && !through_pointer && !runs_on_to) runs_on_to = function_in_register(state, insn);
  const bool is_known = runs_on_to || through_pointer || !is_indirect;
  AddressSet before = 0;
  AddressUse details;
  details.through_pointer = through_pointer && !runs_on_to;
  details.callee = runs_on_to.value_or(code_.target(insn));
  for (uint8_t r : kArgumentRegisters)
    if (const PointerValue& v = state.registers[r]; v.is_number())
      details.extent = std::max(details.extent, extent(v.offset));
  for (uint8_t a = 0; a < kArguments; ++a) {
    const AddressSet set = state.registers[kArgumentRegisters[a]].made_from;
    bound(before, set, insn);
    bound(set, before, insn);
    before |= set;
    details.argument = a;
    if (is_known) use(How::passed, set, insn, details);
  }
  keep(state, insn, catches_ ? uint16_t(UINT16_MAX) : kCallerSaved);
}

std::optional<OldAddr> PointerSteps::function_in_register(const PointerState& state, uint32_t insn) const {
  const Operand& to = code_.semantics(insn).from;
  if (to.type != Type::reg) return std::nullopt;
  const PointerValue& v = state.registers[to.reg];
  if (v.is_named() && program_.image->is_code(OldAddr(uint64_t(v.offset)))) return OldAddr(uint64_t(v.offset));
  if (!std::has_single_bit(v.made_from) || (v.made_from & kOfArguments) != 0) return std::nullopt;
  return addresses_[number(v.made_from) - kArguments];
}

void PointerSteps::jump_away(const PointerState& state, uint32_t insn) {
  pass(state, insn);
  keep(state, insn, UINT16_MAX);
}

void PointerSteps::run_on(const PointerState& state, uint32_t insn) {
  pass(state, insn, code_.address(insn) + code_.insn(insn).length);
  keep(state, insn, UINT16_MAX);
}

void PointerSteps::keep(const PointerState& state, uint32_t insn, uint16_t registers) {
  for (uint8_t r = 0; r < kRegisters; ++r)
    if (registers >> r & 1) use(How::kept, state.registers[r].made_from, insn);
}

void PointerSteps::store(PointerState& state, const Semantics& op, AddressSet stored, uint8_t size, uint32_t insn) {
  if (const PointerValue place = place_of_memory(state, op.memory); place.is_on_stack())
    state.store(place, size, stored != 0 && followed_.quickly && !is_read_again(op.memory) ? 0 : stored);
  use(How::kept, stored, insn);
}

void PointerSteps::set(PointerState& state, const Semantics& op, PointerValue value, uint32_t insn) {
  if (op.to.type == Type::memory) return store(state, op, value.made_from, op.to.size, insn);
  if (op.to.type == Type::reg) state.registers[op.to.reg] = value;
}

void PointerSteps::push(PointerState& state, AddressSet pushed, uint32_t insn) {
  PointerValue& rsp = state.registers[kRsp];
  use(How::kept, pushed, insn);
  if (!rsp.is_on_stack()) return;
  rsp.offset -= kWord;
  state.store(rsp, kWord, pushed);
}

PointerValue PointerSteps::pop(PointerState& state) {
  PointerValue& rsp = state.registers[kRsp];
  if (!rsp.is_on_stack()) return {};
  const AddressSet popped = state.stack_word(rsp.place());
  rsp.offset += kWord;
  return {popped};
}

void PointerSteps::step(PointerState& state, uint32_t insn) {
  const Semantics& op = code_.semantics(insn);
  switch (op.action) {
    case Action::move: {
      use(How::kept, half_of_source(state, op), insn);
      PointerValue v{source(state, op, insn)};
      if (op.from.type == Type::immediate) v = constant(op, insn);
      if (op.from.type == Type::memory && op.from.size == kWord && is_through_pointer(state, op.memory))
        v.frame = PointerValue::kLoaded;
      if (op.from.type == Type::reg && op.to.size >= 4) {
        const PointerValue& from = state.registers[op.from.reg];
        if (op.from.size == kWord || (op.from.size == 4 && from.is_number())) v = from;
      }
      return set(state, op, v, insn);
    }
    case Action::lea: {
      if (op.to.size != kWord) {
        use(How::kept, memory(state, op), insn);
        return set(state, op, {}, insn);
      }
      PointerValue v = place_of_memory(state, op.memory);
      if (op.memory.rip_relative) v.frame = PointerValue::kNamed, v.offset = op.memory.displacement;
      v.made_from = memory(state, op);
      if (followed_.notes_order && may_be_address(-op.memory.displacement))
        use(How::ordered_to_named, v.made_from, insn);
      if (v.made_from == 0)
        for (uint8_t r : {op.memory.base, op.memory.index})
          if (r != kNoRegister) use(How::kept, state.registers[r].made_from, insn);
      return set(state, op, v, insn);
    }
    case Action::add:
    case Action::subtract:
      return add(state, op, insn);
    case Action::mask: {
      PointerValue& v = state.registers[op.to.reg];
      const bool clears_low_bits = op.immediate < 0 && op.to.size == kWord;
      use(How::kept, v.made_from, insn);
      v = {clears_low_bits ? v.made_from : 0, v.is_on_stack() ? frame_made_by(insn) : 0};
      return;
    }
    case Action::move_if: {
      PointerValue& v = state.registers[op.to.reg];
      const AddressSet moved = source(state, op, insn), either = op.to.size == kWord ? met(v.made_from, moved) : 0;
      if (either == 0) use(How::kept, v.made_from | moved | half_of_source(state, op), insn);
      v = {either};
      return;
    }
    case Action::exchange:
      return std::swap(state.registers[op.to.reg], state.registers[op.from.reg]);
    case Action::push:
      return push(state, source(state, op, insn), insn);
    case Action::pop:
      return set(state, op, pop(state), insn);
    case Action::leave:
      state.registers[kRsp] = state.registers[kRbp];
      state.registers[kRbp] = pop(state);
      return;
    case Action::call:
      for (uint8_t r : kArgumentRegisters)
        if (const PointerValue& v = state.registers[r]; v.is_on_stack()) state.store(v, kWord, 0);
      for (uint8_t r = 0; r < kRegisters; ++r)
        if (kCallerSaved >> r & 1) state.registers[r] = {};
      return;
    case Action::compare: {
      order(state, op, insn);
      const AddressSet a = op.to.type == Type::reg ? state.registers[op.to.reg].made_from : 0,
                       b = source(state, op, insn);
      bound(a, b, insn);
      bound(b, a, insn);
      const bool with_number = (op.from.type == Type::immediate && b == 0) ||
                               (op.from.type == Type::reg && state.registers[op.from.reg].is_number());
      if ((a | b) != 0 && !with_number) compare(a, b, is_about_order(insn) ? Asked::order : Asked::equality, insn);
      return;
    }
    case Action::shift:
    case Action::zero:
      state.registers[op.to.reg] = {};
      return;
    case Action::forget:
    case Action::demangle:
    case Action::other:
      return other(state, op, insn);
  }
}

bool PointerSteps::leads_out_of_code(const PointerValue& address, const PointerValue& number) const {
  const AddressSet set = address.made_from;
  if (!number.is_number() || !std::has_single_bit(set) || (set & kOfArguments) != 0) return false;
  const OldAddr a = addresses_[this->number(set) - kArguments];
  return !program_.image->is_code(a + uint64_t(number.offset));
}

void PointerSteps::add(PointerState& state, const Semantics& op, uint32_t insn) {
  PointerValue& v = state.registers[op.to.reg];
  const bool subtracts = op.action == Action::subtract;
  PointerValue other{source(state, op, insn)};
  if (op.from.type == Type::reg) {
    other.frame = state.registers[op.from.reg].frame;
    other.offset = state.registers[op.from.reg].offset;
  }
  if (!subtracts && op.from.type == Type::reg && op.from.size == kWord && op.to.size == kWord &&
      (leads_out_of_code(v, other) || leads_out_of_code(other, v))) {
    v = {};
    return;
  }
  const AddressSet terms = v.made_from | other.made_from | half_of_source(state, op);
  const AddressSet result = op.to.size != kWord    ? 0
                            : !subtracts           ? sum(v, other)
                            : other.made_from != 0 ? 0
                                                   : v.made_from;
  if (result == 0) use(How::kept, terms, insn);
  if (!subtracts && followed_.notes_order && op.from.type == Type::immediate && may_be_address(-op.immediate))
    use(How::ordered_to_named, v.made_from, insn);
  if (subtracts) {
    order(state, op, insn);
    bound(v.made_from, other.made_from, insn);
    bound(other.made_from, v.made_from, insn);
    if (other.made_from != 0 && !v.is_number()) compare(0, other.made_from, Asked::distance, insn);
  }
  if (op.from.type == Type::immediate && v.is_on_stack() && op.to.size == kWord)
    v.offset += subtracts ? -op.immediate : op.immediate;
  else if (op.to.reg == kRsp && v.is_on_stack())
    v.frame = frame_made_by(insn), v.offset = 0;
  else
    v.forget_place();
  v.made_from = result;
}

bool PointerSteps::is_step(uint32_t insn) const {
  const InsnRef ref = code_.ref(insn);
  const Code& part = group_.code.parts[ref.part];
  return adds_to_word(part.bytes_of(part.insns[ref.insn]));
}

void PointerSteps::other(PointerState& state, const Semantics& op, uint32_t insn) {
  if (is_step(insn)) {
    if (op.to.type == Type::reg) state.registers[op.to.reg].forget_place();
    if (op.from.type == Type::reg) use(How::kept, state.registers[op.from.reg].made_from, insn);
    return;
  }
  // Flags, and nothing else: bt, test.
  const bool only_looks = op.writes_flags && op.writes == 0 && !op.memory_written;
  for (uint8_t r = 0; r < kRegisters; ++r) {
    PointerValue& v = state.registers[r];
    if (op.addressing >> r & 1 && r != kRsp) {
      use(How::accessed, v.made_from, insn);  // a string instruction, which also advances the pointer
      continue;
    }
    if (op.reads >> r & 1 && !only_looks) use(How::kept, v.made_from, insn);
    if (op.writes >> r & 1) v = {};
  }
  if (op.memory_written) store(state, op, 0, op.memory_size, insn);
  const InsnRef ref = code_.ref(insn);
  const Code& part = group_.code.parts[ref.part];
  if (!is_system_call(part.bytes_of(part.insns[ref.insn]))) return;
  const PointerArguments pointers = pointer_arguments(system_call_number(part, ref.insn));
  for (uint8_t a = 0; a < kArguments; ++a) {
    const AddressSet set = state.registers[kSystemCallRegisters[a]].made_from;
    if (pointers.bytes >> a & 1) use(How::accessed, set, insn);
    if (pointers.pages >> a & 1) use(How::remapped, set, insn);
  }
}

bool PointerSteps::is_read_again(const Memory& m) {
  if (stack_words_read_.empty())
    for (uint32_t i = 0; i < code_.count(); ++i) {
      const Semantics& op = code_.semantics(i);
      const bool in_stack = op.memory.base == kRsp || op.memory.base == kRbp;
      if (in_stack && op.memory_size == kWord && (op.to.type != Type::memory || op.action != Action::move))
        stack_words_read_.emplace(op.memory.base, op.memory.displacement);
    }
  return stack_words_read_.contains({m.base, m.displacement});
}

}  // namespace profld
