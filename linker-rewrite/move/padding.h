// Executable bytes that belong to no function: code that no table describes, and padding.

#ifndef LINKER_REWRITE_MOVE_PADDING_H
#define LINKER_REWRITE_MOVE_PADDING_H

#include <functional>
#include <optional>
#include <vector>

#include "linker-rewrite/program/fragments.h"
#include "linker-rewrite/x86/decode_cache.h"

namespace profld {

// All such bytes, ascending.
std::vector<OldRange> find_gaps(const Program& program);

// The address of an instruction, what it is, and where it leads to if that is relative to it. The second is valid until
// the call returns, or looks up another shape.
using FoundInstruction = std::function<void(OldAddr, const Shape&, std::optional<OldAddr>)>;

// Decodes bytes of which nothing says where their instructions start, and whether they are code at all; calls `found`
// for each instruction.
void decode_blindly(const Image& image, OldRange range, const FoundInstruction& found);

// Bytes of gaps that are neither run nor read.
struct Padding {
  OldRange range;
  // Index of the code range before it: only if that moves; if not, control may fall out of it, or its bytes may be read
  // up to the next function (V8 sums up its builtins). -1: always.
  ptrdiff_t if_moved;
};

// Ascending, not overlapping.
std::vector<Padding> find_padding(const Program& program, const std::vector<OldRange>& gaps);

}  // namespace profld

#endif
