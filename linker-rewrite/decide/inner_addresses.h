// Functions with an address inside that data or an instruction holds, and that no jump is known to use.

#ifndef LINKER_REWRITE_DECIDE_INNER_ADDRESSES_H
#define LINKER_REWRITE_DECIDE_INNER_ADDRESSES_H

#include <vector>

#include "linker-rewrite/program/data_references.h"
#include "linker-rewrite/program/program.h"

namespace profld {

// Data at `at`, or the instruction there, says where in the code range `range` something is.
struct InnerAddress {
  uint32_t range;
  OldAddr at;
  bool in_instruction = false;
};

// Finds all that can be told from other numbers, in a fixed order. Needs Group::indirect.
std::vector<InnerAddress> find_inner_addresses(const Program& program, const DataReferences& data);

}  // namespace profld

#endif
