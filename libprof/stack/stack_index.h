// The stacks of a thread whose bounds are not known, ordered by their upper ends: which one ends just above an address,
// and which one below. See stack_index.cc.

#ifndef LIBPROF_STACK_INDEX_H
#define LIBPROF_STACK_INDEX_H

#include "libprof/data/state.h"

namespace libprof {

// A stack by its first chunk. Of two with the same end, the one with the larger number comes first.
struct StackEnd {
  uint64_t end;  // one past the address of its highest word
  Block stack;   // 0: there is none
  Block page;    // within the index
};

struct Neighbours {
  StackEnd below, above;
};

// The last stack before that place in the order, and the first one after it. A slow path.
Neighbours neighbours_of(State* s, uint64_t end, Block stack);

// Heavy paths. add_stack_end returns false, with nothing changed, if there is no room.
bool add_stack_end(State* s, uint64_t end, Block stack);
void remove_stack_end(State* s, uint64_t end, Block stack);

}  // namespace libprof

#endif
