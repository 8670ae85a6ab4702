// Guesses at the stack that an address lies on: from the order in which the thread went to its coroutines before, and from where
// stacks were found. See recent_stacks.cc.

#ifndef LIBPROF_RECENT_STACKS_H
#define LIBPROF_RECENT_STACKS_H

#include "libprof/data/frames.h"

namespace libprof {

// The entries of the table that are for one address: the page in the high half, the first chunk of a stack in the low one.
inline constexpr uint32_t kRecentStacks = 4;
struct RecentStacks {
  uint64_t entries[kRecentStacks];
};

// Null if there is none.
RecentStacks* recent_stacks_of(State* s, uint64_t address);

// Puts the stack there.
void note_recent_stack(RecentStacks* recent, uint64_t address, Block stack);

// Heavy. There is a table with twice as many entries as there are stacks, if there is room.
void fit_recent_stacks(State* s);

// Lets the processor read what a change to that stack needs, which is then there when it is needed.
inline void read_ahead(FrameChunk* stack) {
  __builtin_prefetch(stack);
  __builtin_prefetch(stack + 1);  // the first frames
}

// Which coroutine the thread went to after that one: in the base of its frames, which is no call that began at some time.
inline uint64_t* follower_of(FrameChunk* coroutine) { return &frames_of(coroutine)->start; }

// Says that the thread goes to that coroutine now.
inline void note_arrival(State* s, FrameChunk* coroutine) {
  if (const Block before = load(&s->latest_coroutine)) {
    uint64_t* follower = follower_of(at<FrameChunk>(s->base, before));
    store(&s->is_in_order, uint32_t(load(follower) == coroutine->stack));
    store(follower, uint64_t(coroutine->stack));
  }
  store(&s->latest_coroutine, coroutine->stack);
  if (const auto next = Block(load(follower_of(coroutine)))) read_ahead(at<FrameChunk>(s->base, next));
}

// The coroutine that the thread goes to next, if it does as it did before; null if that cannot be told.
inline FrameChunk* expected_stack(State* s) {
  if (load(&s->is_in_order) == 0) return nullptr;
  const auto next = Block(load(follower_of(at<FrameChunk>(s->base, load(&s->latest_coroutine)))));
  return next ? at<FrameChunk>(s->base, next) : nullptr;
}

inline uint32_t page_tag(uint64_t address) { return uint32_t(address / kPage); }

// The first of the stacks found there of which is_it(stack) is true; null if there is none.
template <class IsIt>
FrameChunk* find_recent(State* s, const RecentStacks* recent, uint64_t address, IsIt is_it) {
  for (const uint64_t& e : recent->entries) {
    const uint64_t entry = load(&e);
    if (entry == 0 || entry >> 32 != page_tag(address)) continue;
    auto* c = at<FrameChunk>(s->base, Block(entry));
    read_ahead(c);
    if (is_it(c)) return c;
  }
  return nullptr;
}

}  // namespace libprof

#endif
