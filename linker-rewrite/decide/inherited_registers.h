// Code that no table names and that finds memory through registers which its callers have set; and what belongs to it.

#ifndef LINKER_REWRITE_DECIDE_INHERITED_REGISTERS_H
#define LINKER_REWRITE_DECIDE_INHERITED_REGISTERS_H

#include "linker-rewrite/program/program.h"

namespace profld {

// Adds reasons to stay to such functions that were discovered, to what they call, and to what calls such code.
void keep_what_inherits_registers(Program& program);

}  // namespace profld

#endif
