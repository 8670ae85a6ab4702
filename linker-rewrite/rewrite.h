// The whole way from a program's bytes to those of its profiled copy.

#ifndef LINKER_REWRITE_REWRITE_H
#define LINKER_REWRITE_REWRITE_H

#include <string>
#include <vector>

#include "linker-rewrite/base/progress.h"
#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/write/output_file.h"
#include "report.h"

namespace profld {

struct Selection {
  // Patterns as of fnmatch(3), matched against a function's names, mangled and demangled. A function without a symbol
  // is named #address, in hexadecimal.
  std::vector<std::string> only;  // -F: those that match one; all if empty
  std::vector<std::string> not_;  // -N: but not those
  uint64_t min_size = 0;          // --min-size: only functions of at least so many bytes of code, fragments included
  bool no_leaves = false;         // --no-leaves: only functions that call others
  bool no_hooks = false;          // --no-hooks: these functions are moved, but call no hooks
};

struct Rewritten {
  std::vector<FilePart> file;
  Report report;
};

// Throws Error if the program cannot be rewritten. `show` is told of the stages.
Rewritten rewrite(
    const Image& image, const Selection& selection, const std::string& runtime_path,
    const ShowStage& show = [](double, const char*) {});

}  // namespace profld

#endif
