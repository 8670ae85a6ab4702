// The counters of basic blocks that all threads share: those of libraries that profld -b rewrote, and of programs that use
// the segment register gs themselves. See shared_counters.cc. All but has_shared_counters are heavy paths.

#ifndef LIBPROF_SHARED_COUNTERS_H
#define LIBPROF_SHARED_COUNTERS_H

#include "libprof/data/objects.h"

namespace libprof {

// Whether an object was seen that has such counters.
bool has_shared_counters();

// When the profile of a process has begun, and its program is listed. `is_forked`: from a process that had one; then what was
// inherited counts for the child from now on.
void begin_shared_counters(const Object& program, bool is_forked);

// From now on what is counted in the object is in the profile, and what was counted there before is, too. The object has
// just been loaded, or is the program.
void count_shared(const Object& object);

// The same for all objects that are remembered and not counted yet. None of them may have been unloaded.
void count_shared_remembered();

// In a forked child that has no profile: it counts nothing for its parent any more.
void leave_shared_counters_of_parent();

// Puts into the profile what was counted in memory that is not the file's.
void store_shared_counters();

}  // namespace libprof

#endif
