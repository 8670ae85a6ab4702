// The list of mapped object files in the profile, from which readers turn program counters into symbols.

#ifndef LIBPROF_MODULES_H
#define LIBPROF_MODULES_H

#include "state.h"

namespace libprof {

// Puts the program itself on the list, and finds the words through which it calls the hooks. A heavy path.
void list_program();

// If `pc` is in no listed module, adds the module that it lies in to the list. A slow path, for each new node.
void note_module_of(State* s, uint64_t pc);

// Whether `address` is in a file that is listed: one that calls hooks. On any path.
bool is_in_listed_module(uint64_t address);

}  // namespace libprof

#endif
