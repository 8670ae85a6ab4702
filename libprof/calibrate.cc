// The hooks are run in earnest, on a state, frames and two nodes that lie in private memory: the thread-local word
// points there meanwhile. Signals are blocked, so no handler of the program records into it. Of several
// batches the cheapest counts: interrupts only ever add.

#include "calibrate.h"

#include "slow.h"
#include "syscall.h"

namespace libprof {

extern "C" {
[[gnu::visibility("hidden")]] void call_probed(uint64_t count);
[[gnu::visibility("hidden")]] void call_bare(uint64_t count);
[[gnu::visibility("hidden")]] extern const char probed_pc[];
}

namespace {

constexpr uint64_t kBatches = 12, kCalls = 200;

// The memory: a page for the state, then a small mapping of the form of a profile.
struct Scratch {
  State state;
  char fill[kPage - sizeof(State)];
  char header[PROF_BLOCK_SIZE];
  Thread thread;  // block 1
  Node root;      // block 3
  Node child;
  char more[kPage - 5 * PROF_BLOCK_SIZE];
  FrameChunk chunk;
  Frame frames[kFramesPerChunk];
};
static_assert(sizeof(Scratch) == 3 * kPage);

void prepare(Scratch* s) {
  constexpr Block kRoot = 3, kChild = 4;
  s->state.base = s->header;
  s->state.thread = &s->thread;
  s->state.top = as_top(&s->state, s->frames);
  s->root.last = kChild;
  s->child.pc = reinterpret_cast<uint64_t>(probed_pc);
  s->child.parent = kRoot;
  char here;
  set_base(s->frames, reinterpret_cast<uint64_t>(&here), kRoot);
}

}  // namespace

Calibration calibrate() {
  Calibration result = {0, 0};
  if (!is_timed() || counter_stopped_at) return result;
  auto* scratch = static_cast<Scratch*>(map_memory(sizeof(Scratch)));
  if (!scratch) return result;
  State* own = get_state();
  prepare(scratch);
  set_state(&scratch->state);
  uint64_t with = ~uint64_t(0), without = ~uint64_t(0), inside = ~uint64_t(0);
  for (uint64_t i = 0; i < kBatches; ++i) {
    scratch->child.cycles = 0;
    const uint64_t t0 = time_stamp();
    call_bare(kCalls);
    const uint64_t t1 = time_stamp();
    call_probed(kCalls);
    const uint64_t t2 = time_stamp();
    if (t1 - t0 < without) without = t1 - t0;
    if (t2 - t1 < with) with = t2 - t1;
    if (scratch->child.cycles < inside) inside = scratch->child.cycles;
  }
  set_state(own);
  const bool is_sound = scratch->child.count == kBatches * kCalls && with > without && inside < with;
  unmap_memory(scratch, sizeof(Scratch));
  if (!is_sound) return result;
  result.inside = inside * 256 / kCalls;
  const uint64_t both = (with - without) * 256 / kCalls;
  result.outside = both > result.inside ? both - result.inside : 0;
  return result;
}

}  // namespace libprof
