// Functions whose bytes the program reads, or writes, through a pointer.

#ifndef LINKER_REWRITE_DECIDE_CODE_AS_DATA_H
#define LINKER_REWRITE_DECIDE_CODE_AS_DATA_H

#include <vector>

#include "linker-rewrite/program/fragments.h"

namespace profld {

// The code range `range` is read or written as data by the instruction at `at`, or by what that calls.
struct CodeAccess {
  uint32_t range;
  OldAddr at;
};

// All that can be seen, in a fixed order; needs Group::indirect.
std::vector<CodeAccess> find_code_accesses(const Program& program);

}  // namespace profld

#endif
