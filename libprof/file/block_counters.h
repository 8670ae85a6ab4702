// The counters of basic blocks, of a program that profld -b rewrote: see block_counters.cc.

#ifndef LIBPROF_BLOCK_COUNTERS_H
#define LIBPROF_BLOCK_COUNTERS_H

#include <elf.h>

#include "libprof/data/state.h"

namespace libprof {

// Looks for the counters that the program itself has. `bias`: run-time address - address in the file.
void find_block_counters(const Elf64_Phdr* headers, uint64_t count, uint64_t bias);
bool has_block_counters();

// When the profile of a process has begun, and its program is listed: from now on what is counted is in the file. A heavy
// path.
void begin_block_counters();

// Gives a thread that begins counters of its own. On its heavy path.
void begin_block_counters_of_thread(State* s);

// In a forked child, before it begins anew: what it counts is its own from now on, and none of its parent's. A heavy path.
void leave_block_counters_of_parent();

// Puts into the profile what was counted in memory that is not the file's.
void store_block_counters();

}  // namespace libprof

#endif
