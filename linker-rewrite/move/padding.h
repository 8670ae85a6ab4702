// Executable bytes that belong to no function: code that no table describes, and padding.

#ifndef LINKER_REWRITE_MOVE_PADDING_H
#define LINKER_REWRITE_MOVE_PADDING_H

#include <vector>

#include "linker-rewrite/program/fragments.h"

namespace profld {

// All such bytes, ascending.
std::vector<OldRange> code_outside_functions(const Program& program);

// Those of these bytes that are neither run nor read.
struct Padding {
  OldRange range;
  // Index of the code range before it. The bytes are free only if that range moves; if not, control may run out of it,
  // or its bytes may be read up to the next function (V8 computes a checksum of its builtins). -1: always free.
  ptrdiff_t if_moved;
};

// Ascending, not overlapping.
std::vector<Padding> find_padding(const Program& program, const std::vector<OldRange>& outside);

}  // namespace profld

#endif
