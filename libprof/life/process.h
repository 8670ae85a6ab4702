// The process as a whole: from its first hook to its end.

#ifndef LIBPROF_PROCESS_H
#define LIBPROF_PROCESS_H

#include "libprof/data/state.h"

namespace libprof {

// Makes the profile if there is none yet. False if nothing is recorded. A heavy path; called for each thread.
bool begin_process();

// At normal exit, when the program's own exit handlers have run.
void end_process();

// A call in a thread that has no state.
void note_lost_call();

// For the thread of a static program whose C library has begun since: what tells of switches may be another thing now.
// A heavy path.
void choose_hooks_again();

// The program is about to give up the right to read the time-stamp counter; it could not.
void stop_tsc();
void start_tsc();

}  // namespace libprof

#endif
