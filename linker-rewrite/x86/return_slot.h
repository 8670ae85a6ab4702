// Which functions look at the word of the stack that holds their return address.

#ifndef LINKER_REWRITE_X86_RETURN_SLOT_H
#define LINKER_REWRITE_X86_RETURN_SLOT_H

#include <vector>

#include "decode.h"

namespace profld {

// Whether an instruction may read that word, or take its address. `parts`: of one function, the main range first. A quick
// look at bytes: it may say yes without need, and no where the stack pointer is set in unusual ways.
bool may_read_return_slot(const std::vector<Code>& parts);

}  // namespace profld

#endif
