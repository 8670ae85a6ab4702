// Which memory the instructions of a basic block touch, by what the registers hold (profld --trace=memory).
//
// What a register holds is followed through the block as far as that is certain: a number, an address in the program,
// or a value that is not known, which came into the register at some place of the block. Numbers that are added to it,
// as by push and pop to the stack pointer, are kept apart. So one value, written down anywhere where a register holds
// it, gives the addresses of many accesses, before and after. The same goes on from a block to one after it that
// control comes to from there only.

#ifndef LINKER_REWRITE_BLOCKS_BLOCK_ADDRESSES_H
#define LINKER_REWRITE_BLOCKS_BLOCK_ADDRESSES_H

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "linker-rewrite/x86/decode.h"
#include "linker-rewrite/x86/memory_operands.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

// `offset` more than the origin.
struct HeldValue {
  static constexpr uint32_t kNumber = 0;   // the origin: 0
  static constexpr uint32_t kAddress = 1;  // the origin: the program's link-time address 0
  static constexpr uint32_t kFirst = 2;    // those from here on: values that are not known

  uint32_t origin = kNumber;
  int64_t offset = 0;

  bool operator==(const HeldValue&) const = default;
};
using HeldRegisters = std::array<HeldValue, kRegisters>;

// A value that is to be written down. `is_exact`: as it is; else something at a known distance from it does as well.
struct NeededValue {
  HeldValue value;
  bool is_exact = false;

  bool operator==(const NeededValue&) const = default;
};

// An access to memory, as TraceOperand in libprof/format/trace.h has it.
struct BlockAccess {
  uint32_t place = 0;  // which instruction
  uint16_t size = 0;
  uint8_t flags = 0, form = 0;  // kAccess..., kAddress...
  std::optional<NeededValue> base, index, count;
  bool needs_fs = false;     // the base of fs is to be added
  bool needs_flags = false;  // those with which the block begins say whether it is repeated downwards
  int64_t addend = 0;

  bool needs_values() const { return base || index || count || needs_fs || needs_flags; }
  BlockAccess unknown() const;  // the same as one whose address cannot be told
};

class BlockAddresses {
 public:
  BlockAddresses();

  // The instructions [first, end) of `code` run after those so far.
  void append(const Code& code, uint32_t first, uint32_t end);

  // Instructions have their places here, from 0 on; after the last one there is one more.
  uint32_t size() const { return uint32_t(held_.size()); }
  const HeldRegisters& before(uint32_t place) const { return place < size() ? held_[place] : now_; }
  const std::vector<BlockAccess>& accesses() const { return accesses_; }  // in their order
  // The register that holds the value before the instruction; kNoRegister: none does.
  uint8_t holder(uint32_t place, const NeededValue& value) const;
  // Whether the flags before the instruction have the direction with which the block begins.
  bool has_first_direction(uint32_t place) const { return place <= direction_set_by_; }

 private:
  using Direction = DecodedInstruction::Direction;

  void run(const Code& code, const Insn& insn);
  HeldValue unknown() { return {next_++, 0}; }
  void add_access(const Code& code, const Insn& insn, const DecodedInstruction& in, const MemoryOperand& operand);
  bool add_register(BlockAccess& access, const MemoryOperand& operand) const;
  bool add_repetition(BlockAccess& access, const DecodedInstruction& in) const;

  uint32_t next_ = HeldValue::kFirst;
  HeldRegisters now_;
  Direction direction_ = Direction::as_before;
  uint32_t direction_set_by_ = UINT32_MAX;  // the first instruction that sets it
  std::vector<HeldRegisters> held_;
  std::vector<BlockAccess> accesses_;
};

}  // namespace profld

#endif
