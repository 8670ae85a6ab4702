// The places where code is changed while it runs: by the program itself (patch sites), or by debuggers and tracers,
// which stop at the probes of SystemTap (USDT) by name.

#ifndef LINKER_REWRITE_PROGRAM_PATCH_SITES_H
#define LINKER_REWRITE_PROGRAM_PATCH_SITES_H

#include <algorithm>
#include <vector>

#include "linker-rewrite/base/bytes.h"
#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

struct PatchSites {
  std::vector<OldAddr> sites;    // in code, ascending; not always in a function: also in front of its entry
  std::vector<OldRange> tables;  // that list them
  bool lists(OldAddr word) const {
    return std::ranges::any_of(tables, [&](OldRange t) { return t.contains(word); });
  }
};

// What sections of the program list for that purpose. Nothing if there are no section headers: nothing else
// distinguishes these tables from other data. From a damaged table fewer addresses are read.
PatchSites find_patch_sites(const Image& image);

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
