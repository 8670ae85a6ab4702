// Code that the dynamic linker changes when it loads the file: relocations in code, as -mcmodel=large without -fPIC and
// -z notext make them (DT_TEXTREL). See relocated_code.cc.

#ifndef LINKER_REWRITE_DECIDE_RELOCATED_CODE_H
#define LINKER_REWRITE_DECIDE_RELOCATED_CODE_H

#include <utility>
#include <vector>

#include "linker-rewrite/program/program.h"

namespace profld {

// Why a group cannot move for a relocation in its code; nullopt if all its relocations can be led to the copies. To be
// called when its indirect jumps are resolved.
std::optional<Reason> why_not_relocated(const Program& program, const Group& group);

// The instructions of `code` with a number that a relocation changes to an address in this file: their indexes, and that
// address.
std::vector<std::pair<uint32_t, OldAddr>> relocated_numbers(const Image& image, const Code& code);

}  // namespace profld

#endif
