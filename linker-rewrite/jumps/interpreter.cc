#include "interpreter.h"

#include <algorithm>
#include <bit>

#include "linker-rewrite/base/sort_unique.h"

namespace profld {

namespace {

using Kind = Value::Kind;
using Type = Operand::Type;

constexpr uint64_t kEntryFrame = 1;
constexpr uint8_t kWord = 8;
// rax, rcx, rdx, rsi, rdi, r8 to r11
constexpr uint16_t kCallerSaved = 0b0000'1111'1100'0111;

// v * scale, where v serves as an index. Even if v is a number the product is unknown: other paths may have another
// number.
Value scaled(const Value& v, uint8_t scale, uint64_t fresh_id) {
  if (scale <= 1) return v;
  Value r = v;
  if (v.kind != Kind::unknown || v.scale != 1) {
    r = Value::unknown(fresh_id, true);
    r.had_constant = v.had_constant || v.is_address();
    // Scaled twice: the product is the index now.
    const uint64_t bound = v.kind == Kind::unknown ? v.index_bound() : kNoBound;
    if (bound <= UINT32_MAX) {
      r.bound = bound * v.scale;
      r.exact = v.exact;
      r.signed_bound = v.index_may_be_negative();
    }
  }
  r.scale = scale;
  r.computed = true;
  return r;
}

// The address of an entry whose index is masked and not shifted: `and $0x3c,%eax; movslq (%rdx,%rax),%rax`. It counts
// bytes; one that counts entries is another value, and so gets an id of its own.
Value by_entries(const Value& element, uint8_t size, uint64_t fresh_id) {
  const unsigned in_entry = size / element.scale;
  if (element.bound == kNoBound || in_entry <= 1 || in_entry > 1u << element.zeros) return element;
  Value r = element;
  r.id = fresh_id;
  r.scale = size;
  r.zeros = 0;
  r.bound /= in_entry;
  return r;
}

// A value that other code left in a register: code that `insn` calls, or from which control came to `insn`.
Value left_elsewhere(uint32_t insn, uint8_t reg) {
  return Value::unknown((uint64_t(insn) * kRegisters + reg) << 1 | 1, false);
}

}  // namespace

Interpreter::Interpreter(const Image& image, const Instructions& code)
    : image_(image),
      code_(code),
      origins_(code.count()),
      values_(4 * size_t(code.count())),
      numbers_(code.count()),
      uses_(origins_.size()) {}

State Interpreter::unknown_state(uint32_t insn) {
  State s;
  for (uint8_t r = 0; r < kRegisters; ++r) s.registers[r] = values_.add(left_elsewhere(insn, r));
  s.registers[kRsp] = values_.add(Value::stack(fresh_id(insn) | 1ull << 61, 0));
  return s;
}

Value Interpreter::stack_at_entry() { return Value::stack(kEntryFrame, 0); }

State Interpreter::entry_state() {
  State s = unknown_state(0);
  s.registers[kRsp] = values_.add(stack_at_entry());
  return s;
}

bool Interpreter::is_address_value(int64_t value) const {
  return !image_.is_position_independent() && value > 0 && image_.span().contains(OldAddr(uint64_t(value)));
}

uint64_t Interpreter::field_address(Origin o) const {
  const Semantics& op = code_.semantics(o / 2);
  return uint64_t(o & 1 ? op.immediate : op.memory.displacement);
}

std::vector<OldAddr> Interpreter::named_addresses() const {
  std::vector<OldAddr> named;
  for (uint32_t i : code_.with_constants()) {
    const Semantics& op = code_.semantics(i);
    if (op.memory.rip_relative || (op.memory.field != 0 && is_address_value(op.memory.displacement)))
      named.emplace_back(uint64_t(op.memory.displacement));
    if (op.immediate_field != 0 && is_address_value(op.immediate)) named.emplace_back(uint64_t(op.immediate));
  }
  return named;
}

std::vector<OldAddr> Interpreter::read_addresses() const {
  std::vector<OldAddr> read;
  for (uint32_t i : code_.with_constants()) {
    const Semantics& op = code_.semantics(i);
    const bool is_whole = op.memory.field != 0 && op.memory.base == kNoRegister && op.memory.index == kNoRegister;
    if (op.action != Action::lea && (op.memory.rip_relative || (is_whole && is_address_value(op.memory.displacement))))
      read.emplace_back(uint64_t(op.memory.displacement));
  }
  sort_unique(read);
  return read;
}

void Interpreter::used(const Value& v, Use use) {
  if (v.origin != kNoOrigin && (v.kind == Kind::constant || v.kind == Kind::element)) uses_[v.origin] |= use;
}

void Interpreter::dereferenced(const Value& v) {
  used(v, kComputed);
  if ((v.is_address() || v.kind == Kind::element) && code_.contains(OldAddr(v.address))) reads_own_code_ = true;
}

// With -mcmodel=large, code finds the global offset table by its distance from a label: lea 1b(%rip), movabs $GOT-1b,
// add.
Value Interpreter::heed_distance(const Value& sum, uint32_t insn) {
  if (!sum.is_address() || !code_.contains(OldAddr(field_address(sum.origin))) || image_.is_code(OldAddr(sum.address)))
    return sum;
  used(sum, kDistance);
  Value elsewhere = Value::unknown(fresh_id(insn), true);
  elsewhere.had_constant = true;
  return elsewhere;
}

Value Interpreter::address_of(const State& state, uint32_t insn) {
  const Memory& m = code_.semantics(insn).memory;
  if (!m.understood) return Value::unknown(fresh_id(insn), true);
  const bool is_address = m.rip_relative || (m.field != 0 && is_address_value(m.displacement));
  std::array<Value, 3> terms;
  unsigned count = 1;
  terms[0] = is_address ? Value::constant(uint64_t(m.displacement), displacement_of(insn))
                        : Value::number(uint64_t(m.displacement));
  if (m.base != kNoRegister) terms[count++] = value(state, m.base);
  if (m.index != kNoRegister) terms[count++] = scaled(value(state, m.index), m.scale, fresh_id(insn));
  return heed_distance(sum(terms, count, fresh_id(insn)), insn);
}

Value Interpreter::load(const State& state, const Value& address, uint8_t size, bool sign_extend, uint32_t insn) {
  Value r = Value::unknown(fresh_id(insn), size != kWord);
  r.narrow = sign_extend ? 64 : uint8_t(size * 8);
  r.from_stack = address.may_be_on_stack();
  // A word that a loaded pointer points to is no entry of a table, since the address of an entry is computed. And in a
  // position-independent program no table has entries of 8 bytes.
  const Memory& m = code_.semantics(insn).memory;
  const bool through_pointer = m.index == kNoRegister && m.base != kNoRegister &&
                               value(state, m.base).kind == Kind::unknown && !value(state, m.base).computed;
  r.computed |= address.had_constant && !through_pointer && !image_.is_position_independent();
  switch (address.kind) {
    case Kind::stack:
      if (const ValueNumber n = state.stack_word(address); n != kNoValue)
        return extended(values_[n], size, sign_extend, fresh_id(insn));
      return r;
    case Kind::element:
      if (const Value entry = by_entries(address, size, fresh_id(insn));
          entry.scale == size && entry.origin != kNoOrigin) {
        r = entry;
        r.kind = Kind::entry;
        r.size = size;
        r.sign_extended = sign_extend;
        if (code_.contains(OldAddr(address.address))) reads_own_code_ = true;
        return r;
      }
      dereferenced(address);
      // A pointer in a record, unless the size of the index got lost.
      r.computed = size != kWord || (address.scale < kWord && !image_.is_position_independent());
      return r;
    case Kind::constant:
      if (!code_.semantics(insn).memory.rip_relative) dereferenced(address);
      return r;
    default:
      return r;
  }
}

// The operand's value, extended to `extended_to` bytes.
Value Interpreter::operand(const State& state, const Operand& o, uint32_t insn, bool sign_extend, uint8_t extended_to) {
  const Semantics& op = code_.semantics(insn);
  switch (o.type) {
    case Type::reg:
      return o.size < extended_to || o.size < kWord ? extended(value(state, o.reg), o.size, sign_extend, fresh_id(insn))
                                                    : value(state, o.reg);
    case Type::memory:
      return load(state, address_of(state, insn), o.size, sign_extend, insn);
    case Type::immediate:
      if (op.immediate_field != 0 && is_address_value(op.immediate))
        return Value::constant(uint64_t(op.immediate), immediate_of(insn));
      return Value::number(uint64_t(op.immediate));
    case Type::none:
      break;
  }
  return Value::unknown(fresh_id(insn), true);
}

// The number of that value. A value that is merely copied is not looked at.
ValueNumber Interpreter::operand_number(const State& state, const Operand& o, uint32_t insn, bool sign_extend,
                                        uint8_t extended_to) {
  if (o.type == Type::reg && o.size == kWord && extended_to <= kWord) return state.registers[o.reg];
  return numbers_[insn].result.of(operand(state, o, insn, sign_extend, extended_to), values_);
}

void Interpreter::store(State& state, uint32_t insn, uint8_t size, ValueNumber stored) {
  const Value address = address_of(state, insn);
  if (address.kind == Kind::stack) {
    state.store(address, size == 0 ? kWord : size, stored);
    if (stored != kNoValue && size == kWord) used(values_[stored], kOnStack);
    return;
  }
  dereferenced(address);
  if (stored != kNoValue) used(values_[stored], size == kWord ? kKept : kComputed);
}

void Interpreter::set(State& state, const Operand& to, ValueNumber value, uint32_t insn) {
  if (to.type == Type::reg) state.registers[to.reg] = value;
  if (to.type == Type::memory) store(state, insn, to.size, to.size >= 4 ? value : kNoValue);
}

void Interpreter::push(State& state, ValueNumber pushed, uint32_t insn) {
  Value rsp = value(state, kRsp);
  used(values_[pushed], rsp.kind == Kind::stack ? kOnStack : kKept);
  if (rsp.kind != Kind::stack) return;
  rsp.address -= kWord;
  state.registers[kRsp] = numbers_[insn].stack_pointer.of(rsp, values_);
  state.store(rsp, kWord, pushed);
}

Value Interpreter::pop(State& state, uint32_t insn) {
  Value rsp = value(state, kRsp);
  if (rsp.kind != Kind::stack) return Value::unknown(fresh_id(insn), false);
  const Value popped = load(state, rsp, kWord, false, insn);
  rsp.address += kWord;
  state.registers[kRsp] = numbers_[insn].stack_pointer.of(rsp, values_);
  return popped;
}

// The number of the value that a call leaves in the first of the registers that it may change. The numbers of the
// others follow it.
ValueNumber Interpreter::left_by_call(uint32_t insn) {
  ValueNumber& first = numbers_[insn].result.number;
  if (first != kNoValue) return first;
  for (uint8_t r = 0; r < kRegisters; ++r)
    if (kCallerSaved >> r & 1) {
      const ValueNumber number = values_.add(left_elsewhere(insn, r));
      if (first == kNoValue) first = number;
    }
  return first;
}

void Interpreter::call(State& state, uint32_t insn) {
  ValueNumber left = left_by_call(insn);
  for (uint8_t r = 0; r < kRegisters; ++r) {
    if (!(kCallerSaved >> r & 1)) continue;
    const bool keep = calls_preserve_ && r != kRax && code_.semantics(insn).from.type == Type::none;
    if (!keep) state.registers[r] = left;
    ++left;
  }
  state.comparison = {};
}

void Interpreter::catch_exception(State& state, uint32_t insn) {
  ValueNumber left = left_by_call(insn);
  for (uint8_t r = 0; r < kRegisters; ++r)
    if (kCallerSaved >> r & 1) state.registers[r] = left++;
  state.comparison = {};
}

void Interpreter::compare(State& state, const Semantics& op, uint32_t insn) {
  state.comparison = {};
  Value with = operand(state, op.from, insn, false, op.to.size);
  used(with, kCompared);
  Value compared;
  if (op.to.type == Type::memory) {
    const Value address = address_of(state, insn);
    if (address.kind != Kind::stack) return dereferenced(address);
    if (const ValueNumber word = state.stack_word(address); word != kNoValue) {
      compared = values_[word];
    } else {
      compared = Value::unknown(fresh_id(insn), false);
      state.store(address, op.to.size, numbers_[insn].result.of(compared, values_));
    }
  } else {
    compared = value(state, op.to.reg);
  }
  used(compared, kCompared);
  if (with.is_number()) note_comparison(state, compared, with.address, op.to.size);
}

void Interpreter::note_comparison(State& state, const Value& compared, uint64_t with, uint8_t size) const {
  // A comparison of a table's entry tells nothing about its index.
  if (compared.kind != Kind::unknown && (compared.kind != Kind::element || compared.scale != 1)) return;
  const uint8_t width = uint8_t(size * 8);
  const uint64_t low_bits = width == 64 ? UINT64_MAX : (1ull << width) - 1;
  state.comparison = {compared.id, compared.scale, std::min(width, compared.narrow), with & low_bits};
}

void Interpreter::branch(State& state, uint32_t insn, bool taken) {
  const Comparison& c = state.comparison;
  const Condition of_jump = code_.semantics(insn).condition;
  const Condition condition = taken ? of_jump : negated(of_jump);  // that is true on this path
  // What is not above a great unsigned number may be negative.
  const uint64_t greatest = is_signed(condition) || c.width == 32 ? INT32_MAX : INT64_MAX;
  if (c.id == 0 || c.with > greatest) return;
  if ((condition == Condition::below || condition == Condition::less) && c.with != 0)
    state.limit(c, c.with - 1, is_signed(condition), values_);
  else if (condition == Condition::below_or_equal || condition == Condition::less_or_equal)
    state.limit(c, c.with, is_signed(condition), values_);
}

void Interpreter::add(State& state, const Semantics& op, uint32_t insn) {
  const Value a = operand(state, op.to, insn, false, op.to.size);
  Value b = operand(state, op.from, insn, false, op.to.size);
  if (op.action == Action::subtract) {
    if (a.kind == Kind::stack && !b.is_number()) {
      used(b, kComputed);
      set(state, op.to.reg, Value::stack(fresh_id(insn), 0), insn);  // alloca
      return;
    }
    if (b.is_number()) {
      note_comparison(state, a, b.address, op.to.size);
      b.address = -b.address;
    } else {
      used(a, kComputed);
      used(b, kComputed);
      set(state, op.to.reg, Value::unknown(fresh_id(insn), true), insn);
      return;
    }
  }
  const Value total = sum({a, b, {}}, 2, fresh_id(insn));
  Value r = heed_distance(total, insn);
  if (total.kind == Kind::unknown) {
    used(a, kComputed);
    used(b, kComputed);
  }
  if (op.to.size < kWord) r = extended(r, op.to.size, false, fresh_id(insn));
  set(state, op.to.reg, r, insn);
}

void Interpreter::other(State& state, const Semantics& op, uint32_t insn) {
  bool on_stack = false;
  for (uint8_t r = 0; r < kRegisters; ++r)
    if (op.reads >> r & 1) {
      used(value(state, r), kComputed);
      on_stack |= value(state, r).may_be_on_stack();
    }
  for (uint8_t r = 0; r < kRegisters; ++r)
    if (op.writes >> r & 1) {
      Value result = Value::unknown(fresh_id(insn) + (r & 1), true);
      result.on_stack = on_stack;
      set(state, r, result, insn);
    }
  if (op.memory_size == 0) return;
  if (op.memory_written)
    store(state, insn, op.memory_size, kNoValue);
  else if (!op.memory.rip_relative)
    dereferenced(address_of(state, insn));
}

// Long because it has a case for each action; no case depends on another.
void Interpreter::step(State& state, uint32_t insn) {
  const Semantics& op = code_.semantics(insn);
  switch (op.action) {
    case Action::move: {
      ValueNumber v = operand_number(state, op.from, insn, op.sign_extend, op.to.size);
      if (op.to.size < kWord)
        v = numbers_[insn].result.of(extended(values_[v], op.to.size, false, fresh_id(insn)), values_);
      set(state, op.to, v, insn);
      break;
    }
    case Action::lea: {
      Value v = address_of(state, insn);
      if (v.kind == Kind::unknown)
        for (uint8_t r : {op.memory.base, op.memory.index})
          if (r != kNoRegister) used(value(state, r), kComputed);
      if (op.to.size < kWord) v = extended(v, op.to.size, false, fresh_id(insn));
      set(state, op.to, numbers_[insn].result.of(v, values_), insn);
      break;
    }
    case Action::add:
    case Action::subtract:
      state.comparison = {};
      add(state, op, insn);
      return;
    case Action::mask: {
      const Value& v = value(state, op.to.reg);
      used(v, kComputed);
      Value r = Value::unknown(fresh_id(insn), true);
      r.had_constant = v.had_constant;
      if (v.kind == Kind::stack) {
        r = Value::stack(fresh_id(insn), 0);
      } else if (op.immediate >= 0) {
        r.bound = uint64_t(op.immediate);
        r.zeros = uint8_t(std::min(std::countr_zero(r.bound), 3));
      }
      set(state, op.to.reg, r, insn);
      break;
    }
    case Action::shift: {
      const Value& v = value(state, op.to.reg);
      used(v, kComputed);
      set(state, op.to.reg,
          op.immediate <= 7 ? scaled(v, uint8_t(1u << op.immediate), fresh_id(insn))
                            : Value::unknown(fresh_id(insn), true),
          insn);
      break;
    }
    case Action::zero:
      set(state, op.to.reg, Value::number(0), insn);
      break;
    case Action::forget:
      set(state, op.to.reg, Value::unknown(fresh_id(insn), true), insn);
      break;
    case Action::demangle:
      used(value(state, op.to.reg), kComputed);
      set(state, op.to.reg, Value::unknown(fresh_id(insn), false), insn);
      break;
    case Action::push:
      push(state, operand_number(state, op.from, insn, false, kWord), insn);
      break;
    case Action::pop: {
      const ValueNumber v = numbers_[insn].result.of(pop(state, insn), values_);
      set(state, op.to, v, insn);
      break;
    }
    case Action::leave: {
      state.registers[kRsp] = state.registers[kRbp];
      set(state, kRbp, pop(state, insn), insn);
      break;
    }
    case Action::call:
      call(state, insn);
      break;
    case Action::compare:
      compare(state, op, insn);
      return;
    case Action::move_if: {
      const Value v = operand(state, op.from, insn, false, op.to.size);
      Value to = merged(value(state, op.to.reg), v, 1ull << 60 | insn, JoinPolicy::sound, Certain::both, origins_);
      if (op.to.size < kWord) to = extended(to, op.to.size, false, fresh_id(insn));
      set(state, op.to.reg, to, insn);
      break;
    }
    case Action::exchange:
      std::swap(state.registers[op.to.reg], state.registers[op.from.reg]);
      break;
    case Action::other:
      other(state, op, insn);
      break;
  }
  if (op.writes_flags) state.comparison = {};
}

Value Interpreter::jump_target(const State& state, uint32_t insn) {
  const Semantics& op = code_.semantics(insn);
  if (op.from.type == Type::reg) {
    used(value(state, op.from.reg), kKept);
    return value(state, op.from.reg);
  }
  return load(state, address_of(state, insn), kWord, false, insn);
}

bool Interpreter::jumps_through_red_zone(const State& state, uint32_t insn) {
  const Value& rsp = value(state, kRsp);
  if (code_.semantics(insn).from.type != Type::memory) return false;
  const Value address = address_of(state, insn);
  return address.on_stack || (address.kind == Kind::stack && rsp.kind == Kind::stack && address.id == rsp.id &&
                              int64_t(address.address) < int64_t(rsp.address));
}

}  // namespace profld
