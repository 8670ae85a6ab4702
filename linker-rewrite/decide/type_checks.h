// What compilers put into indirect calls to check the function's type: see type_checks.cc.

#ifndef LINKER_REWRITE_DECIDE_TYPE_CHECKS_H
#define LINKER_REWRITE_DECIDE_TYPE_CHECKS_H

#include <vector>

#include "linker-rewrite/program/program.h"

namespace profld {

// The instructions of `code` that read the type of a function that will be called, and nothing else of it: their indexes,
// ascending.
std::vector<uint32_t> reads_of_type(const Program& program, const Code& code);

// How many bytes in front of the entries of functions are read by such instructions; 0 if none are.
uint64_t bytes_read_before_entries(const Program& program);

}  // namespace profld

#endif
