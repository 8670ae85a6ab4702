// Executable bytes between functions that nobody needs.

#ifndef LINKER_REWRITE_MOVE_PADDING_H
#define LINKER_REWRITE_MOVE_PADDING_H

#include <vector>

#include "unknown_code.h"

namespace profld {

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
