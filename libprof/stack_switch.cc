// Stacks and changes between them.
//
// The problem. A slot that is not just below the top frame's may belong to a function with large local arrays, to a
// frame that returned by longjmp, to a signal handler on a stack of its own, or to a coroutine, whose stack may be 4
// KiB long and lie beside that of another. Only in the first two cases do the frames of the current stack and the new
// one belong together. There is no register that names the stack.
//
// What is known. The bounds of the thread's own stack, from /proc/self/maps when the thread begins (the initial
// thread's grows, up to its limit). The bounds of the signal stack, from sigaltstack(2), which also tells whether the
// thread is on it now; asked only when a slot is outside the current stack or would make frames disappear. Anything
// else is some other stack. We know the upper end of such a stack, because the first function called on it is there;
// and memory between two frames of a stack belongs to that stack. So a slot belongs to the stack with the nearest upper
// end above it, or to a stack that is new. The first function on a new stack is not called by a function with hooks, as
// that one would have been seen on the stack before. The return address of the first function tells this
// (is_in_hooked_code).
//
// The rules. A call on a signal stack nests under the node that was current when the signal came, and its exit leads
// back to the interrupted stack exactly as it was. A handler that never returns (siglongjmp) is noticed when a function
// is entered on another stack: its frames are dropped. Other stacks keep their frames while the thread is elsewhere;
// the time up to the change goes to the node that was current on the stack that the thread leaves.
//
// Frames of one stack never pop another's. When the first function of a new stack lies just below the current frame, it
// looks like a call from there, and is recorded as one: in any case it is called by the code that ran before. But then
// the thread goes back to the first stack, and the frames below seem to be gone. If the bounds of the stack are not
// known, we cannot know whether they are really gone (longjmp, an exception) or are on a stack of their own: so they
// are given one (detach_frames). If they are really gone, the first stack will use their memory again, and they are
// removed when that is seen. From then on the thread has two stacks near one another, and the hooks must not take one
// for the other on their fast path: State::barrier is the upper end of the next stack below, and the careful hooks
// compare with it.
//
// Limits. A coroutine's stack within the thread's own stack (an array in main) is taken for a part of it. A coroutine
// that goes on in another thread has the context of the code that resumed it there. Counts are exact in both cases.

#include "stack_switch.h"

#include "adaptive.h"
#include "file.h"
#include "hook_selection.h"
#include "objects.h"
#include "shadow_stack.h"
#include "syscall.h"
#include "text.h"
#include "threads.h"

