// Putting the rewritten program on disk.

#ifndef LINKER_REWRITE_OUTPUT_FILE_H
#define LINKER_REWRITE_OUTPUT_FILE_H

#include <string>

#include "bytes.h"

namespace profld {

// Writes `contents` to `path` with the permissions of `original`. It appears there whole or not at all: it is written
// under another name in the same directory and renamed. Long runs of zeros become holes. Throws Error.
void write_program(const std::string& path, const std::string& original, const Bytes& contents);

}  // namespace profld

#endif
