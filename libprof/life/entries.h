// Where code of the program comes into the runtime, in a thread that may not have begun. See entries.cc.

#ifndef LIBPROF_ENTRIES_H
#define LIBPROF_ENTRIES_H

namespace libprof {

// Has leave_parent (fork.h) done in the children that the C library forks.
void watch_forks();

}  // namespace libprof

#endif
