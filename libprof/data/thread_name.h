// The names of threads, as the profile has them.

#ifndef LIBPROF_THREAD_NAME_H
#define LIBPROF_THREAD_NAME_H

#include "state.h"

namespace libprof {

// Put the thread's present name into its record. Slow paths; the second one is for a thread other than the caller's, which
// may be running or gone.
void note_name(State* s);
void note_name_of_other(State* s);

}  // namespace libprof

#endif
