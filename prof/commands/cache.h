// The cache of rewritten programs, for prof run.

#ifndef PROF_COMMANDS_CACHE_H
#define PROF_COMMANDS_CACHE_H

#include <string>

#include "options.h"

namespace prof {

// Path of the rewritten copy of `program`, made with profld unless it is there from an earlier time. profld says on
// standard error why it cannot rewrite a program; then the result is "". Throws Error for other failures.
//
// Copies lie at $XDG_CACHE_HOME/prof/KEY/NAME (by default ~/.cache). KEY stands for all that the copy depends on: the
// program, the options, profld and its runtime. They appear there by a rename, so several prof run may be at it.
std::string rewritten_copy(const std::string& program, const Options& options);

// The same of a copy without hooks, of which each thread samples itself (libprof/sampler/threads.cc).
std::string sampling_copy(const std::string& program);

}  // namespace prof

#endif
