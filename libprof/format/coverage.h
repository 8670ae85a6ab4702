// How much of the original's code has hooks: the section .prof.coverage of a rewritten file. It is there if that is
// less than users expect (linker-rewrite/move/coverage.h). Little-endian; not mapped at run time.

#ifndef LIBPROF_FORMAT_COVERAGE_H
#define LIBPROF_FORMAT_COVERAGE_H

#include <stdint.h>

namespace prof_format {

inline constexpr char kCoverageSection[] = ".prof.coverage";
inline constexpr char kCoverageMagic[8] = {'P', 'R', 'O', 'F', 'C', 'O', 'V', '1'};

// Bytes of the original's code; each is in one of these. A later version may make it longer.
struct CodeCoverage {
  char magic[8];
  uint64_t hooked;      // in functions with hooks; if no function calls any, in those that were moved
  uint64_t stays;       // in functions that were left in place
  uint64_t not_chosen;  // in functions that options, or the rules for libraries, leave out
  uint64_t stubs;       // the linker's
  uint64_t padding;
  uint64_t unknown;  // in no function that is known
};

}  // namespace prof_format

#endif
