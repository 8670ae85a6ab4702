// Which functions stay in place, unprofiled, and why.

#ifndef LINKER_REWRITE_DECIDE_MOVABILITY_H
#define LINKER_REWRITE_DECIDE_MOVABILITY_H

#include "linker-rewrite/program/data_references.h"
#include "linker-rewrite/program/program.h"

namespace profld {

// Sets Group::reason of every group that cannot be moved, and Group::indirect of the others.
void find_reasons_to_stay(Program& program, const DataReferences& data);

}  // namespace profld

#endif
