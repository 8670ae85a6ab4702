// The problem. Coroutines are made and left without a word to the runtime, which only sees functions called on their
// stacks. One that was left for good looks like one that waits; a program may make millions of them, and have a hundred
// thousand at a time. What a change of stacks costs, and the room that frames take, must depend on neither.
//
// Which stacks are kept. The thread's own, those for signal handlers, and of coroutines one for each whose functions
// have not returned. A stack is forgotten, with its frames, as soon as it is seen that it is gone:
//   - a new coroutine begins at the same place or above, within it (make_other_stack): frames there are overwritten.
//     What lies below the place may be the stack of another coroutine that was begun from the first, and was taken for
//     a part of it: it gets a stack of its own, and is forgotten when it is overwritten as well (forget_upper_frames).
//   - its functions have returned (is_empty).
//   - its memory is no longer there. The kernel is asked for that, about all stacks at once, when there are twice as
//     many as after the last time. So each stack that is made pays for two questions at most.
// The chunks of a stack that is forgotten are used for the next one. So there are never more than twice as many as
// there are coroutines at a time, and a few.
//
// How they are found. By a guess (RecentStacks), else by their upper ends, in the thread's index (stack_index.h). A
// coroutine that returns, or runs no hooked function while it is away, leaves its stack empty, and may come back at
// once: so the stack stays in the index, is passed over, and found again where it was without a system call. Where more
// than a few of these lie side by side they are taken out, so that passing over them is paid by those that were left.
//
// Handlers. Stacks are made and forgotten on heavy paths. While the thread is on a signal stack, nothing is forgotten
// and no chunk is used again: the handler may have interrupted a hook on any of them.

#include "known_stacks.h"

#include "libprof/clock/times.h"
#include "libprof/data/heavy.h"
#include "libprof/file/file.h"
#include "libprof/kernel/mappings.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "stack_index.h"

