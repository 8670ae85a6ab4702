// Hooks that leave the functions whose calls are short, while the program runs: see leaving.cc.

#ifndef LIBPROF_LEAVING_H
#define LIBPROF_LEAVING_H

#include "libprof/data/objects.h"

namespace libprof {

// Whether the program has hooks that are to leave (profld --latency).
bool has_leaving_hooks();

// To be called once, before the first hook does anything. Has hooks take durations (hooks_leave), if the program has
// such hooks and its code can be changed. A heavy path.
void begin_leaving(const ProgramHeaders& program);

// A frame of the node is gone without its exit. A slow path.
void look_at_gone_call(State* s, Node* n);

}  // namespace libprof

#endif
