// Stacks and changes between them.
//
// The problem. A slot that is not just below the top frame's may belong to a function with large local arrays, to a
// frame that returned by longjmp, to a signal handler on a stack of its own, or to a coroutine. Only in the first two
// cases do the frames of the current stack and the new one belong together. There is no register that names the stack.
//
// What is known. The bounds of the thread's own stack, from /proc/self/maps when the thread begins (the initial
// thread's grows, up to its limit). The bounds of the signal stack, from sigaltstack(2), which also tells whether the
// thread is on it now; asked only when a slot is outside the current stack or would make frames disappear. Anything
// else is some other stack: what lies near the slots that were seen on it, within kReach, belongs to it.
//
// The rules. A call on a signal stack nests under the node that was current when the signal came, and its exit leads
// back to the interrupted stack exactly as it was. A handler that never returns (siglongjmp) is noticed when a function
// is entered on another stack: its frames are dropped. Other stacks keep their frames while the thread is elsewhere;
// time is handed over from the node that was current on one to that of the other.
//
// Limits. Two stacks within kReach of one another that are not of different kinds (coroutines with small stacks side by
// side in one array) are taken for one. Counts stay exact then; contexts may not.

#include "stacks.h"

#include "file.h"
#include "slow.h"
#include "syscall.h"
#include "text.h"
#include "threads.h"

