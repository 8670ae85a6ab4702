// Functions that a library chooses among when it is loaded: strlen for this processor or for that one.

#ifndef LINKER_REWRITE_DECIDE_IFUNC_H
#define LINKER_REWRITE_DECIDE_IFUNC_H

#include <vector>

#include "linker-rewrite/program/program.h"

namespace profld {

// Groups (indexes, ascending) with functions that resolvers of IFUNC symbols may choose, or with resolvers. A resolver
// chooses among the functions whose addresses it takes.
std::vector<uint32_t> groups_of_resolvers(const Program& program);

}  // namespace profld

#endif
