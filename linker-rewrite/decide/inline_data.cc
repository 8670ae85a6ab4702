// A call may have data after it: a number, a text. The callee finds them by its return address, and goes on after them.
// Hand-written code does so, interpreters above all, and C by __builtin_return_address or __builtin_frame_address. What
// such data decodes to is no code, and must not be changed as if it was. Nothing at the call shows that; the callee
// does. So its return address is followed through it, from the word of the stack that holds it at the entry: if it is
// used as the address of data, the callee reads what is after its calls; if it comes back to where a return takes its
// target from, or to a jump, with something added to it, the callee skips that. A callee that skips stays, and whatever
// calls it, or one that reads, stays as well. A function that ends in a jump to one of them is one of them.
//
// The distance between a return address and another address is no address, whatever it is used for.
//
// Functions that put another address there (retpolines, context switches) do not skip, nor does what only keeps the
// return address (a profiler's own hooks). If a function gets the return address as an argument, its result may be a
// later one: the end of a text that it has printed.
//
// Instructions are gone through in their order, as often as something new is learnt of where jumps lead.
//
// Not seen: calls through pointers. Whoever could make one cannot be known, and to keep all functions that call through
// pointers would be to profile none. Nor callees in other files, or in code that is in no function.

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "code_dependences.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/program/imports.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/return_slot.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

namespace {

constexpr uint8_t kWord = 8;
constexpr uint16_t kCallerSaved = 0b0000'1111'1100'0111;  // rax, rcx, rdx, rsi, rdi, r8 to r11
constexpr uint16_t kArguments = 0b0000'0011'1100'0110;    // rdi, rsi, rdx, rcx, r8, r9

struct Value {
  enum class Kind : uint8_t {
    unknown,
    stack,    // `offset` bytes from the word with the return address
    caller,   // the return address
    changed,  // computed from it
  };
  Kind kind = Kind::unknown;
  int64_t offset = 0;
  bool operator==(const Value&) const = default;
  bool is_of_caller() const { return kind == Kind::caller || kind == Kind::changed; }
};
using Kind = Value::Kind;

struct State {
  std::array<Value, kRegisters> registers;
  std::map<int64_t, Value> words;  // of the stack, by offset; only those about which something is known
  bool operator==(const State&) const = default;

  // What is known of both. True if that is less than was known of this one.
  bool merge(const State& other) {
    bool changed = false;
    for (uint8_t r = 0; r < kRegisters; ++r)
      if (registers[r].kind != Kind::unknown && registers[r] != other.registers[r]) {
        const bool both = registers[r].is_of_caller() && other.registers[r].is_of_caller();
        const Value v{both ? Kind::changed : Kind::unknown, 0};
        changed |= v != registers[r];
        registers[r] = v;
      }
    for (auto w = words.begin(); w != words.end();) {
      const auto there = other.words.find(w->first);
      const bool known = there != other.words.end() && there->second.is_of_caller();
      if (known && there->second.kind == Kind::changed && w->second.kind == Kind::caller)
        w->second.kind = Kind::changed, changed = true;
      changed |= !known;
      w = known ? std::next(w) : words.erase(w);
    }
    return changed;
  }
};

class ReturnAddress {
 public:
  explicit ReturnAddress(const Code& code) : code_(code) {}

  bool reads = false, skips = false;  // what is after the call

  void follow() {
    State entry;
    entry.registers[kRsp] = {Kind::stack, 0};
    entry.words[0] = {Kind::caller, 0};
    at_[0] = entry;
    constexpr int kMaxRounds = 8;
    changed_ = true;
    for (int round = 0; changed_ && round < kMaxRounds; ++round) {
      changed_ = false;
      go_through();
      if (!seen_) return;
    }
  }

 private:
  void go_through() {
    bool known = false;
    State s;
    for (size_t i = 0; i < code_.insns.size(); ++i) {
      const Insn& insn = code_.insns[i];
      if (const auto there = at_.find(i); there != at_.end()) {
        if (known && there->second.merge(s)) changed_ = true;
        s = there->second;
        known = true;
      }
      if (!known) continue;
      known = step(s, insn);
    }
  }

  void reach(OldAddr target, const State& s) {
    const auto i = code_.range.contains(target) ? code_.index(target) : std::nullopt;
    if (!i) return;
    const auto [there, added] = at_.try_emplace(*i, s);
    if (added || there->second.merge(s)) changed_ = true;
  }

