// The private memory of a thread.

#ifndef LIBPROF_AREA_H
#define LIBPROF_AREA_H

#include "libprof/kernel/memory.h"
#include "state.h"

namespace libprof {

// Each thread has an area of private memory (memory.h):
//
//     a page that is inaccessible
//     the page of a perf event (switches.cc), else inaccessible
//     its stack for heavy paths
//     the State, one page
//     tables of children, as they grow: 256, 512, ... 4096 links, each after a page that holds its mask (tree.cc)
//     a page that is inaccessible, as is what is not yet used of the room for tables
inline constexpr uint64_t kPrivateStackSize = 15 * kPage;
inline constexpr uint64_t kBelowState = 2 * kPage + kPrivateStackSize;
inline constexpr uint64_t kFirstTable = 256;  // links
inline constexpr uint64_t kTableOffset = kPage;
inline constexpr uint64_t kFirstTableSize = kTableOffset + kFirstTable * sizeof(Link);
inline constexpr uint64_t kRoomForTables = 5 * kTableOffset + (1 + 2 + 4 + 8 + 16) * kFirstTable * sizeof(Link);
inline constexpr uint64_t kAreaSize = kBelowState + kPage + kRoomForTables + kPage;

inline char* private_stack_top(State* s) { return reinterpret_cast<char*>(s); }
inline char* area_of(State* s) { return reinterpret_cast<char*>(s) - kBelowState; }

// An area for a thread, its State wiped in forked children like all of it. Null if there is no memory.
State* map_area();
void unmap_area(State* s);

}  // namespace libprof

#endif
