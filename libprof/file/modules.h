// The list of mapped object files in the profile, from which readers turn program counters into symbols.

#ifndef LIBPROF_MODULES_H
#define LIBPROF_MODULES_H

#include "libprof/data/objects.h"
#include "libprof/data/state.h"

namespace libprof {

// Puts the program itself on the list, before anything else. A heavy path.
void list_program(const Object& program);

// If `pc` is in no listed module, adds the module that it lies in to the list. A slow path, for each new node.
void note_module_of(State* s, uint64_t pc);

// Puts an object that is not listed on the list if its functions have been called already, when it was not yet known
// what lay there. A heavy path.
void list_if_called(const Object& object);

// Puts an object on the list that may be there already. Returns its module; 0 if there is no room. `path`: null if it
// is to be looked for. A heavy path.
Block list_object(const Object& object, const char* path);

// Bits of Thread::modules. Each thread sets those of the modules that its nodes lie in, so that one without nodes of a
// module can be passed over; modules may share a bit.
inline uint64_t module_bit(Block module) { return uint64_t(1) << (module * 0x9e3779b9u >> 26); }

// Whether `address` is in a file that is listed: one that calls hooks. On any path.
bool is_in_listed_module(uint64_t address);

}  // namespace libprof

#endif
