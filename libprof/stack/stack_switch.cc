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
// end above it, or to a stack that is new (known_stacks.cc finds, makes and forgets them). The first function on a new
// stack is not called by a function with hooks, as that one would have been seen on the stack before. The return
// address of the first function tells this (is_in_hooked_code).
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
// that goes on in another thread has the context of the code that resumed it there. Where a coroutine begins a few
// words above the place of one that was left for ever, its calls may be taken for that one's. Counts are exact in all
// cases.

#include "stack_switch.h"

#include "known_stacks.h"
#include "libprof/clock/times.h"
#include "libprof/data/frames.h"
#include "libprof/data/heavy.h"
#include "libprof/data/objects.h"
#include "libprof/hooks/hook_selection.h"
#include "libprof/kernel/syscall.h"

namespace libprof {

namespace {

constexpr uint64_t kReach = 65536;
constexpr int kMaxTries = 4;  // if handlers change what stacks there are

// To be called when the thread has changed to another stack and when one was made. Stacks below the current one end at
// or below its lowest frame. If there are none but the thread's own and signal stacks, there is no barrier.
void set_barrier(State* s) {
  // So it is in a state that a handler's child has left, which may have no top (life/threads.cc).
  if (load(&s->stacks_listed) == 0) {
    store(&s->barrier, uint64_t(0));
    return;
  }
  for (int i = 0; i < kMaxTries; ++i) {
    const uint32_t changes = load(&s->stack_changes);
    FrameChunk* current = current_stack(s);
    uint64_t barrier = lower_end_of(s, current);
    if (current->kind != kOtherStack && current->low > barrier) barrier = current->low;
    store(&s->barrier, barrier);
    if (load(&s->stack_changes) == changes) break;
  }
  use_careful_hooks();
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
  if (load(&base[1].slot) != 0 || load(&base[2].slot) != 0) drop_frames(s, to, load(&s->thread->last_tsc));
  const uint64_t top = load(&s->top);
  set_base(base, slot, load(&current_frame(s)->node));
  if (from->kind != kSignalStack) from->saved_top = top;
  to->interrupted_top = top;
  store(&s->thread->frames, to->stack);
  store(&s->top, as_top(s, base));
  set_barrier(s);
}

// A handler that interrupts this may notice the change of stack as well; only one of the two changes the top.
void change_to(State* s, FrameChunk* to, uint64_t now) {
  const uint64_t top = load(&s->top);
  FrameChunk* from = current_stack(s);
  const Block left = load(&current_frame(s)->node);
  give_time(s, node_at(s, left), now);
  const bool leaves_handler = from->kind == kSignalStack;
  if (!leaves_handler) from->saved_top = top;
  from->left_at = now;
  if (frame_at(s, top) == frames_of(from)) note_emptied(s, from);
  const bool is_coroutine = to->kind == kOtherStack;
  if (is_coroutine) {
    Frame* f = with_slot(s, top_of(s, to));
    if (f == frames_of(to)) store(&f->node, left);  // called by what ran before
  }
  const uint64_t saved_top = load(&to->saved_top);
  if (saved_top == 0) return;  // zeros, see top_of
  if (!exchange_if(&s->top, top, saved_top)) return;
  store(&s->thread->frames, to->stack);
  if (is_coroutine) note_arrival(s, to);
  if (leaves_handler) drop_frames(s, from, load(&s->thread->last_tsc));
  if (is_adaptive()) resume_calls(s, to, now);
  set_barrier(s);
}

// The lowest frame above the slot; null if there is none.
Frame* find_caller(State* s, FrameChunk* stack, uint64_t slot) {
  for (Frame* f = top_of(s, stack); f && f != frames_of(stack); f = frame_below(s, f)) {
    if (slot_of(f) > slot) return f;
  }
  return nullptr;
}

// If `address` is in the function of one of the two nodes: whether it is in that of `a`. It is in the function whose
// start is the nearest before it. `otherwise`: if it is the same function.
bool is_rather_in(const Node* a, const Node* b, uint64_t address, bool otherwise) {
  const uint64_t in_a = a->pc & ~prof_format::kKindOfCall, in_b = b->pc & ~prof_format::kKindOfCall;
  if (in_a == in_b) return otherwise;
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
  look_at_stacks(s);
  if (!move_to_own_stack(s, first, last, kept->node)) return 0;
  store(&s->top, as_top(s, kept));
  for (Frame* f = last; f && f != kept; f = frame_below(s, f)) store(&f->slot, uint64_t(0));
  return 1;
}

}  // namespace

void detach_frames(State* s, uint64_t slot, uint64_t now) {
  if (slot_of(top_frame(s)) >= slot) return;
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
      // A coroutine that goes on returns first from what it waits in.
      const bool is_within = lowest <= slot;
      if (!caller || is_rather_in(node_at(s, f->node), node_at(s, caller->node), return_address, is_within)) {
        forget_upper_frames(s, to, slot);
        set_barrier(s);
        return true;
      }
    }
  }
  if (!to) to = make_coroutine_stack(s, slot);
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
  set_barrier(s);
}

}  // namespace libprof
