// The probes of SystemTap (USDT) in a program: places that debuggers and tracers stop at by name.

#ifndef LINKER_REWRITE_PROGRAM_PROBES_H
#define LINKER_REWRITE_PROGRAM_PROBES_H

#include <vector>

#include "linker-rewrite/base/bytes.h"
#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

struct Probe {
  OldAddr address;      // of the instruction
  FileOffset field;     // of the note's 8 bytes that hold the address
  uint64_t difference;  // between the address and the number in the field
};

// The probes that the file's notes list. None from damaged notes, and none if there are no section headers.
std::vector<Probe> find_probes(const Image& image);

// Makes the notes lead to the copies.
std::vector<Patch> probe_patches(const Image& image, const CopyMap& copies);

}  // namespace profld

#endif
