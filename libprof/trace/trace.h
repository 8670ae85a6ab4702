// The trace of a program that profld --trace rewrote: see trace.cc.

#ifndef LIBPROF_TRACE_H
#define LIBPROF_TRACE_H

#include <elf.h>

#include "libprof/data/state.h"

namespace libprof {

// Looks for the trace segment of the program. `bias`: run-time address - address in the file.
void find_trace_segment(const Elf64_Phdr* headers, uint64_t count, uint64_t bias);
bool has_trace();

// When the profile of a process has begun, and its program is listed: makes trace.<pid> beside it. A heavy path.
void begin_trace();

// Gives a thread that begins a place in the trace of its own. On its heavy path.
void begin_trace_of_thread(State* s);

// For the code of a record that came upon another one while it took its place, or whose place is not in front of the
// limit. Where it may write, if the calling thread has no window; else 0.
uint64_t place_in_sink();
// Where it may write else, and then it has the place that it found only if that is returned. s: null in a thread that
// is not recorded. `length`: bytes.
uint64_t find_place(State* s, uint64_t place, uint64_t length);

// In a forked child, before it begins anew. A heavy path.
void leave_trace_of_parent();

// At normal exit.
void end_trace();

}  // namespace libprof

#endif
