// A file that is mapped and grows, of which the process keeps no descriptor: see file/file.cc, which says why. Heavy paths.

#ifndef LIBPROF_GROWING_FILE_H
#define LIBPROF_GROWING_FILE_H

#include <stdint.h>

namespace libprof {

// Opens the file of this name for reading and writing. -1 if it is not the same any more.
int64_t open_same_file(const char* path, uint64_t device, uint64_t inode);

// Has the kernel give storage to pages of a mapping (MADV_POPULATE_WRITE). Returns 0 or -errno: kErrorInvalid from a kernel
// that cannot.
int64_t back_with_storage(void* start, uint64_t size);

}  // namespace libprof

#endif
