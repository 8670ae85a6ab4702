// What is known, at one point of a function without unwind tables, of the stack: how far the stack pointer is below its
// value at the entry, and where the registers that a function must keep for its caller are. See stack_state.cc.

#ifndef LINKER_REWRITE_DISCOVER_STACK_STATE_H
#define LINKER_REWRITE_DISCOVER_STACK_STATE_H

#include <array>
#include <optional>
#include <vector>

#include "linker-rewrite/x86/semantics.h"

namespace profld {

// What a register or a word on the stack holds.
struct Holds {
  enum class Kind : uint8_t {
    unknown,
    entry,  // what the register `reg` held at the entry
    stack,  // `offset` bytes from the start of frame `frame`: 0 is the stack pointer at the entry
  };
  Kind kind = Kind::unknown;
  uint8_t reg = 0;
  uint32_t frame = 0;
  int64_t offset = 0;
  bool operator==(const Holds&) const = default;
};

// What code does that no compiler's function does at its entry, or before it returns. A set of bits.
enum Breach : uint8_t {
  kUsesKept = 1,        // reads a register that it must keep, before it has written to it, but to save it
  kNotKept = 2,         // leaves a register that it must keep with another value
  kUsesUnset = 4,       // reads a register that holds no argument, or the flags, before it has written to them
  kReadsBelow = 8,      // reads bytes below the stack pointer that it has not written
  kLeavesInFrame = 16,  // returns, while its frame is on the stack
  kHeightUnknown = 32,  // leaves, while the height of the stack is not known
};

class StackState {
 public:
  // That of a function's entry.
  static StackState at_entry();

  // What the instruction does, which is number `place` of its function. Returns a set of Breach.
  uint8_t step(const Semantics& op, Flow flow, uint32_t place);
  // Joins what is known on another path to the same place. True if that changed anything.
  bool merge(const StackState& other);
  // True if the stack has another height there, so that one of the two paths is none.
  bool contradicts(const StackState& other) const {
    const Holds &a = registers_[kRsp], &b = other.registers_[kRsp];
    return a.kind == Holds::Kind::stack && b.kind == a.kind && a.frame == b.frame && a.offset != b.offset;
  }

  bool operator==(const StackState&) const = default;

  // The canonical frame address, as a register and what has to be added to it; nullopt if it is not known.
  struct FrameAddress {
    uint8_t reg;
    int64_t offset;
    bool operator==(const FrameAddress&) const = default;
  };
  std::optional<FrameAddress> frame_address() const;
  static constexpr FrameAddress kNoFrame{kRsp, 8};  // nothing but the return address is on the stack
  // The stack is as at the entry: nothing on it but the return address, and the registers to keep have their values.
  bool is_as_at_entry() const;
  // That, and there was a frame: a register to keep was saved, and has its value again. So an epilogue is over.
  bool is_after_epilogue() const;
  // False if a call would find the stack at another distance from a multiple of 16 than functions may rely on.
  bool may_call() const;
  // What is wrong if control leaves the function for its caller here.
  uint8_t breaches_at_return() const;

 private:
  struct Word {
    uint32_t frame;
    int64_t offset;
    Holds holds;
    bool operator==(const Word&) const = default;
  };

  const Holds* word(const Holds& at) const;
  void store(const Holds& at, uint64_t size, const Holds& what);
  Holds address_of(const Memory& m, uint32_t place) const;
  uint8_t read_memory(const Semantics& op, uint32_t place) const;
  uint8_t write_memory(const Semantics& op, uint32_t place, const Holds& what);
  void push(const Holds& what);
  Holds pop();
  uint8_t uses(uint16_t registers) const;
  void clobber(uint16_t registers);
  void add(const Semantics& op, uint32_t place);

  std::array<Holds, kRegisters> registers_;
  std::vector<Word> words_;  // of 8 bytes, that hold something known; sorted
  // The 128 bytes below the stack pointer at the entry that were written: a bit for each word of 8.
  uint16_t written_below_ = 0;
  bool flags_set_ = false;
};

}  // namespace profld

#endif
