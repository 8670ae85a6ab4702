// Calls of a program that counts its basic blocks and has no hooks (profld -b --no-hooks), from these counts.
//
// A function was called as often as its first block ran, without what its own jumps brought there. A call in the code was
// made as often as its block ran, if it says what it calls; so was a jump to another function; a conditional one as often as
// its block ran and control did not go on behind it. What remains of a function's calls was made through pointers, or by
// code that is not counted, and nobody knows where.
//
// Of functions for which the counts allow several answers nothing is said.

#ifndef PROF_MODEL_BLOCK_CALLS_H
#define PROF_MODEL_BLOCK_CALLS_H

#include "call_sites.h"

namespace prof {

// Gives the functions of an analysis that ran, which it may not have had, and nodes below the root of its tree their calls.
void count_calls_of_blocks(Analysis& analysis, const DebugSearch& search);

// The instructions that called, of such an analysis; in the order of call_sites.h.
std::vector<CallSite> call_sites_of_blocks(const Analysis& analysis, const DebugSearch& search);

}  // namespace prof

#endif
