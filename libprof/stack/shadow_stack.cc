// Entering and leaving when the fast path does not suffice: frames that are gone, handlers that interrupted a hook,
// calls for which there is no node yet, the ends of chunks.
//
// Frames that are gone. A function that was left by longjmp, by an exception, or by something else that is not one of
// its instrumented exits, leaves its frame behind. The stack grows downwards, so when a function is entered whose slot
// is at or above the slot of a frame of the same stack, that frame is gone; when a function leaves, all frames below
// its own are. Such frames are popped, and the time since the last hook goes to the topmost of them. An exit without a
// frame is ignored: the function was entered in the parent of a fork, or there was no room for a frame.
//
// Time. What a slow path takes may be a thousand times what a hook does: frames are looked for, the kernel is asked. It
// is the time of nobody in the program, so nobody gets it: time up to the stamp at the beginning is given as ever, and
// at the end last_tsc is moved to the present, as time is given (hooks.S), but for the root to keep apart (skip_time).
// So it is when a function is entered, and when one is left on another stack.
//
// Handlers. This code runs with signals enabled, and a handler's hooks may come through it again. Therefore it reads
// the top again at each step, claims a frame with one instruction, and moves the top only from where it saw it. See
// hooks.S for the entries that are being filled.

#include "shadow_stack.h"

#include "known_stacks.h"
#include "libprof/clock/times.h"
#include "libprof/data/frames.h"
#include "libprof/data/heavy.h"
#include "libprof/file/durations.h"
#include "libprof/file/tree.h"
#include "libprof/hooks/leaving.h"
#include "libprof/kernel/syscall.h"
#include "libprof/profile_type.h"
#include "stack_switch.h"

