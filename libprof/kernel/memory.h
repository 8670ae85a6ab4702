// Memory of the runtime's own that stays mapped, between pages that nobody can touch; and files that are mapped and
// grow. Heavy paths.
//
// The problem. The kernel puts new mappings side by side. A stack without a guard page of its own (one that a coroutine
// library took from mmap, or a thread's for which the program asked for none) may lie right above a mapping of the
// runtime's. An overflow of that stack would then not end with SIGSEGV, as it does without the runtime, but overwrite
// the mapping.
//
// Each guard may be one more mapping, and a process can have 65530 of them (vm.max_map_count). So all memory of one
// thread lies in one area (data/state.h), and the guards of areas that lie side by side are one mapping.

#ifndef LIBPROF_MEMORY_H
#define LIBPROF_MEMORY_H

#include <stdint.h>

namespace libprof {

inline constexpr uint64_t kPage = 4096;

// At least `size` bytes of zeroed private memory between two inaccessible pages; null if there is none.
void* map_guarded(uint64_t size);

// Gives it back. `size`: the same as for reserving.
void unmap_guarded(void* p, uint64_t size);

// Makes a part of what was reserved usable. False if there is no memory.
bool open_memory(void* p, uint64_t size);

// Address space alone, all of it inaccessible, in whole pages; null if there is none.
char* reserve_memory(uint64_t size);

// A file that is mapped and grows, of which the process keeps no descriptor: see file/file.cc, which says why. Heavy
// paths.

// Opens the file of this name for reading and writing. -1 if it is not the same any more.
int64_t open_same_file(const char* path, uint64_t device, uint64_t inode);

// Has the kernel give storage to pages of a mapping (MADV_POPULATE_WRITE). Returns 0 or -errno: kErrorInvalid from a
// kernel that cannot.
int64_t back_with_storage(void* start, uint64_t size);

}  // namespace libprof

#endif
