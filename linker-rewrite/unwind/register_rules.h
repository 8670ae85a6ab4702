// What rows of call-frame programs (cfa.h) compute from the values of registers, and how that is said where the stack
// pointer is elsewhere.
//
// The code of a record (x86/record_code.h) moves the stack pointer for a few instructions, and changes one or two
// registers. Nothing else of a frame is different there. So a row for code with a record in it is right in the record,
// too, if
//
//   the stack pointer   is taken to be what it was, wherever the row uses it: in the CFA, and in the expressions that
//                       tell where registers are, or their values
//   other registers     that the row uses are not those that the record changes. Compilers use r10 for the CFA while
//                       they align the stack, hand-written code uses rax
//
// The first is written here, row by row (append_lowered). The second is for who chooses the place of a record to see
// to, as well as for those rows that cannot be said otherwise (row_limits). Compilers write none of those.
//
// The row also says by how much the stack pointer is to be raised when control goes to a handler in this frame
// (DW_CFA_GNU_args_size): unwinders restore the stack pointer of the moment when the frame was interrupted.

#ifndef LINKER_REWRITE_UNWIND_REGISTER_RULES_H
#define LINKER_REWRITE_UNWIND_REGISTER_RULES_H

#include <vector>

#include "cfa.h"

namespace profld {

class RegisterRules {
 public:
  // Starts with the CIE's row. The programs have to be understood (why_not_movable).
  RegisterRules(const EhFrame& frames, const Fde& fde);
  void apply(const CfaInstruction& instruction);

  // Registers that the row uses, the stack pointer aside. Bit r: DWARF's number r; those from 32 on are left out.
  uint32_t used() const;
  bool uses_stack_pointer() const;
  // False if append_lowered cannot say this row.
  bool can_be_lowered() const;

  // Appends what makes the row right while the stack pointer is `depth` bytes lower than the row says; for 0 the row as
  // it was. `left_out`, bit r: register r's rule does not hold any more.
  void append_lowered(Bytes& out, uint32_t depth, uint32_t left_out) const;
  // The number of bytes by which the stack pointer is raised before a handler runs.
  uint64_t arguments_size() const { return arguments_size_; }

 private:
  struct Row {
    // What defines the CFA, with its expression; without one: register and offset.
    CfaInstruction cfa;
    // Rules of registers that use registers; others are left out.
    std::vector<CfaInstruction> rules;
  };

  void set_rule(const CfaInstruction& instruction);
  void restore_rule(uint64_t reg);
  // Calls `visit` for the CFA's expression and those of the rules.
  template <class Visit>
  void each_expression(Visit visit) const;

  Row row_, initial_;
  std::vector<Row> remembered_;
  uint64_t arguments_size_ = 0;
};

// Code with a row for which not every record can stand there.
struct RowLimit {
  OldRange range;
  uint16_t used_registers;  // of kScratchRegisters: a record must not change them
  bool fixes_stack;         // nor move the stack pointer: so there can be none
};

// Those in a range whose FDEs are understood. Most have none.
std::vector<RowLimit> row_limits(const EhFrame& frames, OldRange range);

}  // namespace profld

#endif
