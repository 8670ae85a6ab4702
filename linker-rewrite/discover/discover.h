// Finds functions that neither unwind tables nor symbols tell of. See discover.cc.

#ifndef LINKER_REWRITE_DISCOVER_DISCOVER_H
#define LINKER_REWRITE_DISCOVER_DISCOVER_H

#include <functional>
#include <optional>

#include "linker-rewrite/program/program.h"
#include "made_frames.h"

namespace profld {

// The unwind tables of `program` with entries for what was found; nullopt if nothing leads to code that the program's
// ranges do not cover. `program` is made from what is known (group_functions). `show` is called now and then: which part of
// the code has been gone through, 0 to 1.
std::optional<MadeFrames> discover_functions(const Program& program, const std::function<void(double)>& show);

}  // namespace profld

#endif
