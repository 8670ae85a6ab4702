// Calls of a program that counts its basic blocks and has no hooks (profld -b --no-hooks), from these counts.
//
// A function was called as often as its first block ran, without what its own jumps brought there. A call in the code was
// made as often as its block ran, if it says what it calls; so was a jump to another function; a conditional one as often as
// its block ran and control did not go on after it. What remains of a function's calls was made through pointers, or by
// code that is not counted, and nobody knows where.
//
// Of functions for which the counts allow several answers nothing is said.

#ifndef PROF_MODEL_BLOCKS_BLOCK_CALLS_H
#define PROF_MODEL_BLOCKS_BLOCK_CALLS_H

#include <cstdint>
#include <vector>

#include "prof/model/program/debug_files.h"
#include "prof/model/tree/recorded.h"

namespace prof {

// From where a function is called, by whatever means that was found.
struct CallSite {
  enum class Known : uint8_t {
    exactly,
    of_calls,           // it is one of `candidates` calls
    of_indirect_calls,  // the same, and they are indirect
    of_other_code       // none of the caller's instructions
  };

  uint32_t caller = 0, callee = 0;  // functions
  uint64_t address = 0;             // of the instruction in the original; of the caller if it is not known
  uint64_t calls = 0;
  Known known = Known::exactly;
  uint32_t candidates = 1;
  bool is_instruction = true;  // `address` is that of one
};

// Gives the functions that ran, some of which may not have been there, and nodes below the root of the tree their calls; and
// sets what each called of others.
void count_calls_of_blocks(Recorded& recorded, const DebugSearch& search);

// The instructions that called, of such a program; in the order of call_sites.h.
std::vector<CallSite> call_sites_of_blocks(const Recorded& recorded, const DebugSearch& search);

}  // namespace prof

#endif
