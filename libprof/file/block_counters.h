// The counters of basic blocks, of programs and libraries that profld -b rewrote: those that each thread has of its
// own, and those that all threads share, in libraries and in programs that use the segment register gs themselves. See
// block_counters.cc. All but has_block_counters and has_shared_counters are heavy paths.

#ifndef LIBPROF_BLOCK_COUNTERS_H
#define LIBPROF_BLOCK_COUNTERS_H

#include <elf.h>

#include "libprof/data/objects.h"
#include "libprof/data/state.h"

namespace libprof {

// Looks for the counters that the program itself has. `bias`: run-time address - address in the file.
void find_block_counters(const Elf64_Phdr* headers, uint64_t count, uint64_t bias);
bool has_block_counters();

// When the profile of a process has begun, and its program is listed: from now on what is counted is in the file. A
// heavy path.
void begin_block_counters();

// Gives a thread that begins counters of its own. On its heavy path.
void begin_block_counters_of_thread(State* s);

// Gives counters to the calling thread, which has no State of its own. Signals are blocked.
void begin_block_counters_of_stranger();

// In a forked child, before it begins anew: what it counts is its own from now on, and none of its parent's. A heavy
// path.
void leave_block_counters_of_parent();

// Puts into the profile what was counted in memory that is not the file's.
void store_block_counters();

// Whether an object was seen that has such counters.
bool has_shared_counters();

// When the profile of a process has begun, and its program is listed. `is_forked`: from a process that had one; then
// what was inherited counts for the child from now on.
void begin_shared_counters(const Object& program, bool is_forked);

// From now on what is counted in the object is in the profile, and what was counted there before is, too. The object
// has just been loaded, or is the program.
void count_shared(const Object& object);

// The same for all objects that are remembered and not counted yet. None of them may have been unloaded.
void count_shared_remembered();

// Locks the increments of an object that is mapped, if they are not (the third part of block_counters.cc). Returns
// whether note_lock is to be called.
bool lock_increments(const Object& object);

// Notes in the profile what of the object was counted before. A heavy path.
void note_lock(const Object& object);

// Threads have counters of their own of libraries without hooks, too (the fourth part). In this order, by the only
// thread: one asks whether that may be; names the libraries, which are loaded, and of which some may be refused;
// begins; and has increments of those that were not refused be the thread's own. make_place_of and own_increments are
// called again for a library that is loaded later, whose code does not run yet. All but the first are heavy paths; each
// returns whether it is done.
bool may_have_own_library_counters();
bool make_place_of(const Object& library);
bool begin_own_library_counters(State* s);
bool own_increments(const Object& library);

// All increments of libraries were to be locked.
void end_own_library_counters();

// Counters for a thread that is being made, which it and the one that makes it have until each has its own. 0 if there
// are none. A heavy path.
uint64_t claim_birth(State*, uint64_t);
bool take_birth(uint64_t birth);   // has them from now on; false if the kernel refuses that
void leave_birth(uint64_t birth);  // of the two threads each

// In a forked child that has no profile: it counts nothing for its parent any more.
void leave_shared_counters_of_parent();

// As store_block_counters.
void store_shared_counters();

}  // namespace libprof

#endif
