// Writes full windows after the end of the trace, so that they can be used again: see trace_drain.cc. For heavy paths.

#ifndef LIBPROF_TRACE_DRAIN_H
#define LIBPROF_TRACE_DRAIN_H

#include <stdint.h>

#include "libprof/format/trace.h"
#include "trace_file.h"

namespace libprof {

// What a thread needs for it. Never given back: threads are few, and others use it after them.
struct Drain;

// For windows of so many bytes at most; null if there is no memory.
Drain* take_drain(const prof_format::TraceProgram& program, uint64_t largest_window);

// Writes all that stands in the window in front of `end`. False if a place there is not filled, or there is no room in the
// file: then nothing is changed.
bool drain_window(Drain* drain, const prof_format::TraceProgram& program, const TraceWindow& window, uint64_t end);

// From now on the thread uses the window again and again; and no more.
void note_reused_window(Drain* drain, const TraceWindow& window);
void forget_reused_window(Drain* drain);

// In a forked child: puts memory of its own in the place of its parent's windows that are used again.
void leave_windows_of_parent();

}  // namespace libprof

#endif
