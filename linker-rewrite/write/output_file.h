// Writes the rewritten program to disk.

#ifndef LINKER_REWRITE_WRITE_OUTPUT_FILE_H
#define LINKER_REWRITE_WRITE_OUTPUT_FILE_H

#include <string>
#include <vector>

#include "linker-rewrite/base/address.h"
#include "linker-rewrite/base/bytes.h"

namespace profld {

// A part of the file. Parts are in ascending order; between them, and in long runs inside, are zeros, which become
// holes.
struct FilePart {
  FileOffset at;
  Bytes bytes;
};

// Writes a file of these parts to `path` with the permissions of `original`. The file appears there whole or not at
// all: it is written under another name in the same directory and then renamed. Throws Error.
void write_program(const std::string& path, const std::string& original, const std::vector<FilePart>& parts);

}  // namespace profld

#endif
