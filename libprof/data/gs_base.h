// The base of the segment gs, by which a thread finds its counters of blocks, or its place in the trace.

#ifndef LIBPROF_GS_BASE_H
#define LIBPROF_GS_BASE_H

#include <stdint.h>

namespace libprof {

// False if the kernel refuses it.
bool set_gs_base(uint64_t base);

// Whether there are instructions for the bases of fs and gs (rdfsbase, wrgsbase).
bool may_read_segments();

}  // namespace libprof

#endif
