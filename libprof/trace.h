// The trace of a program that profld --trace rewrote: see trace.cc.

#ifndef LIBPROF_TRACE_H
#define LIBPROF_TRACE_H

#include <elf.h>

#include "state.h"

namespace libprof {

// Looks for the trace segment of the program. `bias`: run-time address - address in the file.
void find_trace_segment(const Elf64_Phdr* headers, uint64_t count, uint64_t bias);
bool has_trace();

// When the profile of a process has begun, and its program is listed: makes trace.<pid> beside it. A heavy path.
void begin_trace();

// Gives a thread that begins a place in the trace of its own. On its heavy path.
void begin_trace_of_thread(State* s);

// In a forked child, before it begins anew. A heavy path.
void leave_trace_of_parent();

// At normal exit.
void end_trace();

}  // namespace libprof

#endif