  // False if control does not go on after the instruction.
  bool step(State& s, const Insn& insn) {
    const Semantics op = semantics_of(code_, insn);
    look_at_memory(s, op);
    Value& rsp = s.registers[kRsp];
    switch (insn.flow) {
      case Flow::next:
        effect(s, op, insn);
        return true;
      case Flow::call:
        if (code_.target(insn) == code_.next(insn)) {
          push(s, {});
          return true;
        }
        [[fallthrough]];
      case Flow::call_indirect:
        call(s);
        return true;
      case Flow::jump:
        reach(code_.target(insn), s);
        return false;
      case Flow::jump_if:
      case Flow::jump_if_short:
        reach(code_.target(insn), s);
        return true;
      case Flow::jump_indirect:
        if (!insn.rip_relative && op.from.type == Operand::Type::reg)
          skips |= s.registers[op.from.reg].kind == Kind::changed;
        return false;
      case Flow::ret:
        if (rsp.kind == Kind::stack) skips |= word(s, rsp.offset).kind == Kind::changed;
        return false;
      case Flow::stop:
        return false;
    }
    return false;
  }

  void look_at_memory(const State& s, const Semantics& op) {
    for (uint8_t r = 0; r < kRegisters; ++r)
      if ((op.addressing >> r & 1) && s.registers[r].is_of_caller()) reads = true;
    if (op.memory_size == 0 || op.action == Action::lea || !op.memory.understood || op.memory.rip_relative) return;
    for (uint8_t r : {op.memory.base, op.memory.index})
      if (r != kNoRegister && s.registers[r].is_of_caller()) reads = true;
  }

  void call(State& s) {
    bool given = false;
    for (uint8_t r = 0; r < kRegisters; ++r)
      if (kArguments >> r & 1) given |= s.registers[r].is_of_caller();
    for (uint8_t r = 0; r < kRegisters; ++r)
      if (kCallerSaved >> r & 1) s.registers[r] = {};
    if (given) s.registers[kRax] = {Kind::changed, 0};
  }

  static Value word(const State& s, int64_t offset) {
    const auto w = s.words.find(offset);
    return w != s.words.end() ? w->second : Value();
  }
  Value loaded(const State& s, const Semantics& op) {
    const auto at = place(s, op);
    const Value v = at && op.from.size == kWord ? word(s, *at) : Value();
    seen_ |= v.is_of_caller();
    return v;
  }
  static void store(State& s, int64_t offset, uint8_t size, const Value& v) {
    s.words.erase(s.words.upper_bound(offset - kWord), s.words.lower_bound(offset + std::max<uint8_t>(size, 1)));
    if (size == kWord && v.is_of_caller()) s.words[offset] = v;
  }
  static std::optional<int64_t> place(const State& s, const Semantics& op) {
    const Memory& m = op.memory;
    if (!m.understood || m.rip_relative || m.base == kNoRegister || m.index != kNoRegister) return std::nullopt;
    const Value& base = s.registers[m.base];
    return base.kind == Kind::stack ? std::optional(base.offset + m.displacement) : std::nullopt;
  }
  static void push(State& s, const Value& v) {
    Value& rsp = s.registers[kRsp];
    if (rsp.kind != Kind::stack) return;
    rsp.offset -= kWord;
    store(s, rsp.offset, kWord, v);
  }
  Value pop(State& s) {
    Value& rsp = s.registers[kRsp];
    if (rsp.kind != Kind::stack) return {};
    const Value v = word(s, rsp.offset);
    seen_ |= v.is_of_caller();
    rsp.offset += kWord;
    return v;
  }
  Value source(const State& s, const Semantics& op) {
    if (op.from.type == Operand::Type::reg && op.from.size == kWord) return s.registers[op.from.reg];
    return op.from.type == Operand::Type::memory ? loaded(s, op) : Value();
  }

  void set(State& s, const Semantics& op, const Value& v) {
    if (op.to.type == Operand::Type::reg)
      s.registers[op.to.reg] = op.to.size == kWord ? v : Value();
    else if (const auto at = op.to.type == Operand::Type::memory ? place(s, op) : std::nullopt)
      store(s, *at, op.to.size, v);
  }

  // Whether the number leads from one place after a call to another. A larger one is an address, and the result is a
  // distance between addresses: profilers count by that.
  static bool is_step(int64_t number) {
    constexpr int64_t kFarthest = 1 << 16;
    return number > -kFarthest && number < kFarthest;
  }

