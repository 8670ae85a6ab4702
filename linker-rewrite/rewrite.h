// All stages, from a program's bytes to those of its profiled copy.

#ifndef LINKER_REWRITE_REWRITE_H
#define LINKER_REWRITE_REWRITE_H

#include <string>
#include <vector>

#include "linker-rewrite/base/progress.h"
#include "linker-rewrite/decide/selection.h"
#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/write/layout.h"
#include "linker-rewrite/write/output_file.h"
#include "report.h"

namespace profld {

struct Rewritten {
  std::vector<FilePart> file;
  Report report;
};

// Throws Error if the program cannot be rewritten. Calls `show` when a stage begins, and while it goes on, if it may be
// long. `wishes`: a dynamic program's.
Rewritten rewrite(
    const Image& image, const Selection& selection, const RuntimeFile& runtime,
    const ShowStage& show = [](double, const char*) {}, const LinkerWishes& wishes = {});

}  // namespace profld

#endif
