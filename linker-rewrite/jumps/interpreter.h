// The effect of one instruction on the abstract state (abstract_state.h).

#ifndef LINKER_REWRITE_JUMPS_INTERPRETER_H
#define LINKER_REWRITE_JUMPS_INTERPRETER_H

#include <vector>

#include "abstract_state.h"
#include "instructions.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

// How a constant is used, besides reading a table at that address. A set of bits.
enum Use : uint8_t {
  kKept = 1,      // all its 8 bytes are stored in memory, or control jumps to it
  kComputed = 2,  // anything else that is not a mere copy
  kCompared = 4,
  kOnStack = 8,    // a copy of all its 8 bytes is stored on the stack, perhaps for a while only
  kDistance = 16,  // an address of the function's code: a number is added to it that leads out of all code
};

class Interpreter {
 public:
  // `code` must outlive this object.
  Interpreter(const Image& image, const Instructions& code);

  // Makes the interpreter less cautious, for functions that are not understood otherwise. `calls_preserve`: registers
  // that calls may change are taken to keep their values (a compiler that sees the callee knows which do). `policy`:
  // what remains where paths meet.
  void trust(bool calls_preserve, JoinPolicy policy) {
    calls_preserve_ = calls_preserve;
    policy_ = policy;
  }

  State entry_state();
  // The state at a place that control reaches in unknown ways; `insn` makes its frame different from others.
  State unknown_state(uint32_t insn);
  // The stack pointer's value in entry_state.
  static Value stack_at_entry();
  void step(State& state, uint32_t insn);
  // The same as `step` for a call that ends with an exception: control goes on at a landing pad, not after the call.
  void catch_exception(State& state, uint32_t insn);
  // Adds to the state what a conditional jump tells if it is taken (or not taken).
  void branch(State& state, uint32_t insn, bool taken);
  // Joins the state on another path to the same place; see State::merge.
  bool merge(State& into, const State& other, uint64_t key) {
    return into.merge(other, key, policy_, origins_, values_);
  }
  const Value& stack_pointer(const State& state) const { return value(state, kRsp); }
  // The target of an indirect jump.
  Value jump_target(const State& state, uint32_t insn);
  // True if the word that holds its target may lie below the stack pointer, where the call of a hook would write.
  bool jumps_through_red_zone(const State& state, uint32_t insn);

  Origins& origins() { return origins_; }
  uint64_t field_address(Origin o) const;  // the address that the field holds
  // All addresses inside the program that instructions contain.
  std::vector<OldAddr> named_addresses() const;
  // Of these, what instructions read there without an index. Sorted.
  std::vector<OldAddr> read_addresses() const;
  // For each origin, the Uses of its constant. Complete only after all instructions were stepped through.
  const std::vector<uint8_t>& uses() const { return uses_; }
  // Constants inside the function that were used as the address of data.
  bool reads_own_code() const { return reads_own_code_; }

 private:
  uint64_t fresh_id(uint32_t insn) const { return (uint64_t(insn) + 1) << 1; }
  bool is_address_value(int64_t value) const;
  // The value of a register. Valid until a register is set.
  const Value& value(const State& state, uint8_t reg) const { return values_[state.registers[reg]]; }
  void set(State& state, uint8_t reg, const Value& value, uint32_t insn) {
    state.registers[reg] = numbers_[insn].result.of(value, values_);
  }
  Value address_of(const State& state, uint32_t insn);
  Value heed_distance(const Value& sum, uint32_t insn);
  Value load(const State& state, const Value& address, uint8_t size, bool sign_extend, uint32_t insn);
  Value operand(const State& state, const Operand& o, uint32_t insn, bool sign_extend, uint8_t extended_to);
  ValueNumber operand_number(const State& state, const Operand& o, uint32_t insn, bool sign_extend,
                             uint8_t extended_to);
  void store(State& state, uint32_t insn, uint8_t size, ValueNumber value);
  void set(State& state, const Operand& to, ValueNumber value, uint32_t insn);
  void push(State& state, ValueNumber value, uint32_t insn);
  Value pop(State& state, uint32_t insn);
  ValueNumber left_by_call(uint32_t insn);
  void call(State& state, uint32_t insn);
  void compare(State& state, const Semantics& op, uint32_t insn);
  void note_comparison(State& state, const Value& compared, uint64_t with, uint8_t size) const;
  void add(State& state, const Semantics& op, uint32_t insn);
  void other(State& state, const Semantics& op, uint32_t insn);
  void used(const Value& v, Use use);
  void dereferenced(const Value& v);

  const Image& image_;
  const Instructions& code_;
  // The number that a value got when the same place made one last time: mostly it is the same value again.
  struct LastNumber {
    ValueNumber number = kNoValue;
    ValueNumber of(const Value& v, Values& values) {
      if (number == kNoValue || values[number] != v) number = values.add(v);
      return number;
    }
  };
  struct Numbers {
    LastNumber result, stack_pointer;
  };

  Origins origins_;
  Values values_;
  std::vector<Numbers> numbers_;  // of the values that each instruction makes
  std::vector<uint8_t> uses_;
  bool calls_preserve_ = false;
  JoinPolicy policy_ = JoinPolicy::sound;
  bool reads_own_code_ = false;
};

}  // namespace profld

#endif
