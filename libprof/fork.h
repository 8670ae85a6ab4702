// What a forked child gets from its parent's recording, and how it gets rid of it. See fork.cc.

#ifndef LIBPROF_FORK_H
#define LIBPROF_FORK_H

#include "state.h"

namespace libprof {

// Bytes behind what is in use of the mapping of a profile, for leave_parent, in a child that has no such mapping; the last page
// stays inaccessible.
inline constexpr uint64_t kRoomBehindMapping = 3 * kPage;

// Tells the children of this process where its profile is mapped, behind an inaccessible page, and how much of it is in
// use.
void bequeath(char* base, uint64_t size);

// Gives the children of this process the open file of its profile, whose header tells them whether recording is on.
void bequeath_header(int64_t fd);

// In a child: whether its parent's recording is on; `otherwise` if that cannot be known. Before bequeath_header.
bool parent_records(bool otherwise);

// Has leave_parent done in the children that the C library forks.
void watch_forks();

// Whether s, the state of this thread, is one that fork wiped.
bool is_of_parent(State* s);

// Makes such a state s harmless, so that hooks which the forking signal handler interrupted can go on; and takes it off
// the thread, which begins anew with its next call. A heavy path.
void leave_parent(State* s);

}  // namespace libprof

#endif
