// The way to the directory that profiles go to.

#ifndef LIBPROF_DIRECTORY_H
#define LIBPROF_DIRECTORY_H

#include <stdint.h>

namespace libprof {

// Opens a directory (O_PATH), which is made if it is not there, without following links of others on the way: a link is followed if it belongs to root or
// to the user that the process runs as. Returns a descriptor or -errno; kErrorForeignLink for such a link. A heavy
// path.
int64_t open_directory(const char* path);

}  // namespace libprof

#endif
