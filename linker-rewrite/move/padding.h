// Executable bytes that belong to no function: code that no table describes, and padding.

#ifndef LINKER_REWRITE_MOVE_PADDING_H
#define LINKER_REWRITE_MOVE_PADDING_H

#include <vector>

#include "linker-rewrite/program/fragments.h"

namespace profld {

// All such bytes, ascending.
std::vector<OldRange> code_outside_functions(const Program& program);

// Bytes of them that are neither run nor read.
struct Padding {
  OldRange range;
  // Index of the code range before it: only if that moves; if not, control may fall out of it, or its bytes may be read
  // up to the next function (V8 sums up its builtins). -1: always.
  ptrdiff_t if_moved;
};

// Ascending, not overlapping.
std::vector<Padding> find_padding(const Program& program, const std::vector<OldRange>& outside);

}  // namespace profld

#endif
