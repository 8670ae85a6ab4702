// Which system calls the runtime may still make, after the program has given up its right to some. See sandbox.cc.

#ifndef LIBPROF_ALLOWED_CALLS_H
#define LIBPROF_ALLOWED_CALLS_H

#include <stdint.h>

#include "seccomp_filter.h"

namespace libprof {

// Whether there is anything to ask may_call about.
extern uint32_t is_sandboxed;

// Whether the kernel will carry out this system call when the runtime makes it, as far as we know.
bool may_call(int64_t number, const uint64_t (&arguments)[6]);

// A filter of the program's. Inherited by forked children, as the filters are.
struct SeenFilter {
  SeenFilter* next;
  uint64_t size;  // instructions
  FilterInstruction instructions[kMaxFilterInstructions];
};

// From now on may_call asks the filter that the kernel has just read as well. `kept`: zeroed memory, which stays there.
void obey_filter(SeenFilter* kept, const FilterInstruction* instructions, uint64_t size);

// From now on no call may be made, until that is undone as often.
void forbid_all_calls();
void undo_forbid_all_calls();

}  // namespace libprof

#endif
