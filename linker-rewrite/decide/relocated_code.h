// Code that the dynamic linker changes when it loads the file: relocations in code, as -mcmodel=large without -fPIC and
// -z notext make them (DT_TEXTREL). See relocated_code.cc.

#ifndef LINKER_REWRITE_DECIDE_RELOCATED_CODE_H
#define LINKER_REWRITE_DECIDE_RELOCATED_CODE_H

#include "linker-rewrite/program/program.h"

namespace profld {

// Why a group cannot move for a relocation in its code; nullopt if all its relocations can be led to the copies. To be
// called when its indirect jumps are resolved.
std::optional<Reason> why_not_relocated(const Program& program, const Group& group);

}  // namespace profld

#endif
