#include "frames.h"

namespace libprof {

Frame* frame_below_chunk(State* s, Frame* f) {
  FrameChunk* chunk = chunk_of(f);
  if (f != frames_of(chunk)) {
    // In the zeros of a parent (life/threads.cc) no chunk is small any more.
    const bool has_left_page = (reinterpret_cast<uint64_t>(f) & (kPage - 1)) < sizeof(FrameChunk) + sizeof(Frame);
    return has_left_page ? nullptr : f - 1;
  }
  const Block previous = if_before(chunk->previous, block_of(s, chunk));
  if (previous == 0) return nullptr;
  FrameChunk* below = at<FrameChunk>(s->base, previous);
  return frames_of(below) + (frames_in(below) - 1);
}

Frame* nearest_with_slot(State* s, Frame* f) {
  while (load(&f->slot) == 0) {
    Frame* below = frame_below(s, f);
    if (!below) break;
    f = below;
  }
  return f;
}

void set_base(Frame* f, uint64_t slot, Block node) {
  store(&f->node, node);
  store(&f->flags, uint32_t(kBase));
  store(&f->slot, (slot + 64) | kSlotTag);
}

}  // namespace libprof