namespace libprof {

namespace {

// Between the frame of a hook and that of a handler that interrupted it lie the red zone and what the kernel saves:
// return address, context, information, and at least the 512 bytes of the legacy floating-point state.
constexpr uint64_t kSmallestSignalFrame = 1024;

bool is_base(Frame* f) { return (f->flags & kBase) != 0; }

// What is gone may have been on its way into a heavy path (run_heavy), or about to ask the kernel for the time: a
// handler left it by siglongjmp, and nobody else would ever take the mark away. A handler on a stack of its own tells
// nothing about the stack that it interrupted, which may lie below.
void forget_entering(State* s, uint64_t slot) {
  const uint64_t entering_at = load(&s->entering_at);
  if (entering_at == 0 || entering_at > slot) return;
  const FrameChunk* stack = at<FrameChunk>(s->base, chunk_of(top_frame(s))->stack);
  if (stack->kind == kSignalStack && (entering_at < stack->low || entering_at >= stack->high)) return;
  store(&s->entering_at, uint64_t(0));
  store(&s->asked, uint64_t(0));
}

// Pops the frames at and below `slot`, that of a function that is being entered or left. When it returns, the top is a
// frame above `slot`, a base, or an entry that an interrupted hook is filling. `exit`: as in pop.
void pop_gone(State* s, uint64_t slot, uint64_t now, uint64_t exit = 0) {
  for (;;) {
    Frame* f = top_frame(s);
    const uint64_t found = load(&f->slot);
    if (found != 0) {
      if (is_base(f) || (found & ~kSlotTag) > slot) return;
      forget_entering(s, slot);
      pop(s, f, found, now, exit);
      continue;
    }
    // Was the hook that was filling it interrupted, or abandoned by siglongjmp? If it was abandoned, we are called by a
    // frame below, whose slot is at most a few hundred bytes away, or by one that is gone as well.
    const uint64_t alive = slot_of(current_frame(s));
    if (alive > slot && alive - slot >= kSmallestSignalFrame) return;
    Frame* below = frame_below(s, f);
    if (!below) return;  // the zeros of a parent, see life/threads.cc
    forget_entering(s, slot);
    exchange_if(&s->top, as_top(s, f), as_top(s, below));
  }
}

// Whether the stack that the thread is on has a frame with that slot.
bool has_frame(State* s, uint64_t slot) {
  for (Frame* f = top_frame(s); f && !is_base(f); f = frame_below(s, f)) {
    const uint64_t found = slot_of(f);
    if (found == slot) return true;
    if (found > slot) return false;
  }
  return false;
}

// When there was no room for a chunk, every further call from here up asks for one again, and each attempt costs a few
// system calls. So only the 2nd, 4th, 8th request and so on is tried.
bool may_ask_for_chunk(State* s) {
  if (s->refused == 0) return true;
  const uint64_t n = ++s->refused;
  return (n & (n - 1)) == 0;
}

// Pushes a frame as the fast path does, see hooks.S. `tag` makes the exit take the slow path. Not inlined: the code
// before it in enter needs the most stack.
[[gnu::noinline]] void push(State* s, uint64_t slot, Block child, uint64_t tag, uint64_t now, uint64_t away) {
  Node* node = node_at(s, child);
  Frame* f = next_entry(s, slot);
  if (!f) {
    add(&node->count, 1);
    return;
  }
  store(&s->top, as_top(s, f));
  store(&f->node, child);
  store(&f->flags, uint32_t(0));
  if (is_adaptive()) time_call(s, f);
  if (is_timed()) begin_duration(s, f, now);
  add(&node->count, 1);
  skip_time(s, now, away);
  store(&f->slot, slot | tag);
}

// Calls from code without hooks are fast when the base lies a little above them.
void fit_base(Frame* base, uint64_t slot) {
  const uint64_t high = slot_of(base);
  if (high <= slot || high - slot >= LARGEST_FRAME) store(&base->slot, (slot + 64) | kSlotTag);
}

// The exit of enter_while_busy, when it comes here because the thread's clock has to be set. The call has a frame, on
// top, if the fast path knew its node.
void leave_while_busy(State* s, uint64_t slot, uint64_t now) {
  Frame* f = top_frame(s);
  if (load(&f->slot) == slot) pop(s, f, slot, now, slot);
}

}  // namespace

void pop(State* s, Frame* f, uint64_t found, uint64_t now, uint64_t exit) {
  give_time(s, node_at(s, load(&f->node)), now);
  Frame* frame = f;
  // A copy is popped together with its original. If the original became the top, at the end of its chunk, a handler
  // would only put the copy back, and handlers after each instruction would do so for ever.
  if (f->flags & kCopied) {
    Frame* original = frame_below(s, f);
    if (!original) return;  // a handler has forked, and this is the child
    const uint64_t slot = load(&original->slot);
    if ((slot & ~kSlotTag) == (found & ~kSlotTag)) {
      if (!exchange_if(&f->slot, found, uint64_t(0))) return;  // a handler has popped it
      frame = original;
      found = slot;
    }
  }
  Frame* below = frame_below(s, frame);
  if (is_adaptive()) record_call(s, frame, now);
  Node* node = node_at(s, load(&frame->node));
  const uint64_t start = load(&frame->start);
  const bool is_call = (load(&frame->flags) & (kCopied | kExpected)) == 0;
  if (!exchange_if(&frame->slot, found, uint64_t(0))) return;
  exchange_if(&s->top, as_top(s, f), as_top(s, below));
  if (!is_timed() || !is_call) return;
  // Where hooks leave, nothing tells when a call ended that has left without its exit.
  if (hooks_leave && (found & ~kSlotTag) != exit)
    look_at_gone_call(s, node);
  else
    end_duration(s, node, start, now);
}

Frame* next_entry(State* s, uint64_t slot) {
  Frame* f = top_frame(s);
  if (!is_last(f)) return f + 1;
  FrameChunk* chunk = chunk_of(f);
  if (chunk->next == 0 && !(may_ask_for_chunk(s) && run_heavy(s, add_chunk, reinterpret_cast<uint64_t>(chunk)))) {
    return nullptr;
  }
  Frame* copy = frames_of(at<FrameChunk>(s->base, chunk->next));
  const uint64_t found = load(&f->slot);
  store(&copy->node, current_frame(s)->node);
  store(&copy->flags, uint32_t(kCopied));
  store(&copy->slot, (found ? found : slot + sizeof slot) | kSlotTag);
  store(&s->top, as_top(s, copy));
  return copy + 1;
}

bool find_own_frame(State* s, uint64_t slot, uint64_t now) {
  const auto is_own = [slot](Frame* f) { return slot_of(f) == slot && !is_base(f); };
  if (is_own(top_frame(s))) return true;
  if (!has_frame(s, slot) && !(find_stack_of_frame(s, slot, now) && has_frame(s, slot))) return false;
  detach_frames(s, slot, now);
  pop_gone(s, slot - sizeof slot, now);
  return is_own(top_frame(s));
}

void enter(State* s, uint64_t slot, uint64_t pc) {
  const uint64_t now = stamp(s), away = load(&s->away);
  const bool has_place = settle_on_stack(s, slot, now);
  if (has_place) {
    detach_frames(s, slot, now);
    pop_gone(s, slot, now);
  }
  Frame* caller = current_frame(s);
  const Block parent = load(&caller->node);
  give_time(s, node_at(s, parent), now);
  const Block child = find_or_make_child(s, parent, pc);
  if (child == 0) {
    add(&s->thread->lost, 1);
    return;
  }
  Node* parent_node = node_at(s, parent);
  store(&parent_node->last, child);
  if (!has_place) {
    add(&node_at(s, child)->count, 1);
    return;
  }
  uint64_t tag = 0;
  if (caller != top_frame(s)) {
    tag = kSlotTag;  // a handler's frame above an entry that is being filled
  } else if (is_base(caller)) {
    fit_base(caller, slot);
    if (chunk_of(caller)->kind == kSignalStack) tag = kSlotTag;  // its exit leads back to the interrupted stack
  }
  push(s, slot, child, tag, now, away);
}

// The rest of entering, after a switch: f is the entry that is being filled, `slot` the slot that it will get.
extern "C" [[gnu::visibility("hidden")]] void enter_after_switch(State* s, Frame* f, Node* parent, uint64_t slot) {
  give_time(s, parent, stamp(s));
  store(&f->slot, slot);
}

void enter_while_busy(State* s, uint64_t pc) {
  const Block child = find_child(s, load(&current_frame(s)->node), pc);
  add(child ? &node_at(s, child)->count : &s->thread->lost, 1);
}

void leave(State* s, uint64_t slot, uint64_t now) {
  if (load(&tsc_stopped_at) != 0 || uses_cpu_clock()) now = stamp(s);
  const uint64_t away = load(&s->away);
  if (s->is_busy) {
    leave_while_busy(s, slot, now);
    return;
  }
  const bool is_elsewhere = !has_frame(s, slot);
  if (is_elsewhere && !(find_stack_of_frame(s, slot, now) && has_frame(s, slot))) return;
  detach_frames(s, slot, now);
  pop_gone(s, slot, now, slot);
  Frame* f = top_frame(s);
  // Back at an entry that an interrupted hook is filling, across the boundary of two chunks.
  if ((f->flags & kCopied) && load(&f->slot) != 0) {
    Frame* original = frame_below(s, f);
    if (original && load(&original->slot) == 0) {  // none in the zeros of a parent
      store(&f->slot, uint64_t(0));
      store(&s->top, as_top(s, original));
    }
  }
  if (is_base(f)) leave_signal_stack(s, f);
  if (is_elsewhere) skip_time(s, now, away);
}

}  // namespace libprof
