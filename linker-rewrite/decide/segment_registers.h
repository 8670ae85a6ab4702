// What a program does with the segment registers: gs, by which threads find what the runtime has for them, and fs, the thread
// pointer.

#ifndef LINKER_REWRITE_DECIDE_SEGMENT_REGISTERS_H
#define LINKER_REWRITE_DECIDE_SEGMENT_REGISTERS_H

#include "linker-rewrite/program/program.h"

namespace profld {

// Whether an instruction of the program uses gs, or it imports the function that sets the base of gs: then the instructions
// may be in code that is made at run time.
bool uses_gs(const Program& program);

// Whether a static program may set its thread pointer by rules of its own: see segment_registers.cc.
bool is_thread_pointer_doubtful(const Program& program);

}  // namespace profld

#endif
