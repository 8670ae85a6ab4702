// What a forked child gets of its parent's profile: where it was, so that the child can put memory of its own there (fork.cc),
// and whether recording is on. Copied by fork like any memory of a program.

#ifndef LIBPROF_INHERITANCE_H
#define LIBPROF_INHERITANCE_H

#include "libprof/data/state.h"

namespace libprof {

// Bytes after what is in use of the mapping of a profile, for leave_parent (fork.h), in a child that has no such mapping; the
// last page stays inaccessible.
inline constexpr uint64_t kRoomBehindMapping = 3 * kPage;

// Tells the children of this process where its profile is mapped, after an inaccessible page, and how much of it is in
// use.
void bequeath(char* base, uint64_t size);

// What was bequeathed last; null when that is forgotten, as by a child that has put its own memory there.
struct Bequest {
  char* base;
  uint64_t size;  // bytes
};
Bequest bequeathed();
void forget_bequest();

// Gives the children of this process the open file of its profile, whose header tells them whether recording is on.
void bequeath_header(int64_t fd);

// To be called when that header has been written. By the page of its parent's profile that a process has mapped others know
// whose child it is as long as its own is none yet (prof/commands/launching/living_processes.h).
void leave_header_of_parent();

// In a child: whether its parent's recording is on; `otherwise` if that cannot be known. Before bequeath_header.
bool parent_records(bool otherwise);

}  // namespace libprof

#endif
