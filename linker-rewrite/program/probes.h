// The probes of SystemTap (USDT) in a program: places that debuggers and tracers stop at by name.

#ifndef LINKER_REWRITE_PROGRAM_PROBES_H
#define LINKER_REWRITE_PROGRAM_PROBES_H

#include <vector>

#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/base/patch.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

struct Probe {
  OldAddr address;      // of the instruction
  FileOffset field;     // of the note's 8 bytes that tell it
  uint64_t difference;  // between the address and what stands in the field
};

// Those that the file's notes tell; none from damaged notes, nor if there are no section headers.
std::vector<Probe> find_probes(const Image& image);

// Leads the notes to the copies.
std::vector<Patch> probe_patches(const Image& image, const CopyMap& copies);

}  // namespace profld

#endif
