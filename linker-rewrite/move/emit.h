// Writes the bytes of one copy, according to its plan (plan.h).

#ifndef LINKER_REWRITE_MOVE_EMIT_H
#define LINKER_REWRITE_MOVE_EMIT_H

#include <vector>

#include "import_thunks.h"
#include "linker-rewrite/base/bytes.h"
#include "plan.h"

namespace profld {

// An address that an instruction names and that changes in the copy: of a label, or of a jump table.
struct AddressChange {
  uint32_t insn;      // index in the range
  uint8_t field;      // offset in the instruction of the four bytes that hold it
  bool rip_relative;  // they are the distance from the end of the instruction
  NewAddr address;
};

// What code refers to that counts or records basic blocks.
struct CounterWords {
  NewAddr first_counter;  // of profld -b
  TraceWords trace;       // of profld --trace
};

// Writes the copy to `out`, which has room for it. Throws Error if the copy refers to something too far away. Returns the
// changes that lead the relocations in the original's code to the copy.
std::vector<Patch> emit_copy(const Program& program, const CopyMap& copies, HookSlots hook_slots,
                             const ImportThunks& thunks, const CounterWords& counters, const RangePlan& plan,
                             const RangeCopy& copy, std::vector<AddressChange> changes, uint8_t* out);

}  // namespace profld

#endif
