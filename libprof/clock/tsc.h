// The time-stamp counter: whether it can be used to measure time, and what it says.

#ifndef LIBPROF_TSC_H
#define LIBPROF_TSC_H

#include "libprof/data/state.h"

namespace libprof {

// If the counter may not be read or does not tick evenly, says so in a message, with what follows from that, and
// returns false. A heavy path.
bool check_tsc(const char* consequence);

// The counter, for fields that a profile without times has as well; 0 if it may not be read.
uint64_t time_stamp_if_readable();

// What the counter (as above) and a clock of the kernel's (ns; 0 if it is refused) say at one moment: two readings in a
// row, of which the thread may lose its processor in between, are of two. So of some pairs it is the closest.
struct Stamps {
  uint64_t tsc, ns;
};
Stamps stamps_of_one_moment(uint64_t clock);

// A time stamp, if the program may not read the counter any more: for its profile, time stands still from there on.
extern uint64_t tsc_stopped_at;

// Puts the time now into tsc_last and ns_last.
void stamp_last(Header* header);

}  // namespace libprof

#endif
