// prof.<pid> and its mapping: creation, storage for more blocks, the end. See file.cc. All of it is for heavy paths.

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

}  // namespace libprof

#endif
