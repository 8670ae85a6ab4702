// What stands in the bytes outside functions: unknown code, which is decoded blindly (x86/linear_sweep.h), and padding,
// which nobody needs. A program may have hundreds of megabytes of them, so they are decoded once, for all who ask.

#ifndef LINKER_REWRITE_MOVE_UNKNOWN_CODE_H
#define LINKER_REWRITE_MOVE_UNKNOWN_CODE_H

#include <vector>

#include "linker-rewrite/base/code_set.h"
#include "linker-rewrite/program/program.h"

namespace profld {

struct UnknownCode {
  std::vector<OldRange> ranges;         // all bytes of code outside functions, ascending
  CodeSet named;                        // addresses there that instructions there name
  std::vector<OldAddr> into_functions;  // addresses in functions that instructions there name; ascending, each once
  std::vector<OldRange> fillings;       // no-operations there that control does not run into; ascending, may overlap
};

// All executable bytes that belong to no function: code that no table describes, and padding. Ascending.
std::vector<OldRange> code_outside_functions(const Program& program);

UnknownCode find_unknown_code(const Program& program);

// The end of the no-operations that start at `at`, at most `limit`. Sets `several_bytes` if one of them has more than
// two.
OldAddr end_of_no_operations(const Image& image, OldAddr at, OldAddr limit, bool* several_bytes);

// Bytes of no function that are neither run nor read.
struct Padding {
  OldRange range;
  // Index of the code range before it. The bytes are free only if that range moves; if not, control may run out of it,
  // or its bytes may be read up to the next function (V8 computes a checksum of its builtins). -1: always free.
  ptrdiff_t if_moved;
};

// Ascending, not overlapping.
std::vector<Padding> find_padding(const Program& program, const UnknownCode& unknown);

}  // namespace profld

#endif
