// Decodes bytes when nothing says where their instructions start, or whether they are code at all.

#ifndef LINKER_REWRITE_X86_LINEAR_SWEEP_H
#define LINKER_REWRITE_X86_LINEAR_SWEEP_H

#include <functional>
#include <optional>

#include "decode_cache.h"

namespace profld {

// Takes the address of an instruction, what it is, and its target if it names one relative to itself. The second is
// valid until the call returns or looks up another instruction.
using FoundInstruction = std::function<void(OldAddr, const CachedInsn&, std::optional<OldAddr>)>;

// Calls `found` for each instruction that the range may have; some of them may overlap.
void linear_sweep(const Image& image, OldRange range, const FoundInstruction& found);

}  // namespace profld

#endif
