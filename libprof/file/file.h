// prof.<pid> and its mapping: creation, storage for more blocks, the end; and what a forked child gets of it. See
// file.cc. All of it is for heavy paths.

#ifndef LIBPROF_FILE_H
#define LIBPROF_FILE_H

#include "libprof/data/state.h"

namespace libprof {

// Creates prof.<pid> (or prof.<pid>.1, ...) in `directory`, with room for `node_limit` nodes, and maps it: sets base,
// bound, ready, device, inode and path of the process, and node_limit of the header: less than asked for if a limit
// leaves less room. Returns 0 or -errno; then no file is left.
int64_t create_profile(Process* p, const char* directory, uint64_t node_limit);

// Blocks from the file, zeroed, aligned to a page when they fill one. 0 if there is no room.
Block take_blocks(uint64_t count);
inline Block take_page() { return take_blocks(kBlocksPerPage); }

// Up to `wanted` blocks; returns how many (0: none) and the first in *first.
uint64_t take_some_blocks(uint64_t wanted, Block* first);

// The same for nodes, as long as there are fewer than `limit` of them. Counts them in the header.
uint64_t take_node_blocks(uint64_t wanted, uint64_t limit, Block* first);

// Not for heavy paths. To be called before a change after which the file's name may lead elsewhere or may not be
// opened: makes the file as long as it may ever have to be.
void keep_room();

// Gives the part of the file that is not ready for use back to the file system, if the file can still be opened.
void give_room_back();

// In a profile that is private memory (Header::flags kPrivate): writes it to the file.
void write_profile(Process* p);

// What a forked child gets of its parent's profile: where it was, so that the child can put memory of its own there
// (life/threads.cc), and whether recording is on. Copied by fork like any memory of a program.

// Bytes after what is in use of the mapping of a profile, for leave_parent (life/threads.h), in a child that has no
// such mapping; the last page stays inaccessible.
inline constexpr uint64_t kRoomAfterMapping = 3 * kPage;

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

// To be called when that header has been written. By the page of its parent's profile that a process has mapped others
// know whose child it is as long as its own is none yet (prof/commands/launching/descendants.h).
void leave_header_of_parent();

// In a child: whether its parent's recording is on; `otherwise` if that cannot be known. Before bequeath_header.
bool parent_records(bool otherwise);

}  // namespace libprof

#endif
