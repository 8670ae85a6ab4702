// How long calls lasted, by function: Durations in libprof/format/format.h. With types whose nodes hold times; see
// durations.cc.

#ifndef LIBPROF_DURATIONS_H
#define LIBPROF_DURATIONS_H

#include "libprof/data/state.h"
#include "libprof/profile_type.h"

namespace libprof {

// What hooks take, in cycles.
struct HookCosts {
  uint64_t inside, pair;  // between the two time stamps of a pair, and both hooks together; 0 until they are known
  // Of a tail call through a pointer: in the function that jumps, and, in place of `inside`, in that jumped to.
  uint64_t sought_outside, sought_inside;
  int64_t longest_short;  // how long a short call takes at most, with `inside`: a negative number
};
inline constexpr int64_t longest_short(uint64_t inside) { return 1 - int64_t(prof_format::kShortestDuration + inside); }
#pragma GCC visibility push(hidden)
extern "C" HookCosts hook_costs;
#pragma GCC visibility pop

// Makes what stands for the durations that find no room. A heavy path.
void begin_durations(Header* header);

// A call begins that has this frame. `now`: a stamp of the thread's (clock/times.h).
void begin_duration(State* s, Frame* f, uint64_t now);

// A call of a node ends that began at `start`, a Frame::start. A slow path.
void end_duration(State* s, Node* node, uint64_t start, uint64_t now);

// The same where it ends in a tail call: that of the function jumped to begins, which has the frame. `is_sought`: with
// kSoughtCall.
void hand_duration_on(State* s, Frame* f, Node* jumping, uint64_t start, uint64_t now, bool is_sought);

}  // namespace libprof

#endif
