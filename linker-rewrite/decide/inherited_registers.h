// Functions that no table names and that find memory through registers which their callers have set.

#ifndef LINKER_REWRITE_DECIDE_INHERITED_REGISTERS_H
#define LINKER_REWRITE_DECIDE_INHERITED_REGISTERS_H

#include "linker-rewrite/program/program.h"

namespace profld {

// Adds reasons to stay to these functions, and to those that they call or that call them.
void keep_what_inherits_registers(Program& program);

}  // namespace profld

#endif
