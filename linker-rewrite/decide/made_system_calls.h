// Which system calls the code of a program may make.

#ifndef LINKER_REWRITE_DECIDE_MADE_SYSTEM_CALLS_H
#define LINKER_REWRITE_DECIDE_MADE_SYSTEM_CALLS_H

#include <span>

#include "linker-rewrite/program/program.h"

namespace profld {

// Whether the program's own code may make one of these system calls (numbers of x86-64): it has an instruction that does,
// or one of which the number is not known, or that is made as 32-bit programs make theirs, whose numbers are others; or there
// are bytes in no function that may be a system call.
bool may_make_system_call(const Program& program, std::span<const int64_t> numbers);

// Whether two bytes anywhere in code outside functions could be the end of an instruction that `is_wanted` tells of.
bool any_code_outside_functions(const Program& program, bool (*is_wanted)(uint8_t, uint8_t));

}  // namespace profld

#endif
