// From where functions are called: the calling instructions, and how often each called. And the calls of a program
// without hooks, of which counts of basic blocks tell.

#ifndef PROF_MODEL_BLOCKS_CALL_SITES_H
#define PROF_MODEL_BLOCKS_CALL_SITES_H

#include <cstdint>
#include <string>
#include <vector>

#include "prof/model/program/debug_files.h"
#include "prof/model/tree/recorded.h"

namespace prof {

// Calls of a program that counts its basic blocks and has no hooks (profld -b --no-hooks), from these counts.
//
// A function was called as often as its first block ran, without what its own jumps brought there. A call in the code
// was made as often as its block ran, if it says what it calls; so was a jump to another function; a conditional one as
// often as its block ran and control did not go on after it. What remains of a function's calls was made through
// pointers, or by code that is not counted, and nobody knows where.
//
// Of functions for which the counts allow several answers nothing is said.

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

// Gives the functions that ran, some of which may not have been there, and nodes below the root of the tree their
// calls; and sets what each called of others.
void count_calls_of_blocks(Recorded& recorded, const DebugSearch& search);

// The instructions that called, of such a program; in the order of call_sites.
std::vector<CallSite> call_sites_of_blocks(const Recorded& recorded, const DebugSearch& search);

// From where functions are called: the calling instructions.
//
// A profile says how often a caller called a function, not by which of its instructions. The caller's code says which
// may be meant, those that call the function directly or through the linker's stub for it, and those that call whatever
// an address leads to. So a number is
//
//     exact, without counts of blocks, if there is one instruction only that it can be;
//     exact, with them (profld -b), for each direct call: it ran as often as its block. What then is left of the calls
//     was made by indirect calls that ran; it is exact if there is one of these only.
//
// It is not exact, and stays with the caller as a whole, if several can be meant. It is not known at all if none can:
// code that is not counted (a function that stayed in place, a library) was called by the one and called the other.
// Such code may be between any two functions; then a number of calls is too great for the instruction that it stands
// at, without a sign of it if no blocks were counted. With counts of blocks it is seen: the instruction ran less often.
//
// A call may also be a jump, at the end of the caller. A conditional one ran more often than it jumped: it gets what is
// left.

// By caller, function called and address. Calls from outside are none. `remarks`: what could not be looked at.
std::vector<CallSite> call_sites(const Recorded& recorded, const DebugSearch& search,
                                 std::vector<std::string>& remarks);

}  // namespace prof

#endif
