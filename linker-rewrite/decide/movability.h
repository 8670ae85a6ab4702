// Which functions stay in place, unprofiled, and why.

#ifndef LINKER_REWRITE_DECIDE_MOVABILITY_H
#define LINKER_REWRITE_DECIDE_MOVABILITY_H

#include "linker-rewrite/program/fragments.h"

namespace profld {

// What data says about code, for the analysis of jump tables.
DataReferences find_data_references(Program& program);

// Sets Group::reason of every group that cannot be moved, and Group::indirect of the others.
void find_reasons_to_stay(Program& program, const DataReferences& data);

// The address that a RIP-relative operand of `insn` names is taken (lea), not read.
bool takes_address(const Code& code, const Insn& insn);

}  // namespace profld

#endif
