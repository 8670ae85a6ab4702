// The histograms of a gmon.out that is written.
//
// Bins are two bytes of code, the least that gprof knows, so that no bin is of two functions. Most of a program's code has no
// time, and a file with a bin for all of it would be as large as the program. So there are several histograms, and none where
// no time was.
//
// gprof wants two things of them. Those of several files that it adds up must be of the same addresses, or have none in common:
// so where they begin and end depends on the program only. And -c gives up if a symbol of its own lies in two of them: so they
// begin only where symbols begin that gprof is sure to know, global functions, which it drops neither for their names nor
// for -a.

#ifndef PROF_MODEL_GMON_GMON_RANGES_H
#define PROF_MODEL_GMON_GMON_RANGES_H

#include <cstdint>
#include <map>
#include <vector>

#include "prof/model/program/object.h"
#include "prof/read/gmon_file.h"

namespace prof {

// Addresses, ascending and even, in the original, where a histogram of an object begins, or the one before ends.
std::vector<uint64_t> histogram_borders(const Object& object);

// `ticks': by address, an even one. `rate': ticks of a second.
std::vector<GmonHistogram> histograms_at(const std::map<uint64_t, uint64_t>& ticks,
                                         const std::vector<uint64_t>& borders, uint32_t rate);

}  // namespace prof

#endif
