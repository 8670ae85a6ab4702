// Whether the time-stamp counter can be used to measure time.

#ifndef LIBPROF_TSC_H
#define LIBPROF_TSC_H

#include <stdint.h>

namespace libprof {

// If the counter may not be read or does not tick evenly, says so in a message and returns false. A heavy path.
bool check_tsc();

// The counter, for fields that a profile without times has as well; 0 if it may not be read.
uint64_t time_stamp_if_readable();

}  // namespace libprof

#endif