namespace libprof {

namespace {

constexpr uint32_t kMaxPassedOver = 4;
constexpr uint32_t kMinStacks = 16;  // before it is asked which are gone

// One past the address of the highest word of a stack whose first function has that slot.
uint64_t end_above(uint64_t slot) { return slot + 2 * sizeof slot; }

void note_change(State* s) { store(&s->stack_changes, load(&s->stack_changes) + 1); }

bool may_forget(State* s) { return current_stack(s)->kind != kSignalStack; }

FrameChunk* new_chunk(State* s, Block* block) {
  const Block page = take_page();
  if (page == 0) return nullptr;
  *block = page + kLargeChunkOffset / PROF_BLOCK_SIZE;
  FrameChunk* c = chunk_at(s, *block);
  c->capacity = kFramesInLargeChunk;
  return c;
}

// Blocks of stacks are in ascending order (frames.h), so what is left of a page after which another stack lies is not
// used.
FrameChunk* new_small_chunk(State* s, Block* block) {
  constexpr Block kBlocks = kSmallChunk / PROF_BLOCK_SIZE;
  *block = s->next_small_chunk > s->first_stack ? s->next_small_chunk : take_page();
  if (*block == 0) return nullptr;
  s->next_small_chunk = (*block + kBlocks) % kBlocksPerPage != 0 ? *block + kBlocks : 0;
  FrameChunk* c = chunk_at(s, *block);
  c->capacity = kFramesInSmallChunk;
  return c;
}

// A new first chunk, on the list of all; null if there is no room.
FrameChunk* new_stack(State* s, StackKind kind) {
  Block block;
  FrameChunk* c = kind == kOtherStack ? new_small_chunk(s, &block) : new_chunk(s, &block);
  if (!c) return nullptr;
  c->kind = kind;
  c->stack = block;
  c->next_stack = s->first_stack;
  ordered();
  s->first_stack = s->thread->stacks = block;
  return c;
}

bool is_idle(State* s, FrameChunk* c) { return c != current_stack(s) && is_empty(s, c); }

// Heavy. Takes a stack without frames, and all that is known of it, from the index.
void take_out(State* s, FrameChunk* c) {
  remove_stack_end(s, c->high, c->stack);
  --s->stacks_listed;
  c->high = 0;
  c->next_unused = s->unused_stacks;
  s->unused_stacks = c->stack;
}

// The first stack with frames in one direction from a place in the order.
struct Passing {
  uint64_t end;
  Block stack;
  bool is_down;
};

StackEnd next_of(State* s, const Passing& p) {
  const Neighbours found = neighbours_of(s, p.end, p.stack);
  return p.is_down ? found.below : found.above;
}

uint64_t take_out_passed_over(State* s, uint64_t argument) {
  const Passing from = *reinterpret_cast<const Passing*>(argument);
  if (!may_forget(s)) return 0;
  for (uint32_t i = s->stacks_listed; i != 0; --i) {
    const Block stack = next_of(s, from).stack;
    if (stack == 0 || !is_idle(s, chunk_at(s, stack))) break;
    take_out(s, chunk_at(s, stack));
  }
  return 1;
}

FrameChunk* find_with_frames(State* s, const Passing& from) {
  Passing p = from;
  for (uint32_t passed = 0;; ++passed) {
    const StackEnd e = next_of(s, p);
    if (e.stack == 0) return nullptr;
    FrameChunk* c = chunk_at(s, e.stack);
    // The one that the thread is on may get frames at any time, and is no stack above itself.
    if (p.is_down ? !is_idle(s, c) : !is_empty(s, c)) return c;
    p.end = e.end;
    p.stack = e.stack;
    if (passed != kMaxPassedOver) continue;
    Passing again = from;
    if (may_forget(s)) run_heavy(s, take_out_passed_over, as_word(&again));
  }
}

uint32_t at_least(uint32_t a, uint32_t b) { return a > b ? a : b; }

}  // namespace

void look_at_stacks(State* s) {
  if (!may_forget(s) || s->unused_stacks != 0 || s->stacks_listed < s->look_at_stacks) return;
  StackEnd e = neighbours_of(s, 0, 0).above;
  for (uint32_t i = s->stacks_listed; i != 0 && e.stack != 0; --i) {
    FrameChunk* c = chunk_at(s, e.stack);
    const StackEnd next = neighbours_of(s, e.end, e.stack).above;
    if (c != current_stack(s) && (is_empty(s, c) || !is_mapped(c->high - sizeof(uint64_t)))) {
      drop_frames(s, c, c->left_at);
      take_out(s, c);
    }
    e = next;
  }
  s->look_at_stacks = at_least(2 * s->stacks_listed, kMinStacks);
}

namespace {

// A stack that ends there and has no frames; null if none is known.
FrameChunk* find_empty_at(State* s, uint64_t end) {
  const StackEnd e = neighbours_of(s, end - 1, 0).above;
  if (e.stack == 0 || e.end != end) return nullptr;
  FrameChunk* c = chunk_at(s, e.stack);
  return is_idle(s, c) ? c : nullptr;
}

FrameChunk* restart(State* s, FrameChunk* c, uint64_t slot, Block node) {
  set_base(frames_of(c), slot, node);
  c->saved_top = as_top(s, frames_of(c));
  note_change(s);
  return c;
}

// Heavy. A stack to be used again, not in the index any more; null if there is none.
FrameChunk* take_unused_stack(State* s) {
  if (!may_forget(s)) return nullptr;
  if (s->unused_stacks == 0 && s->emptied_stack != 0) {
    FrameChunk* c = chunk_at(s, s->emptied_stack);
    if (c->high != 0 && is_idle(s, c)) take_out(s, c);
  }
  s->emptied_stack = 0;
  if (s->unused_stacks == 0) return nullptr;
  FrameChunk* c = chunk_at(s, s->unused_stacks);
  s->unused_stacks = c->next_unused;
  return c;
}

// Heavy. The stack ends there, and is in the index.
FrameChunk* make_other_stack(State* s, uint64_t end, uint64_t slot, Block node) {
  FrameChunk* c = may_forget(s) ? find_empty_at(s, end) : nullptr;
  if (c) return restart(s, c, slot, node);
  if (!(c = take_unused_stack(s)) && !(c = new_stack(s, kOtherStack))) return nullptr;
  restart(s, c, slot, node);
  if (!add_stack_end(s, end, c->stack)) {
    c->next_unused = s->unused_stacks;
    s->unused_stacks = c->stack;
    return nullptr;
  }
  ++s->stacks_listed;
  fit_recent_stacks(s);
  c->low_is_of = 0;
  c->high = end;
  return c;
}

// The entry is the last one that stays; what was above it becomes 0.
void cut_off(State* s, FrameChunk* stack, Frame* kept) {
  Frame* last = top_of(s, stack);
  stack->saved_top = as_top(s, kept);
  note_change(s);
  for (Frame* f = kept; f != last && (f = next_frame(s, f)) != nullptr;) store(&f->slot, uint64_t(0));
}

// Heavy. A new coroutine has begun at that slot: takes what lies there out of the stack that had the memory before.
void overwrite(State* s, uint64_t slot) {
  FrameChunk* stack = may_forget(s) ? find_stack_above(s, slot) : nullptr;
  if (!stack || stack == current_stack(s)) return;
  Frame* last = with_slot(s, top_of(s, stack));
  Frame* kept = frames_of(stack);
  Frame* first = nullptr;  // of those below the slot
  for (Frame* f = kept; f != last && (f = next_frame(s, f)) != nullptr;) {
    if (f->slot == 0 || (f->flags & kCopied)) continue;
    if (slot_of(f) > slot) kept = f;
    if (slot_of(f) == slot && is_adaptive()) record_call(s, f, stack->left_at);
    if (slot_of(f) < slot && !first) first = f;
  }
  if (kept == last) return;
  if (kept == frames_of(stack)) return drop_frames(s, stack, stack->left_at);
  if (first && !move_to_own_stack(s, first, last, kept->node)) return;
  cut_off(s, stack, kept);
}

uint64_t make_coroutine_stack_heavily(State* s, uint64_t slot) {
  look_at_stacks(s);
  overwrite(s, slot);
  const FrameChunk* c = make_other_stack(s, end_above(slot), slot, s->root);
  return c ? c->stack : 0;
}

// Heavy. Moves *top to the entry above it.
bool add_entry(State* s, Frame** top) {
  if (!is_last(*top)) {
    ++*top;
    return true;
  }
  FrameChunk* c = chunk_of(*top);
  if (c->next == 0 && !add_chunk(s, as_word(c))) return false;
  Frame* copy = frames_of(chunk_at(s, c->next));
  copy->node = (*top)->node;
  copy->flags = kCopied;
  copy->slot = (*top)->slot | kSlotTag;
  *top = copy + 1;
  return true;
}

struct Overwritten {
  FrameChunk* stack;
  uint64_t slot;
};

uint64_t forget_upper_frames_heavily(State* s, uint64_t argument) {
  const auto [stack, slot] = *reinterpret_cast<Overwritten*>(argument);
  Frame* last = frame_at(s, stack->saved_top);
  Frame* to = frames_of(stack);
  uint64_t end = 0;
  for (Frame* f = to; f != last;) {
    f = next_frame(s, f);
    if (!f) break;
    const Frame kept = *f;
    if (kept.slot == 0 || (kept.flags & kCopied) || slot_of(f) >= slot) continue;
    if (to == frames_of(stack)) end = end_above(slot_of(f));
    add_entry(s, &to);
    *to = kept;
  }
  stack->saved_top = as_top(s, to);
  while (to != last && (to = next_frame(s, to)) != nullptr) store(&to->slot, uint64_t(0));
  if (end == 0 || end == stack->high) return 1;
  remove_stack_end(s, stack->high, stack->stack);
  stack->high = end;
  add_stack_end(s, end, stack->stack);
  return 1;
}

// A signal stack that no handler is on.
FrameChunk* find_unused_signal_stack(State* s) {
  for (Block b = s->signal_stacks; b != 0; b = if_before(chunk_at(s, b)->next_signal_stack, b)) {
    FrameChunk* user = current_stack(s);
    while (user->kind == kSignalStack && user->stack != b && user->interrupted_top != 0)
      user = chunk_at(s, chunk_of(frame_at(s, user->interrupted_top))->stack);
    if (user->stack != b) return chunk_at(s, b);
  }
  return nullptr;
}

uint64_t make_signal_stack(State* s, uint64_t slot) {
  FrameChunk* c = find_unused_signal_stack(s);
  if (c) {
    drop_frames(s, c, load(&s->thread->last_tsc));
    return c->stack;
  }
  if (!(c = new_stack(s, kSignalStack))) return 0;
  set_base(frames_of(c), slot, s->root);
  c->next_signal_stack = s->signal_stacks;
  s->signal_stacks = c->stack;
  return c->stack;
}

// The stacks of a thread that has ended are to be used again.
void give_up_stacks(State* s, uint64_t slot) {
  for (uint32_t i = s->stacks_listed; i != 0; --i) take_out(s, chunk_at(s, neighbours_of(s, 0, 0).above.stack));
  for (Block b = s->first_stack; b != 0; b = stack_before(s, b)) {
    FrameChunk* c = chunk_at(s, b);
    drop_frames(s, c, load(&s->thread->last_tsc));
    set_base(frames_of(c), slot, s->root);
    if (c->kind == kSignalStack)
      c->interrupted_top = 0;
    else
      c->saved_top = as_top(s, frames_of(c));
  }
  s->emptied_stack = 0;
  s->look_at_stacks = kMinStacks;
}

}  // namespace

Frame* next_frame(State* s, Frame* f) {
  if (!is_last(f)) return f + 1;
  const Block next = chunk_after(s, block_of(s, chunk_of(f)));
  return next ? frames_of(chunk_at(s, next)) : nullptr;
}

void drop_frames(State* s, FrameChunk* stack, uint64_t now) {
  for (FrameChunk* c = stack;;) {
    Frame* frames = frames_of(c);
    for (uint32_t i = c == stack ? 1 : 0; i < frames_in(c); ++i) {
      if (load(&frames[i].slot) == 0) continue;
      if (is_adaptive()) record_call(s, &frames[i], now);
      store(&frames[i].slot, uint64_t(0));
    }
    const Block next = chunk_after(s, block_of(s, c));
    if (next == 0) break;
    c = chunk_at(s, next);
    if (frames_of(c)->slot == 0) break;
  }
  if (stack->kind == kOtherStack) {
    stack->saved_top = as_top(s, frames_of(stack));
    note_change(s);
  }
}

// `low` is stored before what it is of: who comes in between finds that it is of another time.
uint64_t find_lower_end_of(State* s, FrameChunk* stack) {
  const bool is_own = stack->kind == kThreadStack;
  uint64_t* low = is_own ? &s->below_thread_stack : &stack->low;
  uint32_t* low_is_of = is_own ? &s->below_thread_stack_is_of : &stack->low_is_of;
  const bool can_keep = stack->kind != kSignalStack;
  const uint32_t changes = load(&s->stack_changes);
  const FrameChunk* below = find_with_frames(s, {stack->high, ~Block(0), true});
  const uint64_t end = below ? below->high : 0;
  if (can_keep) {
    store(low, end);
    store(low_is_of, changes);
  }
  return end;
}

FrameChunk* find_stack_above(State* s, uint64_t address) {
  const auto is_it = [s, address](FrameChunk* c) {
    return contains(c, address) && c->low_is_of == load(&s->stack_changes) && !is_empty(s, c);
  };
  FrameChunk* expected = expected_stack(s);
  if (expected && is_it(expected)) return expected;
  RecentStacks* recent = recent_stacks_of(s, address);
  if (FrameChunk* c = recent ? find_recent(s, recent, address, is_it) : nullptr) return c;
  FrameChunk* c = find_with_frames(s, {address, 0, false});
  if (c && recent) note_recent_stack(recent, address, c->stack);
  return c;
}

FrameChunk* find_lasting_stack(State* s, uint64_t slot) {
  const Block own = load(&s->thread_stack);
  if (own != 0 && contains(chunk_at(s, own), slot)) return chunk_at(s, own);
  return find_stack_above(s, slot);
}

FrameChunk* make_coroutine_stack(State* s, uint64_t slot) {
  if (may_forget(s)) {
    FrameChunk* c = find_empty_at(s, end_above(slot));
    FrameChunk* above = c ? find_stack_above(s, slot) : nullptr;
    if (c && (!above || slot_of(with_slot(s, top_of(s, above))) > slot)) {
      set_base(frames_of(c), slot, s->root);  // its top stays: a handler may have come back to it
      note_change(s);
      return c;
    }
  }
  const uint64_t block = run_heavy(s, make_coroutine_stack_heavily, slot);
  return block ? chunk_at(s, Block(block)) : nullptr;
}

FrameChunk* find_or_make_signal_stack(State* s, const SignalStack& bounds, uint64_t slot) {
  FrameChunk* c = nullptr;
  for (Block b = s->signal_stacks; b != 0 && !c; b = if_before(chunk_at(s, b)->next_signal_stack, b)) {
    if (contains(chunk_at(s, b), slot)) c = chunk_at(s, b);
  }
  if (!c) {
    const uint64_t block = run_heavy(s, make_signal_stack, slot);
    if (block == 0) return nullptr;
    c = chunk_at(s, Block(block));
  }
  c->low = bounds.low;
  c->high = bounds.low + bounds.size;
  return c;
}

void note_emptied(State* s, FrameChunk* stack) {
  if (stack->kind != kOtherStack) return;
  store(&s->emptied_stack, stack->stack);
  note_change(s);
}

bool move_to_own_stack(State* s, Frame* first, Frame* last, Block node) {
  const uint64_t end = end_above(slot_of(first));
  FrameChunk* stack = make_other_stack(s, end, end, node);
  if (!stack) return false;
  Frame* to = frames_of(stack);
  for (Frame* f = first; f; f = next_frame(s, f)) {
    if (!(f->flags & kCopied)) {
      if (!add_entry(s, &to)) break;
      *to = *f;
    }
    if (f == last) break;
  }
  stack->saved_top = as_top(s, to);
  return true;
}

void forget_upper_frames(State* s, FrameChunk* stack, uint64_t slot) {
  Overwritten overwritten = {stack, slot};
  run_heavy(s, forget_upper_frames_heavily, as_word(&overwritten));
}

uint64_t add_chunk(State* s, uint64_t chunk) {
  auto* below = reinterpret_cast<FrameChunk*>(chunk);
  Block block;
  FrameChunk* c = new_chunk(s, &block);
  if (!c) {
    if (s->refused == 0) s->refused = 1;
    return 0;
  }
  s->refused = 0;
  c->stack = below->stack;
  c->previous = Block((chunk - reinterpret_cast<uint64_t>(s->base)) >> PROF_BLOCK_SHIFT);
  ordered();
  below->next = block;
  return 1;
}

bool begin_thread_stack(State* s, uint64_t slot, bool is_reused) {
  if (is_reused) give_up_stacks(s, slot);
  FrameChunk* stack = s->thread_stack != 0 ? chunk_at(s, s->thread_stack) : new_stack(s, kThreadStack);
  if (!stack) return false;
  find_bounds(slot, &stack->low, &stack->high);
  // libc puts the thread's control block at the end of its stack; the memory above it belongs to another mapping.
  const uint64_t control = thread_pointer();
  if (control > slot && control < stack->high) stack->high = control;
  restart(s, stack, slot, s->root);
  s->thread_stack = s->thread->frames = stack->stack;
  s->thread->stacks = s->first_stack;
  s->barrier = 0;
  s->top = as_top(s, frames_of(stack));
  return true;
}

// The problem. The index of stacks (stack_index.h) tells from some ten cache lines whose stack an address is on. With
// many coroutines none of these is in the processor's caches, nor is what is then needed of the stack itself: a change
// of stacks would cost several times what it costs with one coroutine. For most of it the processor waits for memory.
//
// The ways taken. A guess is tested with the stack's own head (find_stack_above), which a change needs in any case, so
// a right one costs no further line; and a wrong one costs no more than the time to look.
//   - Most schedulers go through their coroutines in an order that hardly changes. So each coroutine keeps which one
//     the thread went to next. When that one is due, it is looked at first. And when the thread goes to a coroutine,
//     the two adjacent lines of the one after it are read ahead: its head, and its first frames. That is more than one
//     change, so they are there in time. Nothing of the program's is read ahead, as its own waiting is what a profile
//     is to show.
//   - Where the order was not as before the last time, it is not likely to be this time. Then a table by pages of
//     addresses tells. Its entries are in groups, each within one line, so that a stack is found also when others have
//     the same place; and they hold the page, so that no head of another stack is read.
//
// Handlers. Both are guesses, whatever a handler does to them. Each entry is written as a whole.

namespace {

constexpr uint32_t kHash = 0x9E3779B1;
constexpr uint64_t kSmallestTable = kPage / sizeof(RecentStacks);  // groups

}  // namespace

// The first group holds how many there are.
RecentStacks* recent_stacks_of(State* s, uint64_t address) {
  const Block block = load(&s->recent_stacks);
  if (block == 0) return nullptr;
  auto* table = at<RecentStacks>(s->base, block);
  const uint32_t place = uint32_t(uint64_t(page_tag(address) * kHash) * uint32_t(table->entries[0]) >> 32);
  return place != 0 ? table + place : nullptr;
}

void note_recent_stack(RecentStacks* recent, uint64_t address, Block stack) {
  const uint64_t entry = uint64_t(page_tag(address)) << 32 | stack;
  for (const uint64_t& e : recent->entries) {
    if (load(&e) == entry) return;
  }
  for (uint32_t i = kRecentStacks - 1; i != 0; --i) store(&recent->entries[i], load(&recent->entries[i - 1]));
  store(&recent->entries[0], entry);
}

void fit_recent_stacks(State* s) {
  const uint64_t groups = s->recent_stacks != 0 ? at<RecentStacks>(s->base, s->recent_stacks)->entries[0] : 0;
  if (groups != 0 && s->stacks_listed <= groups * kRecentStacks / 2) return;
  const uint64_t wanted = groups != 0 ? 4 * groups : kSmallestTable;
  const Block block = take_blocks(wanted * sizeof(RecentStacks) / PROF_BLOCK_SIZE);
  if (block == 0) return;
  at<RecentStacks>(s->base, block)->entries[0] = wanted;
  store(&s->recent_stacks, block);
}

}  // namespace libprof
