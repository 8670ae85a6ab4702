// What it costs a program to be sampled.
//
// Each sample is an interrupt, which is part of the time that the program has had its processor, and of the period up to
// the next sample: on a virtual machine that is some 10 microseconds in 200. So the program itself runs for less than a
// period from one sample to the next. How much less is found out by a loop that is run with samples and without.

#ifndef PROF_SAMPLE_SAMPLE_COST_H
#define PROF_SAMPLE_SAMPLE_COST_H

#include <cstdint>

#include "perf_ring.h"

namespace prof {

// Nanoseconds, less than half a period; 0 if it cannot be measured. Takes a twentieth of a second.
uint64_t cost_of_sample(const PerfSettings& settings);

}  // namespace prof

#endif
