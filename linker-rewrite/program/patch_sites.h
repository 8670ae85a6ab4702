// The places where a program changes its own code while it runs.

#ifndef LINKER_REWRITE_PROGRAM_PATCH_SITES_H
#define LINKER_REWRITE_PROGRAM_PATCH_SITES_H

#include <algorithm>
#include <vector>

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

}  // namespace profld

#endif
