// Frames of the shadow stacks, in the profile, and the chunks that they lie in: format.h says what both are, hooks.S
// what the hooks do with them.

#ifndef LIBPROF_FRAMES_H
#define LIBPROF_FRAMES_H

#include "state.h"

// Chunks of frames end at multiples of this, and nowhere else is an entry at one of these but the first of a page.
#define CHUNK_ALIGNMENT 1024

// A frame that is farther below the top than this is looked at more closely.
#define LARGEST_FRAME 32768

// Of Frame::flags, alone: the next hook of that slot is that of the function jumped to (tail_calls.cc).
#define FRAME_EXPECTED 4

#ifndef __ASSEMBLER__

namespace libprof {

// Chunks of frames. The end of a chunk shows in the address of an entry (CHUNK_ALIGNMENT). Four small chunks fill a
// page: a coroutine begins with one of these. A large one, with entries in all of a page but the first quarter, where
// its head is last, is for the stacks of threads and for whatever needs more.
inline constexpr uint64_t kSmallChunk = CHUNK_ALIGNMENT;
inline constexpr uint64_t kLargeChunkOffset = CHUNK_ALIGNMENT - sizeof(FrameChunk);  // in its page
inline constexpr uint32_t kFramesInSmallChunk = (kSmallChunk - sizeof(FrameChunk)) / sizeof(Frame);
inline constexpr uint32_t kFramesInLargeChunk = (kPage - CHUNK_ALIGNMENT) / sizeof(Frame);
static_assert(sizeof(FrameChunk) + kFramesInSmallChunk * sizeof(Frame) == kSmallChunk);
static_assert(CHUNK_ALIGNMENT + kFramesInLargeChunk * sizeof(Frame) == kPage);

// Kinds of FrameChunk::kind.
enum StackKind : uint32_t { kThreadStack = 1, kSignalStack = 2, kOtherStack = 3 };

// Values of Frame::flags below kWeightShift. The slots of frames with flags, and of base frames, are odd (see
// kSlotTag).
enum FrameFlags : uint32_t {
  kCopied = 1,  // first entry of a further chunk: stands for the last frame of the chunk before
  kBase = 2,
  // Of tail calls, see tail_calls.cc:
  kExpected = FRAME_EXPECTED,  // its node is that of a function that has not called its hook yet
  kTimedOnArrival = 8,         // with kExpected: the hook has more to do than to count
  kFoldedCall = 16,            // the call was folded, so it has no time of its own
};

// Added to a slot to make the fast exit path fail to match it and leave the frame to the slow path.
inline constexpr uint64_t kSlotTag = 1;

inline Frame* top_frame(State* s) { return reinterpret_cast<Frame*>(reinterpret_cast<char*>(s) + load(&s->top)); }
inline uint64_t as_top(State* s, Frame* f) { return uint64_t(reinterpret_cast<char*>(f) - reinterpret_cast<char*>(s)); }
// What a page of small chunks begins with, is empty in one with a large chunk.
inline FrameChunk* chunk_of(Frame* f) {
  const uint64_t address = reinterpret_cast<uint64_t>(f), page = address & ~(kPage - 1);
  if (load(&reinterpret_cast<const FrameChunk*>(page)->capacity) == 0)
    return reinterpret_cast<FrameChunk*>(page + kLargeChunkOffset);
  return reinterpret_cast<FrameChunk*>(address & ~(kSmallChunk - 1));
}
inline uint32_t frames_in(const FrameChunk* c) {
  const bool is_large = (reinterpret_cast<uint64_t>(c) & (kPage - 1)) == kLargeChunkOffset;
  return is_large ? kFramesInLargeChunk : kFramesInSmallChunk;
}
inline Frame* frames_of(FrameChunk* c) { return reinterpret_cast<Frame*>(c + 1); }
// False for an entry that is neither the first of a chunk nor, in the zeros of a parent (life/threads.cc), of a page.
inline bool may_be_first(Frame* f) {
  const uint64_t address = reinterpret_cast<uint64_t>(f), in_page = address & (kPage - 1);
  return in_page == CHUNK_ALIGNMENT || in_page < sizeof(FrameChunk) + sizeof(Frame) ||
         (address & (kSmallChunk - 1)) == sizeof(FrameChunk);
}
inline bool is_last(Frame* f) { return (reinterpret_cast<uint64_t>(f + 1) & (CHUNK_ALIGNMENT - 1)) == 0; }

// No loop goes on for ever, even if something has overwritten the list that it follows. Blocks are given out in
// ascending order, so the lists of stacks and of chunks are ordered; an element out of order ends the list.
inline Block if_before(Block next, Block b) { return next < b ? next : 0; }
inline Block if_after(Block next, Block b) { return next > b ? next : 0; }

// The stack of the thread that was made before that one; 0 if there is none.
inline Block stack_before(State* s, Block b) { return if_before(at<FrameChunk>(s->base, b)->next_stack, b); }
// The chunk above that one; 0 if there is none.
inline Block chunk_after(State* s, Block b) { return if_after(at<FrameChunk>(s->base, b)->next, b); }

inline uint64_t slot_of(const Frame* f) { return load(&f->slot) & ~kSlotTag; }

// For frame_below: of an entry that may be the first of its chunk.
Frame* frame_below_chunk(State* s, Frame* f);

// The frame below; null below a base.
inline Frame* frame_below(State* s, Frame* f) { return may_be_first(f) ? frame_below_chunk(s, f) : f - 1; }

// The frame, or the nearest below it that has a slot.
Frame* nearest_with_slot(State* s, Frame* f);
inline Frame* with_slot(State* s, Frame* f) { return load(&f->slot) != 0 ? f : nearest_with_slot(s, f); }

// The topmost frame that has a slot.
inline Frame* current_frame(State* s) { return with_slot(s, top_frame(s)); }

// The frame that f, the first of a further chunk, stands for; else f.
inline Frame* original_of(State* s, Frame* f) {
  if (!(f->flags & kCopied)) return f;
  Frame* below = frame_below(s, f);
  return below ? below : f;  // none in the zeros of a parent, see life/threads.cc
}

// Puts the base frame of a stack: it stands for the code that calls profiled code from around `slot`.
void set_base(Frame* f, uint64_t slot, Block node);

}  // namespace libprof

#endif  // __ASSEMBLER__
#endif
