// Which functions look at the word of the stack that holds their return address.

#ifndef LINKER_REWRITE_X86_RETURN_SLOT_H
#define LINKER_REWRITE_X86_RETURN_SLOT_H

#include <vector>

#include "decode.h"

namespace profld {

// Whether an instruction may read that word, or take its address. `parts`: of one function, the main range first. A
// quick look at bytes: it may say yes without need, and no where the stack pointer is set in unusual ways.
bool may_read_return_slot(const std::vector<Code>& parts);

// Whether an instruction that control may come to from the start of `code`, other than by jumps backwards or through a
// table, may load that word, store eight bytes there, pop it or change it. It may say yes without need, but never no:
// where it is not certain that a register points there, no such use is looked for.
bool may_use_return_address(const Code& code);

}  // namespace profld

#endif
