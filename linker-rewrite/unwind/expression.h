// The operations of DWARF expressions (DWARF 5, 2.5) that unwind tables contain.

#ifndef LINKER_REWRITE_UNWIND_EXPRESSION_H
#define LINKER_REWRITE_UNWIND_EXPRESSION_H

#include <optional>

#include "linker-rewrite/base/bytes.h"

namespace profld {

struct ExpressionOperation {
  uint8_t opcode = 0;           // DW_OP_*
  std::optional<uint64_t> reg;  // the register whose value it takes, by DWARF's number
  int64_t offset = 0;           // that it adds to it
  ByteView operands;            // the bytes behind the opcode
  ByteView bytes;               // all of it

  bool is_jump() const;  // it goes on elsewhere in the expression
};

// Reads the next operation of `expression`, whose reader is not at its end. False if it is not understood; throws Error if
// it is cut off.
bool read_operation(ByteView expression, Reader& reader, ExpressionOperation& out);

}  // namespace profld

#endif
