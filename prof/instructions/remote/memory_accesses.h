// Which memory an instruction reads and writes, by its bytes and by the registers before it runs.
//
// Which operands it has is for linker-rewrite/x86/memory_operands.h. What depends on values is known here: that rep with a
// count of 0 touches nothing, which elements a mask chooses.
//
// Loads come before stores, each in the order of the operands.

#ifndef PROF_INSTRUCTIONS_REMOTE_MEMORY_ACCESSES_H
#define PROF_INSTRUCTIONS_REMOTE_MEMORY_ACCESSES_H

#include <cstdint>
#include <vector>

#include "linker-rewrite/x86/memory_operands.h"
#include "prof/instructions/trace/trace_writer.h"
#include "registers.h"

namespace prof::remote {

using profld::decode_memory;
using profld::DecodedInstruction;
using profld::MemoryOperand;

// The accesses are added to `to`. `vectors` may be null unless needs_vectors.
void memory_accesses(const DecodedInstruction& instruction, const Registers& registers, const VectorRegisters* vectors,
                     std::vector<TraceAccess>& to);

}  // namespace prof::remote

#endif
