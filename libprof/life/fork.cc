// The problem. A forked child must not touch its parent's profile: the mapping is MADV_DONTFORK, the states are
// MADV_WIPEONFORK, and a hook that finds its state wiped begins anew. But the handler of a signal may fork, and when it
// returns in the child, the hook that it interrupted goes on, with addresses of the parent's mapping in its registers
// and the parent's state.
//
// So the child, before it returns from the handler, leaves the parent's state in a form in which every path through the
// hooks ends well. Private zeros replace the mapping; nodes and frames that were there are gone. The state refers to a
// base frame, a thread and an empty table after them, so that code in the middle of a slow path finds no frame to pop
// and no child, and makes new ones in private memory. Wherever it reads the mapping it takes zeros for "none". And this is
// not the thread's state any more: the child gets another one.
//
// The child does this when the C library reports the fork (as to pthread_atfork), or when the fork was made by syscall
// (libc_calls.S), and at the latest in its first hook, which may be the exit of the handler.
//
// A child that forks again has the zeros of its own parent and grandparent; older ones are unmapped. They would matter
// only if three signal handlers on one stack forked.
//
// Limit. A handler without hooks of its own (in a library) that forks by _Fork, clone3 or a system call of its own, and
// whose child neither ends nor calls profiled functions but returns into a hook, is not covered.

#include "fork.h"

#include "libprof/clock/switches.h"
#include "libprof/data/frames.h"
#include "libprof/data/state.h"
#include "libprof/file/block_counters.h"
#include "libprof/file/file.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/profile_type.h"
#include "libprof/trace/trace.h"

namespace libprof {

namespace {

// Of a process and its children, newest first. Copied by fork like any memory of a program.
struct Memory {
  char* start;
  uint64_t size;
};
constexpr int kGenerations = 2;
Memory zeros[kGenerations], areas[kGenerations];

void keep(Memory* kept, Memory newest) {
  const Memory oldest = kept[kGenerations - 1];
  if (oldest.start) unmap_memory(oldest.start, oldest.size);
  for (int i = kGenerations - 1; i > 0; --i) kept[i] = kept[i - 1];
  kept[0] = newest;
}

}  // namespace

bool is_of_parent(State* s) { return s->top == 0 && s->base == nullptr && s->is_left == 0; }

void leave_parent(State* s) {
  leave_block_counters_of_parent();
  leave_trace_of_parent();
  const bool is_area_whole = !uses_cpu_clock() || leave_sign(s);
  if (const auto [base, size] = bequeathed(); base) {
    const Memory all = {base - kPage, kPage + size + kRoomBehindMapping};
    const int64_t at = syscall6(__NR_mmap, as_word(all.start), all.size, kProtectNone,
                                kMapPrivate | kMapAnonymous | kMapNoReserve | kMapFixedNoReplace, uint64_t(-1), 0);
    if (at == int64_t(as_word(all.start)) && open_memory(base, all.size - 2 * kPage)) {
      keep(zeros, all);
    } else if (!is_error(at)) {
      unmap_memory(reinterpret_cast<void*>(at), all.size);  // a kernel that does not know the flag
    }
    forget_bequest();
    const uint64_t left_out = is_area_whole ? 0 : 2 * kPage;  // the page of the sign and the one before it
    keep(areas, {area_of(s) + left_out, kAreaSize - left_out});
  }
  if (zeros[0].start) {
    char* base = zeros[0].start + kPage;
    char* after = zeros[0].start + zeros[0].size - kRoomBehindMapping;
    auto* chunk = reinterpret_cast<FrameChunk*>(after + kLargeChunkOffset);
    chunk->stack = Block((after + kLargeChunkOffset - base) >> PROF_BLOCK_SHIFT);
    chunk->capacity = kFramesInLargeChunk;
    frames_of(chunk)->flags = kBase;
    frames_of(chunk)->slot = kSlotTag;
    s->base = base;
    s->thread = reinterpret_cast<Thread*>(after + kPage);
    s->table = reinterpret_cast<Link*>(after + kPage + kPage / 2);
    s->top = as_top(s, frames_of(chunk));
  }
  stop_watching(s);
  s->is_left = 1;
  advise(s, kPage, kAdviseKeepOnFork);
  set_state(nullptr);
}

}  // namespace libprof
