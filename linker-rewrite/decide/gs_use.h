// Whether a program uses the segment register gs, by which threads find what the runtime has for them.

#ifndef LINKER_REWRITE_DECIDE_GS_USE_H
#define LINKER_REWRITE_DECIDE_GS_USE_H

#include "linker-rewrite/program/program.h"

namespace profld {

// Whether an instruction of the program does, or it imports the function that sets the base of gs: then the instructions
// may be in code that is made at run time.
bool uses_gs(const Program& program);

}  // namespace profld

#endif
