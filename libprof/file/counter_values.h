// Room in the profile for the counters of basic blocks, and its mapping in the place of a program's own. Heavy paths.

#ifndef LIBPROF_COUNTER_VALUES_H
#define LIBPROF_COUNTER_VALUES_H

#include "libprof/data/state.h"

namespace libprof {

// Room for counters, all 0. `size`: bytes, whole pages. 0 if there is none.
Block take_values(uint64_t size);

// Tells readers of them: they are the module's. False if there is no room for that.
bool list_values(Block module, Block values, uint64_t size);

// Has the pages of a shared mapping at `memory` as well, in the place of what was there; forked children inherit them
// there. False, with nothing changed, if that is not possible.
bool map_twice(char* pages, char* memory, uint64_t size);

}  // namespace libprof

#endif
