// The places where a program changes its own code while it runs.

#ifndef LINKER_REWRITE_DECIDE_PATCH_SITES_H
#define LINKER_REWRITE_DECIDE_PATCH_SITES_H

#include <vector>

#include "linker-rewrite/elf/image.h"

namespace profld {

// The addresses in code that sections of the program list for that purpose; ascending. None if there are no section
// headers: nothing else distinguishes these tables from other data. From a damaged table fewer addresses are read.
std::vector<OldAddr> find_patch_sites(const Image& image);

}  // namespace profld

#endif
