// The mappings of the process, as /proc/self/maps lists them.

#ifndef LIBPROF_MAPPINGS_H
#define LIBPROF_MAPPINGS_H

#include "text.h"

namespace libprof {

struct Mapping {
  uint64_t start, end, offset;
  uint64_t device, inode;  // of the file; the device's two numbers in one word
  bool is_writable, is_shared;
  const char* path;  // in the line
};

// Takes a line of the file apart. False if the mapping is of no file.
bool parse_mapping(const char* line, Mapping* m);

// The mapping of a file's beginning.
struct FileMapping {
  uint64_t start, end;
  char path[4096];
};

// The last file whose beginning is mapped before `address`, if `address` lies in a mapping. Needs much stack.
bool find_file(uint64_t address, FileMapping* file);

// What lies at an address, in whichever process.
struct FilePage {
  uint64_t device = 0, inode = 0;  // as in Mapping; inode 0: it is not known
  uint64_t offset = 0;             // bytes
};

// What a shared mapping has at `address`. Needs much stack.
FilePage find_file_page(uint64_t address);

// The bounds of the mapping that an address lies in; of the program's first stack, those that it may grow to. If it is
// not listed, those of its page.
void find_bounds(uint64_t address, uint64_t* low, uint64_t* high);

// Whether the word at an address can be read.
bool is_mapped(uint64_t address);

}  // namespace libprof

#endif
