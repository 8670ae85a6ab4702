// Executable bytes that belong to no function: code that no table describes, and padding.

#ifndef LINKER_REWRITE_GAPS_H
#define LINKER_REWRITE_GAPS_H

#include <Zydis/Zydis.h>

#include <functional>
#include <vector>

#include "groups.h"

namespace profld {

// All such bytes, ascending.
std::vector<OldRange> find_gaps(const Program& program);

// Decodes bytes of which nothing says where their instructions start, and whether they are code at all; calls `found`
// for each instruction.
void decode_blindly(const Image& image, OldRange range,
                    const std::function<void(OldAddr, const ZydisDecodedInstruction&)>& found);

// Bytes of gaps that are neither run nor read.
struct Padding {
  OldRange range;
  // Index of a code range: only if it moves, because it is not certain that control does not fall out of it; -1:
  // always.
  ptrdiff_t if_moved;
};

// Ascending, not overlapping.
std::vector<Padding> find_padding(const Program& program, const std::vector<OldRange>& gaps);

}  // namespace profld

#endif
