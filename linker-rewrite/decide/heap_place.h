// Whether a program takes the memory after its data for its heap. See heap_place.cc.

#ifndef LINKER_REWRITE_DECIDE_HEAP_PLACE_H
#define LINKER_REWRITE_DECIDE_HEAP_PLACE_H

#include "linker-rewrite/program/program.h"

namespace profld {

// To be called when its functions are decoded.
bool takes_heap_behind_data(const Program& program);

}  // namespace profld

#endif
