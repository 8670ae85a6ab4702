// What the kernel keeps of a thread: its name, and the base of its segment gs.

#ifndef LIBPROF_THREAD_H
#define LIBPROF_THREAD_H

#include "state.h"

namespace libprof {

// Put the thread's present name into its record of the profile. Slow paths; the second one is for a thread other than
// the caller's, which may be running or gone.
void note_name(State* s);
void note_name_of_other(State* s);

// By the base of gs a thread finds its counters of blocks, or its place in the trace. False if the kernel refuses it.
bool set_gs_base(uint64_t base);
bool get_gs_base(uint64_t* base);

// Whether there are instructions for the bases of fs and gs (rdfsbase, wrgsbase).
bool may_read_segments();

}  // namespace libprof

#endif
