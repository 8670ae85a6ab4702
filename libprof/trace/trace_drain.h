// Writes full windows after the end of the trace, so that they can be used again: see trace_drain.cc. For heavy paths.
// What stands in them is looked at, and packed, here.

#ifndef LIBPROF_TRACE_DRAIN_H
#define LIBPROF_TRACE_DRAIN_H

#include <stdint.h>

#include "libprof/format/trace.h"
#include "trace_file.h"

namespace libprof {

// What stands in a part of a trace's window: records, and places of records that are not filled (trace.cc).

// Whether all places from `start` up to `end`, which were taken one after the other, are filled. Addresses.
bool are_filled(const prof_format::TraceProgram& program, uint64_t start, uint64_t end);

// The last `length` bytes of the last places there that are not filled; 0 if there are none of so many bytes.
uint64_t last_unfilled(const prof_format::TraceProgram& program, uint64_t start, uint64_t end, uint64_t length);

// What a thread needs for it. Never given back: threads are few, and others use it after them.
struct Drain;

// For windows of so many bytes at most; null if there is no memory.
Drain* take_drain(const prof_format::TraceProgram& program, uint64_t largest_window);

// Writes all that stands in the window in front of `end`. False if a place there is not filled, or there is no room in
// the file: then nothing is changed.
bool drain_window(Drain* drain, const prof_format::TraceProgram& program, const TraceWindow& window, uint64_t end);

// From now on the thread uses the window again and again; and no more.
void note_reused_window(Drain* drain, const TraceWindow& window);
void forget_reused_window(Drain* drain);

// In a forked child: puts memory of its own in the place of its parent's windows that are used again.
void leave_windows_of_parent();

}  // namespace libprof

#endif
