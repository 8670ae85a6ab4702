// Functions whose return addresses are compared with other addresses, where what they call asks who called it.

#ifndef LINKER_REWRITE_DECIDE_COMPARED_CALLERS_H
#define LINKER_REWRITE_DECIDE_COMPARED_CALLERS_H

#include "code_as_data.h"
#include "linker-rewrite/program/data_references.h"

namespace profld {

// Gives the groups that call such a function, or may call it, a reason to stay. Needs Group::indirect.
void keep_compared_callers(Program& program, const DataReferences& data, const NamedAddresses& named);

}  // namespace profld

#endif