  void effect(State& s, const Semantics& op, const Insn& insn) {
    switch (op.action) {
      case Action::move:
        return set(s, op, source(s, op));
      case Action::lea: {
        const Memory& m = op.memory;
        if (const auto at = place(s, op)) return set(s, op, {Kind::stack, *at});
        bool of_caller = false;
        for (uint8_t r : {m.base, m.index}) of_caller |= r != kNoRegister && s.registers[r].is_of_caller();
        of_caller &= is_step(m.displacement);
        return set(s, op, of_caller ? Value{Kind::changed, 0} : Value());
      }
      case Action::add:
      case Action::subtract: {
        Value& v = s.registers[op.to.reg];
        const bool is_number = op.from.type == Operand::Type::immediate;
        const bool is_distance = is_number ? !is_step(op.immediate) : op.action == Action::subtract;
        const bool of_caller = (v.is_of_caller() || source(s, op).is_of_caller()) && !is_distance;
        if (v.kind == Kind::stack && is_number && op.to.size == kWord)
          v.offset += op.action == Action::add ? op.immediate : -op.immediate;
        else
          v = of_caller ? Value{Kind::changed, 0} : Value();
        return;
      }
      case Action::push:
        return push(s, source(s, op));
      case Action::pop:
        return set(s, op, pop(s));
      case Action::leave:
        s.registers[kRsp] = s.registers[kRbp];
        s.registers[kRbp] = pop(s);
        return;
      case Action::exchange:
        return std::swap(s.registers[op.to.reg], s.registers[op.from.reg]);
      case Action::compare:
        return;
      default:
        return other(s, op, insn);
    }
  }

  void other(State& s, const Semantics& op, const Insn& insn) {
    const auto at = op.memory_size == kWord ? place(s, op) : std::nullopt;
    const Value there = at ? word(s, *at) : Value();
    seen_ |= there.is_of_caller();
    const bool adds = adds_to_word(code_.bytes_of(insn));
    if (adds && op.memory_written) {
      if (at && there.is_of_caller()) s.words[*at] = {Kind::changed, 0};
      return;
    }
    // An exchange with memory writes both.
    const bool exchanges = at && op.memory_written && !op.writes_flags && op.writes != 0;
    Value stored;
    for (uint8_t r = 0; r < kRegisters; ++r) {
      if (!(op.writes >> r & 1)) continue;
      Value& v = s.registers[r];
      if (exchanges) stored = v;
      // String instructions go on to the next bytes; inc and dec.
      const bool of_caller = v.is_of_caller() && ((op.addressing >> r & 1) || adds || (op.reads >> r & 1));
      v = exchanges ? there : of_caller ? Value{Kind::changed, 0} : Value();
    }
    if (op.memory_written)
      if (const auto place_written = place(s, op)) store(s, *place_written, op.memory_size, stored);
  }

  const Code& code_;
  std::map<size_t, State> at_;  // instructions that jumps lead to
  bool changed_ = false;
  bool seen_ = false;  // the return address was looked at
};

}  // namespace

InlineDataUse find_inline_data(const Program& program) {
  struct Found {
    uint32_t range;
    bool skips;
  };
  const std::vector<Found> direct =
      parallel_collect<Found>(program.ranges.size(), [&](size_t i, std::vector<Found>& out) {
        const CodeRange& r = program.ranges[i];
        if (r.fragment || !may_use_return_address(program.code(r))) return;
        ReturnAddress a(program.code(r));
        a.follow();
        if (a.reads || a.skips) out.push_back({uint32_t(i), a.skips});
      });
  InlineDataUse use;
  if (direct.empty()) return use;
  std::set<OldAddr> entries;
  for (const Found& f : direct) {
    entries.insert(program.ranges[f.range].range.start);
    if (f.skips) use.skipping.push_back(program.ranges[f.range].group);
  }
  // Where a call or a jump leads, through the words of the linker as well.
  const auto target_of = [&](const Code& code, const Insn& insn) -> std::optional<OldAddr> {
    std::optional<OldAddr> word;
    if (insn.flow == Flow::call_indirect || insn.flow == Flow::jump_indirect) {
      if (!insn.rip_relative) return std::nullopt;
      word = code.target(insn);
    } else if (insn.flow == Flow::next || insn.flow == Flow::ret || insn.flow == Flow::stop) {
      return std::nullopt;
    } else {
      const OldAddr target = code.target(insn);
      if (program.range_of(target) >= 0) return target;
      word = got_entry_of_stub(*program.image, target);
    }
    const Relocation* r = word ? program.image->relocation_at(*word) : nullptr;
    if (!r) return std::nullopt;
    if (r->type == R_X86_64_RELATIVE) return OldAddr(uint64_t(r->addend));
    const Symbol* symbol = symbol_of_got_entry(*program.image, *word);
    return symbol && symbol->section != SHN_UNDEF ? std::optional(symbol->address) : std::nullopt;
  };
  for (bool more = true; std::exchange(more, false);) {
    use.calls.clear();
    for (const CodeRange& r : program.ranges) {
      const Code& code = program.code(r);
      for (const Insn& insn : code.insns) {
        const auto target = target_of(code, insn);
        if (!target || !entries.contains(*target)) continue;
        if (insn.flow == Flow::call || insn.flow == Flow::call_indirect)
          use.calls.push_back({r.group, code.address(insn)});
        else if (!r.range.contains(*target) && entries.insert(program.groups[r.group].code.entry).second)
          more = true;
      }
    }
  }
  return use;
}

}  // namespace profld
