// What the hooks themselves cost.

#ifndef LIBPROF_CALIBRATE_H
#define LIBPROF_CALIBRATE_H

#include <stdint.h>

namespace libprof {

// What several measurements of a cost gave, in cycles * 256.
struct Cost {
  uint64_t least, greatest;
};

// What a pair of hooks adds to an empty call: to the self time of the function called (between the two time stamps) and
// to that of its caller; and, if not all calls are timed, what a pair adds in all to one that is not. If all are timed,
// what a tail call through a pointer adds to the function jumped to and to the one that jumps. All 0 if they could not
// be measured or there are no time stamps.
struct Calibration {
  Cost inside, outside, counted, sought_inside, sought_outside;
};

// Runs the hooks in use for 16,000 calls (24,000 if not all calls are timed) on a thread state of its own, with signals
// blocked by the caller.
Calibration calibrate();

}  // namespace libprof

#endif
