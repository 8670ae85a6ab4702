#include "times.h"

#include "cpu_clock.h"
#include "libprof/data/frames.h"
#include "tsc.h"

namespace libprof {

void give_time_to(State* s, Node* node, uint64_t now) {
  const uint64_t last = load(&s->thread->last_tsc);
  if (now < last) {
    if (uses_cpu_clock()) return;
    now = stamp(s);
    if (int64_t(last - now) < SMALLEST_SETBACK) return;
  }
  // If a handler has been here meanwhile, its hooks have given the time to the nodes that ran.
  if (exchange_if(&s->thread->last_tsc, last, now) && now > last) add(&node->cycles, now - last);
}

void skip_time(State* s, uint64_t since, uint64_t away) {
  if (!is_timed()) return;
  const uint64_t last = load(&s->thread->last_tsc), now = stamp(s);
  // If the kernel was asked meanwhile, the stamps are not of one clock. If a handler was here, little is left to skip.
  if (load(&s->away) != away || last < since || now <= last) return;
  if (!exchange_if(&s->thread->last_tsc, last, now)) return;
  add(&node_at(s, s->root)->own_cycles, now - last);
  add(&s->thread->hook_cycles, now - last);
}

// Times of some calls: what PROFTYPE=adaptive adds to counting.
//
// The problem. A time stamp costs more than all the rest of a hook, and a pair needs two. But the mean of a function's
// durations is known well from some thousand of its calls.
//
// Which calls. They are chosen per node, so that a function that is called rarely is always timed, and one that is
// called from two places is timed for each place. They are chosen at random, because programs have periods. The number
// of calls from one timed call to the next is drawn from period/2 to 3 period/2 around sampling_period(count), and a
// timed call stands for all of them: so the sum of weights is the number of calls, whatever was drawn, and the warm-up
// of the first thousand calls has no more weight than it had in the program.
//
// What is timed. The whole call, entry to exit, so that a timed call costs two stamps, not two for each call below it.
// Readers compute the self time of a function: its own time less that of the functions it calls.
//
// How. The fast paths (enter_hooks.S) compare a node's count with `next` and take the path to time_call when it is
// reached. A frame with a weight is timed; code that takes it off the stack calls record_call first.
//
// Handlers. One instruction claims the weight from the frame before anything is added, and each addition is one
// instruction, so a handler may come between any two. If a handler leaves by siglongjmp before all additions were made,
// one timed call lacks a part. Among thousands of timed calls this error does not matter, as it would in counts.
//
// Durations are those of the thread's own clock (cpu_clock.cc): a call in which the thread waited or lost its processor
// would stand for a hundred others that did not.
//
// Limits. A coroutine's frames stand still while it is suspended (resume_calls), but the time that a caller waits for a
// coroutine belongs to the caller. Calls that were folded onto an ancestor count as if they took no time: the
// ancestor's duration includes theirs.

namespace {

using prof_format::kSquareUnit;
using prof_format::kWeightShift;
using prof_format::sampling_period;

constexpr uint64_t kLongestSquared = uint64_t(1) << 27;  // units of kSquareUnit: longer calls count as this long
constexpr uint32_t kLongestCycle = 256;                  // frames of a folded recursion that are looked through

// Marsaglia, Xorshift RNGs (2003), with the triple 13, 7, 17.
uint64_t draw(State* s) {
  uint64_t x = s->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  s->random = x;
  return x;
}

uint32_t draw_weight(State* s, uint64_t count) {
  const uint64_t period = sampling_period(count);
  return uint32_t(period == 1 ? 1 : period / 2 + draw(s) % (period + 1));
}

// Whether a frame below f is of the same node.
bool is_nested(State* s, Frame* f) {
  const Block node = load(&f->node);
  for (uint32_t i = 0; i < kLongestCycle; ++i) {
    f = frame_below(s, f);
    if (!f || (f->flags & kBase)) return false;
    if (load(&f->slot) != 0 && load(&f->node) == node) return true;
  }
  return false;
}

// True if the time of f's call is not part of another call of its node, and is part of a call of the node's parent.
bool is_outermost(State* s, Frame* f) {
  Frame* caller = frame_below(s, f);
  while (caller && load(&caller->slot) == 0) caller = frame_below(s, caller);
  if (!caller || node_at(s, load(&f->node))->parent != load(&caller->node)) return false;
  return !s->has_folded || !is_nested(s, f);
}

// The remainder of a length after division into units counts as well: the lengths of short calls differ by less than
// one unit.
void add_square(Node* n, uint64_t cycles, uint64_t weight) {
  uint64_t units = cycles / kSquareUnit, rest = cycles % kSquareUnit;
  if (units > kLongestSquared) units = kLongestSquared;
  constexpr uint64_t kSquare = kSquareUnit * kSquareUnit;
  const uint64_t fraction = weight * rest * (2 * kSquareUnit * units + rest);  // of the square, in parts of kSquare
  const uint64_t more = units * units * weight + (fraction + kSquare / 2) / kSquare;
  const uint64_t room = ~load(&n->timed_squares);
  add(&n->timed_squares, more < room ? more : room);
}

// If the call is due: chooses the next one to be timed, and returns the weight of this one. Else 0.
uint32_t choose_next(State* s, Frame* f) {
  Node* n = node_at(s, f->node);
  const uint64_t count = load(&n->count);
  if (count < load(&n->next) || load(&tsc_stopped_at) != 0) return 0;
  const uint32_t weight = draw_weight(s, count);
  store(&n->next, count + weight);
  return weight;
}

void start(State* s, Frame* f, uint32_t weight) {
  store(&f->flags, f->flags | weight << kWeightShift);
  // A handler that waits between the counter and `away` makes the stamp too early by as much, and the call as much
  // longer.
  uint64_t away, stamp;
  do {
    away = load(&s->away);
    stamp = cpu_stamp(s);
  } while (load(&s->away) != away);
  store(&f->start, stamp);
}

}  // namespace

extern "C" [[gnu::visibility("hidden")]] void time_call(State* s, Frame* f) {
  const uint32_t weight = choose_next(s, f);
  if (weight != 0 && is_outermost(s, f)) start(s, f, weight);
}

void time_tail_call(State* s, Frame* f) {
  const uint32_t weight = choose_next(s, f);
  const bool is_within_another = (f->flags & kFoldedCall) || (s->has_folded && is_nested(s, f));
  if (weight != 0 && !is_within_another) start(s, f, weight);
}

void record_call(State* s, Frame* f, uint64_t now) {
  const uint32_t flags = load(&f->flags);
  const uint64_t weight = flags >> kWeightShift;
  if (weight == 0) return;
  Node* n = node_at(s, load(&f->node));
  const uint64_t start = load(&f->start);
  if (!exchange_if(&f->flags, flags, flags & ((1u << kWeightShift) - 1))) return;  // a handler was here in between
  const uint64_t cycles = now > start ? now - start : 0;  // counters of two processors differ a little
  add(&n->timed, 1);
  add(&n->timed_cycles, cycles * weight);
  add_square(n, cycles, weight);
  if (now > load(&s->thread->last_tsc)) store(&s->thread->last_tsc, now);
}

// The fast exit comes here with a timed frame f that it found at the top: instructions d and e of hooks.S. A handler
// may have left a copy of it above since, for frames of its own in a further chunk.
extern "C" [[gnu::visibility("hidden")]] void leave_timed_call(State* s, Frame* f, uint64_t tsc) {
  record_call(s, f, cpu_stamp_of(s, tsc));
  store(&f->slot, uint64_t(0));
  store(&s->top, as_top(s, f - 1));
}

void record_open_calls(State* s) {
  Thread* t = s->thread;
  // We do not know when the thread ended, only that it lived until its last stamp.
  uint64_t last = t->last_tsc;
  for (int pass = 0; pass < 2; ++pass) {
    for (Block b = s->first_stack; b != 0; b = stack_before(s, b)) {
      for (Block chunk = b; chunk != 0; chunk = chunk_after(s, chunk)) {
        Frame* frames = frames_of(at<FrameChunk>(s->base, chunk));
        for (uint32_t i = 0; i < frames_in(at<FrameChunk>(s->base, chunk)); ++i) {
          if (frames[i].slot == 0 || frames[i].flags >> kWeightShift == 0) continue;
          if (pass == 0 && frames[i].start > last) last = frames[i].start;
          if (pass == 1) record_call(s, &frames[i], last);
        }
      }
    }
  }
  t->frames = t->stacks = 0;
}

void resume_calls(State* s, FrameChunk* stack, uint64_t now) {
  if (stack->kind != kOtherStack || now <= stack->left_at) return;
  for (Frame* f = top_frame(s); f && !(f->flags & kBase); f = frame_below(s, f)) {
    if (f->flags >> kWeightShift != 0) add(&f->start, now - stack->left_at);
  }
}

}  // namespace libprof
