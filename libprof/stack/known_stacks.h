// The stacks of a thread that the runtime knows, each by the first of its chunks of frames: how they are found, made
// and forgotten. See known_stacks.cc; stack_switch.cc decides which of them the thread is on.

#ifndef LIBPROF_KNOWN_STACKS_H
#define LIBPROF_KNOWN_STACKS_H

#include "libprof/data/frames.h"
#include "libprof/data/state.h"
#include "libprof/kernel/syscall.h"

namespace libprof {

inline FrameChunk* chunk_at(State* s, Block block) { return at<FrameChunk>(s->base, block); }
// Most often its first chunk is where the top is: then there is nothing to read.
inline FrameChunk* current_stack(State* s) {
  Frame* top = top_frame(s);
  FrameChunk* first = chunk_at(s, load(&s->thread->frames));
  const auto head = reinterpret_cast<uint64_t>(first);
  const uint64_t size = (head & (kPage - 1)) == kLargeChunkOffset ? kPage : kSmallChunk;
  return (head ^ reinterpret_cast<uint64_t>(top)) < size ? first : chunk_at(s, chunk_of(top)->stack);
}
inline Frame* frame_at(State* s, uint64_t top) { return reinterpret_cast<Frame*>(reinterpret_cast<char*>(s) + top); }

// Of stacks whose bounds are known.
inline bool contains(const FrameChunk* stack, uint64_t slot) { return slot >= stack->low && slot < stack->high; }

// The top entry of any stack but a signal stack; and whether that is the base. A stack whose memory has become zeros,
// because a handler has forked and this is the child, has no frames.
inline Frame* top_of(State* s, FrameChunk* stack) {
  if (stack == current_stack(s)) return top_frame(s);
  const uint64_t top = load(&stack->saved_top);
  return top != 0 ? frame_at(s, top) : frames_of(stack);
}
inline bool is_empty(State* s, FrameChunk* stack) { return top_of(s, stack) == frames_of(stack); }

// The entry above one that is not the topmost; null if there is none.
Frame* next_frame(State* s, Frame* f);

// Every entry above the base becomes 0. Calls that are timed are taken to have ended at `now`.
void drop_frames(State* s, FrameChunk* stack, uint64_t now);

// Of the stacks without known bounds that have frames: the one with the nearest upper end above an address, null if
// there is none; and the nearest upper end below that of a stack, 0 if there is none. Slow paths.
FrameChunk* find_stack_above(State* s, uint64_t address);
uint64_t find_lower_end_of(State* s, FrameChunk* stack);
inline uint64_t lower_end_of(State* s, FrameChunk* stack) {
  const bool is_own = stack->kind == kThreadStack;
  const bool is_known = load(is_own ? &s->below_thread_stack_is_of : &stack->low_is_of) == load(&s->stack_changes);
  if (is_known && stack->kind != kSignalStack) return load(is_own ? &s->below_thread_stack : &stack->low);
  return find_lower_end_of(s, stack);
}

// The known stack that has the frame with that slot, other than a signal stack; null if there is none. A slow path.
FrameChunk* find_lasting_stack(State* s, uint64_t slot);

// Makes a stack for the coroutine whose first function has that slot; null if there is no room. A slow path.
FrameChunk* make_coroutine_stack(State* s, uint64_t slot);

// The signal stack with these bounds; null if there is no room. A slow path.
FrameChunk* find_or_make_signal_stack(State* s, const SignalStack& bounds, uint64_t slot);

// To be called when the thread leaves that stack, and it has no frames.
void note_emptied(State* s, FrameChunk* stack);

// Heavy. Forgets the stacks that are gone, if it is time to look.
void look_at_stacks(State* s);

// Heavy. Moves the frames `first` to `last` of a stack, which are its topmost, to a new one; their entries are for the
// caller to clear. `node`: of what is below them. False if there is no room.
bool move_to_own_stack(State* s, Frame* first, Frame* last, Block node);

// Takes the frames at and above a slot out of a stack that the thread is not on. A slow path.
void forget_upper_frames(State* s, FrameChunk* stack, uint64_t slot);

// Heavy paths for run_heavy. Both return 0 if there is no room.
uint64_t add_chunk(State* s, uint64_t chunk);                      // after the FrameChunk at that address
bool begin_thread_stack(State* s, uint64_t slot, bool is_reused);  // the first stack of a thread, entered at `slot`

// Guesses at the stack that an address lies on: from the order in which the thread went to its coroutines before, and
// from where stacks were found. The end of known_stacks.cc says how.

// The entries of the table that are for one address: the page in the high half, the first chunk of a stack in the low
// one.
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

// Which coroutine the thread went to after that one: in the base of its frames, which is no call that began at some
// time.
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
