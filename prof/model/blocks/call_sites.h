// From where functions are called: the calling instructions.
//
// A profile says how often a caller called a function, not by which of its instructions. The caller's code says which may be
// meant, those that call the function directly or through the linker's stub for it, and those that call whatever an address
// leads to. So a number is
//
//     exact, without counts of blocks, if there is one instruction only that it can be;
//     exact, with them (profld -b), for each direct call: it ran as often as its block. What then is left of the calls was
//     made by indirect calls that ran; it is exact if there is one of these only.
//
// It is not exact, and stays with the caller as a whole, if several can be meant. It is not known at all if none can: code
// that is not counted (a function that stayed in place, a library) was called by the one and called the other. Such code may
// be between any two functions; then a number of calls is too great for the instruction that it stands at, without a sign of
// it if no blocks were counted. With counts of blocks it is seen: the instruction ran less often.
//
// A call may also be a jump, at the end of the caller. A conditional one ran more often than it jumped: it gets what is left.

#ifndef PROF_MODEL_BLOCKS_CALL_SITES_H
#define PROF_MODEL_BLOCKS_CALL_SITES_H

#include <string>
#include <vector>

#include "block_calls.h"

namespace prof {

// By caller, function called and address. Calls from outside are none. `remarks`: what could not be looked at.
std::vector<CallSite> call_sites(const Recorded& recorded, const DebugSearch& search,
                                 std::vector<std::string>& remarks);

}  // namespace prof

#endif