namespace libprof {

namespace {

constexpr uint64_t kReach = 65536;
constexpr uint64_t kLargestStack = uint64_t(1) << 30;  // assumed when the limit is "unlimited"

FrameChunk* chunk_at(State* s, Block block) { return at<FrameChunk>(s->base, block); }
FrameChunk* current_stack(State* s) { return chunk_at(s, chunk_of(top_frame(s))->stack); }

// Of stacks whose bounds are known.
bool contains(const FrameChunk* stack, uint64_t slot) { return slot >= stack->low && slot < stack->high; }

Frame* frame_at(State* s, uint64_t top) { return reinterpret_cast<Frame*>(reinterpret_cast<char*>(s) + top); }
// A stack whose memory has become zeros, because a handler has forked and this is the child, has no frames.
Frame* top_of(State* s, FrameChunk* stack) {
  if (stack == current_stack(s)) return top_frame(s);
  const uint64_t top = load(&stack->saved_top);
  return top != 0 ? frame_at(s, top) : frames_of(stack);
}
bool is_empty(State* s, FrameChunk* stack) { return top_of(s, stack) == frames_of(stack); }

// Every entry above the base becomes 0. We do not know when their functions ended; we take the last stamp for it.
void drop_frames(State* s, FrameChunk* stack) {
  for (FrameChunk* c = stack;;) {
    Frame* frames = frames_of(c);
    for (uint32_t i = c == stack ? 1 : 0; i < kFramesPerChunk; ++i) {
      if (is_adaptive() && load(&frames[i].slot) != 0) record_call(s, &frames[i], load(&s->thread->last_tsc));
      store(&frames[i].slot, uint64_t(0));
    }
    const Block next = chunk_after(s, block_of(s, c));
    if (next == 0) return;
    c = chunk_at(s, next);
    if (frames_of(c)->slot == 0) return;
  }
}

FrameChunk* new_chunk(State* s, Block* block) {
  *block = take_page();
  if (*block == 0) return nullptr;
  FrameChunk* c = chunk_at(s, *block);
  c->capacity = kFramesPerChunk;
  return c;
}

struct Bounds {
  StackKind kind;
  uint64_t low, high;
};

// A stack that has no frames any more; not while a handler may have interrupted code on it.
FrameChunk* find_empty_stack(State* s) {
  if (current_stack(s)->kind == kSignalStack) return nullptr;
  for (Block b = s->first_stack; b != 0; b = stack_before(s, b)) {
    FrameChunk* c = chunk_at(s, b);
    if (c->kind == kOtherStack && c != current_stack(s) && is_empty(s, c)) return c;
  }
  return nullptr;
}

FrameChunk* make_stack(State* s, const Bounds& bounds, uint64_t slot, Block node) {
  FrameChunk* c = bounds.kind == kOtherStack ? find_empty_stack(s) : nullptr;
  const bool is_new = c == nullptr;
  Block block;
  if (is_new && !(c = new_chunk(s, &block))) return nullptr;
  c->kind = bounds.kind;
  c->low = bounds.low;
  c->high = bounds.high;
  set_base(frames_of(c), slot, node);
  c->saved_top = as_top(s, frames_of(c));
  if (!is_new) return c;
  c->stack = block;
  c->next_stack = s->first_stack;
  ordered();
  s->first_stack = s->thread->stacks = block;
  return c;
}

uint64_t make_stack_heavily(State* s, uint64_t argument) {
  auto* bounds = reinterpret_cast<Bounds*>(argument);
  FrameChunk* c = make_stack(s, *bounds, bounds->low, s->root);
  return c ? c->stack : 0;
}

// The stack of that kind with that slot within its bounds.
FrameChunk* find_bounded_stack(State* s, StackKind kind, uint64_t slot) {
  for (Block b = s->first_stack; b != 0; b = stack_before(s, b)) {
    FrameChunk* c = chunk_at(s, b);
    if (c->kind == kind && contains(c, slot)) return c;
  }
  return nullptr;
}

// Of the stacks without known bounds that have frames, the one with the nearest upper end above the slot.
FrameChunk* find_other_stack(State* s, uint64_t slot) {
  FrameChunk* nearest = nullptr;
  for (Block b = s->first_stack; b != 0; b = stack_before(s, b)) {
    FrameChunk* c = chunk_at(s, b);
    if (c->kind != kOtherStack || c->high <= slot || (nearest && c->high >= nearest->high)) continue;
    if (!is_empty(s, c)) nearest = c;
  }
  return nearest;
}

// The known stack that has the frame with that slot, other than a signal stack; null if there is none.
FrameChunk* find_lasting_stack(State* s, uint64_t slot) {
  FrameChunk* c = find_bounded_stack(s, kThreadStack, slot);
  return c ? c : find_other_stack(s, slot);
}

FrameChunk* make_stack_at(State* s, StackKind kind, uint64_t low, uint64_t high) {
  Bounds bounds = {kind, low, high};
  const uint64_t block = run_heavy(s, make_stack_heavily, reinterpret_cast<uint64_t>(&bounds));
  return block ? chunk_at(s, Block(block)) : nullptr;
}

FrameChunk* find_or_make_signal_stack(State* s, const SignalStack& found, uint64_t slot) {
  FrameChunk* c = find_bounded_stack(s, kSignalStack, slot);
  if (!c) return make_stack_at(s, kSignalStack, found.low, found.low + found.size);
  c->low = found.low;
  c->high = found.low + found.size;
  return c;
}

// To be called when the thread has changed to another stack and when one was made. Stacks below the current one end at
// or below its lowest frame.
void set_barrier(State* s) {
  const FrameChunk* current = current_stack(s);
  uint64_t barrier = current->kind == kOtherStack ? 0 : current->low;
  bool has_others = false;
  for (Block b = s->first_stack; b != 0; b = stack_before(s, b)) {
    FrameChunk* c = chunk_at(s, b);
    if (c->kind != kOtherStack || c == current || is_empty(s, c)) continue;
    has_others = true;
    if (c->high < current->high && c->high > barrier) barrier = c->high;
  }
  s->barrier = has_others ? barrier : 0;
  if (has_others) use_careful_hooks();
}

// Whether the thread is on its signal stack and the slot as well.
bool is_on_signal_stack(uint64_t slot, SignalStack* found) {
  *found = {0, 0, 0};
  if (syscall4(__NR_sigaltstack, 0, as_word(found)) != 0) return false;
  return (uint32_t(found->flags) & kOnSignalStack) && slot - found->low < found->size;
}

void enter_signal_stack(State* s, FrameChunk* to, uint64_t slot) {
  FrameChunk* from = current_stack(s);
  Frame* base = frames_of(to);
  if (load(&base[1].slot) != 0 || load(&base[2].slot) != 0) drop_frames(s, to);
  const uint64_t top = load(&s->top);
  set_base(base, slot, load(&current_frame(s)->node));
  if (from->kind != kSignalStack) from->saved_top = top;
  to->interrupted_top = top;
  store(&s->thread->frames, to->stack);
  store(&s->top, as_top(s, base));
  if (s->barrier) set_barrier(s);
}

// A handler that interrupts this may notice the change of stack as well; only one of the two changes the top.
void change_to(State* s, FrameChunk* to, uint64_t now) {
  FrameChunk* from = current_stack(s);
  const uint64_t top = load(&s->top);
  const Block left = load(&current_frame(s)->node);
  give_time(s, node_at(s, left), now);
  const bool leaves_handler = from->kind == kSignalStack;
  if (!leaves_handler) from->saved_top = top;
  from->left_at = now;
  Frame* f = with_slot(s, top_of(s, to));
  if (to->kind == kOtherStack && f == frames_of(to)) store(&f->node, left);  // a coroutine, called by what ran before
  const uint64_t saved_top = load(&to->saved_top);
  if (saved_top == 0) return;  // zeros, see top_of
  if (!exchange_if(&s->top, top, saved_top)) return;
  store(&s->thread->frames, to->stack);
  if (leaves_handler) drop_frames(s, from);
  if (is_adaptive()) resume_calls(s, to, now);
  set_barrier(s);
}

// The mapping that the slot lies in, from /proc/self/maps.
void find_bounds(uint64_t slot, uint64_t* low, uint64_t* high) {
  *low = slot & ~(kPage - 1);
  *high = *low + kPage;
  LineReader maps("/proc/self/maps");
  for (const char* line; (line = maps.next()) != nullptr;) {
    const char* p = line;
    const uint64_t start = parse_hex(&p);
    if (*p++ != '-') continue;
    const uint64_t end = parse_hex(&p);
    if (slot < start || slot >= end) continue;
    *low = start;
    *high = end;
    if (!ends_with(line, "[stack]")) return;
    uint64_t size = limit_of(kLimitStack);
    if (size > kLargestStack) size = kLargestStack;
    if (size > end - start && size < end) *low = end - size;
    return;
  }
}

// The entry above one that is not the topmost; null if there is none.
Frame* next_frame(State* s, Frame* f) {
  if (!is_last(f)) return f + 1;
  const Block next = chunk_after(s, block_of(s, chunk_of(f)));
  return next ? frames_of(chunk_at(s, next)) : nullptr;
}

// The lowest frame above the slot; null if there is none.
Frame* find_caller(State* s, FrameChunk* stack, uint64_t slot) {
  for (Frame* f = top_of(s, stack); f && f != frames_of(stack); f = frame_below(s, f)) {
    if (slot_of(f) > slot) return f;
  }
  return nullptr;
}

// If `address` is in the function of one of the two nodes: whether it is in that of `a`. It is in the function whose
// start is the nearest before it.
bool is_rather_in(const Node* a, const Node* b, uint64_t address) {
  const uint64_t in_a = a->pc & ~prof_format::kKindOfCall, in_b = b->pc & ~prof_format::kKindOfCall;
  return in_a <= address && (in_b > address || in_b < in_a);
}

// The top of the frames at or above `slot` that the thread is on, if there are frames below it that may belong to
// another stack; else null. Not when a hook is interrupted among them.
Frame* find_detachable(State* s, FrameChunk* stack, uint64_t slot) {
  const uint64_t limit = stack->kind == kOtherStack ? slot : stack->low < slot ? stack->low : slot;
  Frame* f = top_frame(s);
  Frame* top = f;
  for (; f && load(&f->slot) != 0 && !(f->flags & kBase) && slot_of(f) < limit; f = frame_below(s, f)) {
  }
  return f && f != top && load(&f->slot) != 0 ? f : nullptr;
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

// Heavy. Takes the frames at and above a slot out of a stack that the thread is not on.
uint64_t forget_heavily(State* s, uint64_t argument) {
  const auto [stack, slot] = *reinterpret_cast<Overwritten*>(argument);
  Frame* last = frame_at(s, stack->saved_top);
  Frame* to = frames_of(stack);
  for (Frame* f = to; f != last;) {
    f = next_frame(s, f);
    if (!f) break;
    const Frame kept = *f;
    if (kept.slot == 0 || (kept.flags & kCopied) || slot_of(f) >= slot) continue;
    if (to == frames_of(stack)) stack->high = slot_of(f) + 2 * sizeof slot;
    add_entry(s, &to);
    *to = kept;
  }
  stack->saved_top = as_top(s, to);
  while (to != last && (to = next_frame(s, to)) != nullptr) store(&to->slot, uint64_t(0));
  return 1;
}

struct Detaching {
  uint64_t slot, now;
};

// Heavy. Moves the frames above the detachable one to a stack of their own, unless a handler has done that.
uint64_t detach_heavily(State* s, uint64_t argument) {
  const auto [slot, now] = *reinterpret_cast<Detaching*>(argument);
  Frame* kept = find_detachable(s, current_stack(s), slot);
  if (!kept) return 0;
  Frame* last = top_frame(s);
  Frame* first = last;
  for (Frame* f = last; f && f != kept; f = frame_below(s, f)) first = f;
  give_time(s, node_at(s, last->node), now);  // NOLINT(clang-analyzer-core.NullDereference): `kept` is below it
  const uint64_t high = slot_of(first) + 2 * sizeof(uint64_t);
  FrameChunk* stack = make_stack(s, {kOtherStack, 0, high}, high, kept->node);
  if (!stack) return 0;
  Frame* to = frames_of(stack);
  for (Frame* f = first; f; f = next_frame(s, f)) {
    if (!(f->flags & kCopied)) {
      if (!add_entry(s, &to)) break;
      *to = *f;
    }
    if (f == last) break;
  }
  stack->saved_top = as_top(s, to);
  store(&s->top, as_top(s, kept));
  for (Frame* f = last; f && f != kept; f = frame_below(s, f)) store(&f->slot, uint64_t(0));
  return 1;
}

}  // namespace

void detach_frames(State* s, uint64_t slot, uint64_t now) {
  FrameChunk* stack = current_stack(s);
  if (stack->kind == kSignalStack) return;
  if (!find_detachable(s, stack, slot)) return;
  Detaching detaching = {slot, now};
  if (run_heavy(s, detach_heavily, as_word(&detaching))) set_barrier(s);
}

bool settle_on_stack(State* s, uint64_t slot, uint64_t now) {
  Frame* f = current_frame(s);
  FrameChunk* stack = chunk_at(s, chunk_of(f)->stack);
  const uint64_t top = slot_of(f);
  const bool is_below = slot < top && slot >= s->barrier;
  if (is_below && top - slot < LARGEST_FRAME) return true;
  const bool is_idle = f == frames_of(stack);
  if (stack->kind == kOtherStack) {
    if (is_below && top - slot < kReach) return true;
  } else if (contains(stack, slot) && (slot < top || (is_idle && stack->kind != kSignalStack))) {
    return true;
  }
  SignalStack signal;
  if (is_on_signal_stack(slot, &signal)) {
    if (stack->kind == kSignalStack && contains(stack, slot)) return true;
    FrameChunk* to = find_or_make_signal_stack(s, signal, slot);
    if (to) enter_signal_stack(s, to, slot);
    return to != nullptr;
  }
  if (stack->kind == kThreadStack && contains(stack, slot)) return true;
  if (stack->kind == kOtherStack && slot >= top && slot < stack->high) return true;
  FrameChunk* to = find_lasting_stack(s, slot);
  if (to && to->kind == kOtherStack) {
    const uint64_t return_address = reinterpret_cast<const uint64_t*>(slot)[1];
    const uint64_t lowest = slot_of(top_of(s, to));
    if ((slot < lowest && lowest - slot > kReach) || !is_in_hooked_code(return_address)) {
      to = nullptr;
    } else if (stack->kind == kOtherStack && slot < top && top - slot < kReach) {
      Frame* caller = find_caller(s, to, slot);
      if (!caller || is_rather_in(node_at(s, f->node), node_at(s, caller->node), return_address)) {
        Overwritten overwritten = {to, slot};
        run_heavy(s, forget_heavily, as_word(&overwritten));
        set_barrier(s);
        return true;
      }
    }
  }
  if (!to) to = make_stack_at(s, kOtherStack, slot, slot + 2 * sizeof slot);
  if (to) change_to(s, to, now);
  return to != nullptr;
}

bool find_stack_of_frame(State* s, uint64_t slot, uint64_t now) {
  FrameChunk* from = current_stack(s);
  if (from->kind == kThreadStack && contains(from, slot)) return false;
  FrameChunk* to = find_lasting_stack(s, slot);
  if (!to || to == from) return false;
  change_to(s, to, now);
  return true;
}

void leave_signal_stack(State* s, Frame* base) {
  FrameChunk* stack = chunk_of(base);
  if (stack->kind != kSignalStack || stack->interrupted_top == 0) return;
  auto* interrupted = reinterpret_cast<Frame*>(reinterpret_cast<char*>(s) + stack->interrupted_top);
  store(&s->thread->frames, chunk_of(interrupted)->stack);
  store(&s->top, stack->interrupted_top);
  if (s->barrier) set_barrier(s);
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
  Bounds bounds = {kThreadStack, 0, 0};
  find_bounds(slot, &bounds.low, &bounds.high);
  // libc puts the thread's control block at the end of its stack; the memory above it belongs to another mapping.
  const uint64_t control = thread_pointer();
  if (control > slot && control < bounds.high) bounds.high = control;
  FrameChunk* stack = nullptr;
  if (is_reused) {
    // The chunks of the ended thread; its other stacks are no longer found.
    for (Block b = s->first_stack; b != 0; b = stack_before(s, b)) {
      FrameChunk* c = chunk_at(s, b);
      drop_frames(s, c);
      c->saved_top = as_top(s, frames_of(c));
      c->interrupted_top = 0;
      set_base(frames_of(c), slot, s->root);
      if (c->kind == kThreadStack) {
        stack = c;
        c->low = bounds.low;
        c->high = bounds.high;
      } else {
        c->low = c->high = 0;
      }
    }
  }
  if (!stack) stack = make_stack(s, bounds, slot, s->root);
  if (!stack) return false;
  s->thread->frames = stack->stack;
  s->thread->stacks = s->first_stack;
  s->barrier = 0;
  s->top = as_top(s, frames_of(stack));
  return true;
}

}  // namespace libprof
