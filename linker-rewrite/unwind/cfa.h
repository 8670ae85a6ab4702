// Call-frame programs: the instructions of CIEs and FDEs (DWARF 5, 6.4.2), which build, row by row, a table that
// tells an unwinder for every address of a function where its caller's registers are. The canonical frame address
// (CFA) is the value of rsp before the call; other registers' places are given relative to it.

#ifndef LINKER_REWRITE_UNWIND_CFA_H
#define LINKER_REWRITE_UNWIND_CFA_H

#include <optional>
#include <vector>

#include "eh_frame.h"
#include "linker-rewrite/base/bytes.h"

namespace profld {

// The operations of DWARF expressions (DWARF 5, 2.5) that unwind tables contain.
struct ExpressionOperation {
  uint8_t opcode = 0;           // DW_OP_*
  std::optional<uint64_t> reg;  // the register whose value it takes, by DWARF's number
  int64_t offset = 0;           // that it adds to it
  ByteView operands;            // the bytes after the opcode
  ByteView bytes;               // all of it

  bool is_jump() const;  // it goes on elsewhere in the expression
};

// Reads the next operation of `expression`, whose reader is not at its end. False if it is not understood; throws Error
// if it is cut off.
bool read_operation(ByteView expression, Reader& reader, ExpressionOperation& out);

// DWARF's numbers of registers.
inline constexpr uint64_t kRegisterRbp = 6, kRegisterRsp = 7, kRegisterRip = 16;

struct CfaInstruction {
  uint8_t opcode = 0;    // DW_CFA_*; those with an operand in their low bits (offset, restore) without it
  OldAddr location;      // start of the row it belongs to
  uint64_t reg = 0;      // its register, if it names one (the first, if two)
  uint64_t operand = 0;  // the other operand: register, offset (factored ones multiplied, signed ones two's complement)
  ByteView expression;   // its DWARF expression, if it has one
  ByteView bytes;        // all of it
};

// Steps through a program: gives all instructions except those that advance the location, and nops.
class CfaReader {
 public:
  // The initial instructions of a CIE: `start` is the location for all of them.
  CfaReader(const EhFrame& frames, const Cie& cie, OldAddr start);
  CfaReader(const EhFrame& frames, const Fde& fde);

  // False at the end of the program, and where it is not understood (then `why` says so).
  bool next(CfaInstruction& out);
  std::optional<Reason> why() const { return why_; }

 private:
  bool read(CfaInstruction& out);
  bool advance_to(uint64_t location);

  const EhFrame& frames_;
  const Cie& cie_;
  Reader reader_;
  ByteView program_;
  OldAddr program_at_;
  OldAddr location_;
  bool initial_;
  std::optional<Reason> why_;
};

// What we need to know of a row.
struct CfaRow {
  bool cfa_is_register = false;  // CFA = register + offset; else an expression
  uint64_t cfa_register = 0;
  uint64_t cfa_offset = 0;
  bool return_address_undefined = false;
  // Bit r: the row says that register r is in memory below the return address (or where an expression says).
  uint32_t saved = 0;

  // True if the row is as at the entry of a function: nothing is on the stack but the return address.
  bool is_empty_frame() const { return cfa_is_register && cfa_register == kRegisterRsp && cfa_offset == 8; }
};

// Builds the rows of an FDE.
class CfaState {
 public:
  // Starts with the CIE's row.
  CfaState(const EhFrame& frames, const Fde& fde);
  // False if the programs make no sense.
  bool apply(const CfaInstruction& instruction);
  bool understood() const { return understood_; }
  const CfaRow& row() const { return row_; }
  // Registers that the row says are saved, though the frame has been given up: they have their old values again.
  // Compilers do not mention it: until the next call the stack below the return address still holds those values as
  // well.
  uint32_t restored() const { return had_frame_ && row_.is_empty_frame() ? row_.saved & ~initial_.saved : 0; }

 private:
  CfaRow row_, initial_;
  std::vector<CfaRow> remembered_;
  bool had_frame_ = false;
  bool understood_ = true;
};

// The row that holds at `address`; nullopt if the program up to there is not understood.
std::optional<CfaRow> row_at(const EhFrame& frames, const Fde& fde, OldAddr address);

// Why the programs of the FDE and its CIE cannot be copied to another place. Nullopt if they can: with their locations
// mapped they mean the same there, for the code where it was or (`code_moves`) for a copy of it.
std::optional<Reason> why_not_movable(const Image& image, const EhFrame& frames, const Fde& fde, bool code_moves);

// Appends an instruction that advances the location by `delta` bytes (code alignment 1); none for 0.
void append_advance(Bytes& out, uint64_t delta);

}  // namespace profld

#endif
