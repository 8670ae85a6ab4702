// Functions whose bytes the program reads, or writes, through a pointer, or whose place it compares.

#ifndef LINKER_REWRITE_DECIDE_CODE_AS_DATA_H
#define LINKER_REWRITE_DECIDE_CODE_AS_DATA_H

#include <vector>

#include "linker-rewrite/program/fragments.h"

namespace profld {

// The instruction at `at`, or a function that it calls, reads or writes the code range `range` as data. Or it only finds
// out whether an address lies in the range.
struct CodeAccess {
  uint32_t range;
  OldAddr at;
  bool is_comparison = false;
};

// For each group, the numbers in its instructions that may be addresses of code, or the end of some; ascending, each once.
using NamedAddresses = std::vector<std::vector<OldAddr>>;
NamedAddresses addresses_named(const Program& program);

// Finds all that can be seen, in a fixed order. Needs Group::indirect.
std::vector<CodeAccess> find_code_accesses(const Program& program, const NamedAddresses& named);

}  // namespace profld

#endif
