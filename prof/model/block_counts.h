// How often the basic blocks of a program ran: profld -b.

#ifndef PROF_MODEL_BLOCK_COUNTS_H
#define PROF_MODEL_BLOCK_COUNTS_H

#include <cstdint>

namespace prof {

// A run of instructions that is entered only at its first and left only at its last.
struct BlockCount {
  uint32_t object = 0;   // index into FunctionTable::objects
  uint64_t address = 0;  // of its first instruction, in the original, link-time
  uint32_t size = 0;     // bytes
  uint64_t count = 0;    // executions
};

}  // namespace prof

#endif
