// Whether the time-stamp counter can be used to measure time.

#ifndef LIBPROF_TSC_H
#define LIBPROF_TSC_H

#include <stdint.h>

namespace libprof {

// False, and the reason has been said, if the counter may not be read or does not tick evenly. A heavy path.
bool check_tsc();

// For records that a profile without times has as well: 0 if the counter may not be read.
uint64_t time_stamp_if_readable();

}  // namespace libprof

#endif
