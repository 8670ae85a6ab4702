// What stands in a part of a trace's window: records, and places of records that are not filled (trace.cc).

#ifndef LIBPROF_TRACE_RECORDS_H
#define LIBPROF_TRACE_RECORDS_H

#include <stdint.h>

#include "libprof/format/trace.h"

namespace libprof {

// Whether all places from `start` up to `end`, which were taken one after the other, are filled. Addresses.
bool are_filled(const prof_format::TraceProgram& program, uint64_t start, uint64_t end);

// The last `length` bytes of the last places there that are not filled; 0 if there are none of so many bytes.
uint64_t last_unfilled(const prof_format::TraceProgram& program, uint64_t start, uint64_t end, uint64_t length);

}  // namespace libprof

#endif
