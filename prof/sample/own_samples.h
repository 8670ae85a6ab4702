// Samples that the threads of a program took of themselves, because perf events are not allowed.
//
// The first run of prof run --true is then one of a copy without hooks, whose runtime (libprof-sampler.so) leaves
// profiles of addresses (libprof/format/format.h: kAddresses). Here they become what samples from outside are: offsets
// in files. Those in the copy become those of the original's instructions, so that the copy need not be there any more.

#ifndef PROF_SAMPLE_OWN_SAMPLES_H
#define PROF_SAMPLE_OWN_SAMPLES_H

#include <string>
#include <vector>

#include "prof/read/profile.h"
#include "samples.h"

namespace prof {

// Whether a program loads shared libraries, and so the runtime that samples. Throws Error if it cannot be read.
bool can_sample_itself(const std::string& program);

// All that the profiles of one program and its children say; `program` is the original. Arguments, times and status are
// left empty. Throws Error if a profile is none of addresses.
Samples own_samples(const std::vector<Profile>& profiles, const std::string& program);

}  // namespace prof

#endif
