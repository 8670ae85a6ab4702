// Whether two threads may increment the same counter of profld -b: see shared_counters.cc.

#ifndef LINKER_REWRITE_DECIDE_SHARED_COUNTERS_H
#define LINKER_REWRITE_DECIDE_SHARED_COUNTERS_H

#include "linker-rewrite/program/program.h"

namespace profld {

// Of a copy without hooks. `runtime_begins_threads`: its runtime has the program's new threads begin with itself.
bool may_share_counters(const Program& program, bool runtime_begins_threads);

}  // namespace profld

#endif
