// PROFTYPE=sample: calls are counted, and times are those of samples. See sampling.cc.

#ifndef LIBPROF_SAMPLING_H
#define LIBPROF_SAMPLING_H

#include "libprof/data/state.h"
#include "libprof/profile_type.h"

namespace libprof {

inline constexpr uint64_t kSamplePeriod = 4'000'000;  // nanoseconds: 250 a second

// Takes a signal for the process, if it can have one; the header says so if not. A heavy path.
void begin_sampling(Header* header);

// Samples the calling thread from now on; `s` is complete but for that. `blocked`: its signal mask. What it cannot have
// is noted in the header. A heavy path; the result means nothing.
uint64_t begin_samples_of_thread(State* s, uint64_t blocked);

// Gives back what the thread that had this state needed, which has ended. A heavy path.
void end_samples_of_thread(State* s);

// At the end of the process, and before the runtime is unloaded: no more samples. The header says if there were none
// for some time already.
void stop_samples();

// Around a change of what system calls the program may make: no samples come in between, and afterwards only if that is
// still possible. On any path.
void pause_samples();
void resume_samples();

}  // namespace libprof

#endif