namespace libprof {

namespace {

constexpr uint64_t kReach = 65536;
constexpr uint64_t kLargestStack = uint64_t(1) << 30;  // assumed when the limit is "unlimited"

FrameChunk* chunk_at(State* s, Block block) { return at<FrameChunk>(s->base, block); }
FrameChunk* current_stack(State* s) { return chunk_at(s, chunk_of(top_frame(s))->stack); }

bool contains(const FrameChunk* stack, uint64_t slot) {
  const uint64_t reach = stack->kind == kOtherStack ? kReach : 0;
  return slot + reach >= stack->low && slot < stack->high + reach;
}

// Every entry above the base becomes 0.
void drop_frames(State* s, FrameChunk* stack) {
  for (FrameChunk* c = stack;;) {
    Frame* frames = frames_of(c);
    for (uint32_t i = c == stack ? 1 : 0; i < kFramesPerChunk; ++i) store(&frames[i].slot, uint64_t(0));
    if (c->next == 0) return;
    c = chunk_at(s, c->next);
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

FrameChunk* make_stack(State* s, const Bounds& bounds, uint64_t slot, Block node) {
  Block block;
  FrameChunk* c = new_chunk(s, &block);
  if (!c) return nullptr;
  c->stack = block;
  c->kind = bounds.kind;
  c->low = bounds.low;
  c->high = bounds.high;
  c->next_stack = s->first_stack;
  set_base(frames_of(c), slot, node);
  c->saved_top = as_top(s, frames_of(c));
  ordered();
  s->first_stack = block;
  return c;
}

uint64_t make_stack_heavily(State* s, uint64_t argument) {
  auto* bounds = reinterpret_cast<Bounds*>(argument);
  FrameChunk* c = make_stack(s, *bounds, bounds->low, s->root);
  return c ? c->stack : 0;
}

FrameChunk* find_stack(State* s, StackKind kind, uint64_t slot) {
  for (Block b = s->first_stack; b != 0; b = chunk_at(s, b)->next_stack) {
    FrameChunk* c = chunk_at(s, b);
    if (c->kind == kind && contains(c, slot)) return c;
  }
  return nullptr;
}

// The known stack that a slot lies on, other than a signal stack; null if there is none.
FrameChunk* find_lasting_stack(State* s, uint64_t slot) {
  FrameChunk* c = find_stack(s, kThreadStack, slot);
  return c ? c : find_stack(s, kOtherStack, slot);
}

FrameChunk* find_or_make_stack(State* s, StackKind kind, uint64_t low, uint64_t high, uint64_t slot) {
  FrameChunk* c = kind == kSignalStack ? find_stack(s, kind, slot) : find_lasting_stack(s, slot);
  if (c && kind == kSignalStack && (c->low != low || c->high != high)) c->low = low, c->high = high;
  if (c) return c;
  Bounds bounds = {kind, low, high};
  const uint64_t block = run_heavy(s, make_stack_heavily, reinterpret_cast<uint64_t>(&bounds));
  return block ? chunk_at(s, Block(block)) : nullptr;
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
}

void change_to(State* s, FrameChunk* to, uint64_t slot, uint64_t now) {
  FrameChunk* from = current_stack(s);
  const Block left = load(&current_frame(s)->node);
  const bool leaves_handler = from->kind == kSignalStack;
  if (!leaves_handler) from->saved_top = load(&s->top);
  if (from->kind == kOtherStack && slot_of(current_frame(s)) < from->low) from->low = slot_of(current_frame(s));
  if (to->kind == kOtherStack) {
    if (slot < to->low) to->low = slot;
    if (slot >= to->high) to->high = slot + sizeof slot;
  }
  store(&s->thread->frames, to->stack);
  store(&s->top, to->saved_top);
  if (leaves_handler) drop_frames(s, from);
  Frame* f = current_frame(s);
  if (to->kind == kOtherStack && f == frames_of(to)) {
    store(&f->node, left);  // a coroutine that begins, called by what ran before
  } else if (f->node != left && is_timed()) {
    hand_over(s, node_at(s, left), node_at(s, f->node), now);
  }
}

// The mapping that the slot lies in, out of /proc/self/maps.
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

}  // namespace

bool settle_on_stack(State* s, uint64_t slot, uint64_t now) {
  Frame* f = current_frame(s);
  FrameChunk* stack = chunk_at(s, chunk_of(f)->stack);
  const uint64_t top = slot_of(f);
  if (slot < top && top - slot < LARGEST_FRAME) return true;
  const bool is_idle = f == frames_of(stack);
  if (stack->kind == kOtherStack && slot < top && top - slot < kReach) return true;
  if (contains(stack, slot) && (slot < top || (is_idle && stack->kind != kSignalStack))) return true;
  SignalStack signal;
  if (is_on_signal_stack(slot, &signal)) {
    if (stack->kind == kSignalStack && contains(stack, slot)) return true;
    FrameChunk* to = find_or_make_stack(s, kSignalStack, signal.low, signal.low + signal.size, slot);
    if (to) enter_signal_stack(s, to, slot);
    return to != nullptr;
  }
  if (stack->kind != kSignalStack && contains(stack, slot)) return true;
  FrameChunk* to = find_or_make_stack(s, kOtherStack, slot & ~uint64_t(15), slot + 64, slot);
  if (to) change_to(s, to, slot, now);
  return to != nullptr;
}

bool find_stack_of_frame(State* s, uint64_t slot, uint64_t now) {
  FrameChunk* from = current_stack(s);
  if (from->kind != kSignalStack && contains(from, slot)) return false;
  FrameChunk* to = find_lasting_stack(s, slot);
  if (!to || to == from) return false;
  change_to(s, to, slot, now);
  return true;
}

void leave_signal_stack(State* s, Frame* base) {
  FrameChunk* stack = chunk_of(base);
  if (stack->kind != kSignalStack || stack->interrupted_top == 0) return;
  auto* interrupted = reinterpret_cast<Frame*>(reinterpret_cast<char*>(s) + stack->interrupted_top);
  store(&s->thread->frames, chunk_of(interrupted)->stack);
  store(&s->top, stack->interrupted_top);
}

uint64_t add_chunk(State* s, uint64_t chunk) {
  auto* below = reinterpret_cast<FrameChunk*>(chunk);
  Block block;
  FrameChunk* c = new_chunk(s, &block);
  if (!c) return 0;
  c->stack = below->stack;
  c->previous = Block((chunk - reinterpret_cast<uint64_t>(s->base)) >> PROF_BLOCK_SHIFT);
  ordered();
  below->next = block;
  return 1;
}

bool begin_thread_stack(State* s, uint64_t slot, bool is_reused) {
  Bounds bounds = {kThreadStack, 0, 0};
  find_bounds(slot, &bounds.low, &bounds.high);
  FrameChunk* stack = nullptr;
  if (is_reused) {
    // The chunks of the ended thread; its other stacks are no longer found.
    for (Block b = s->first_stack; b != 0; b = chunk_at(s, b)->next_stack) {
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
  s->top = as_top(s, frames_of(stack));
  return true;
}

}  // namespace libprof
