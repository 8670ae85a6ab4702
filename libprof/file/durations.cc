// How long each call lasted.
//
// The problem. Totals and means hide the one call in a thousand that took fifty times as long. To keep every duration
// would be a trace: it is large, and writing it takes longer than short functions do.
//
// The way taken. Durations are counted, in buckets that are at most 1/16 of what they hold: the highest bit of the
// cycles says which octave it is, the next four bits which bucket. A function in a thread has one table of octaves
// (Durations), and only the octaves that have calls have memory, 128 bytes each; most functions have one to four. It is
// found by the pc in the table of children, and from then on the node refers to it. Most functions of a program are
// called a few times only: as long as a function has no table, which the fifth call of one of its nodes gets, they go
// into a list, nine bytes each. What a thread has made is used again with its state, by the thread that gets that.
//
// What is counted. From the stamp of the entry to that of the exit, waiting included, less what the hooks of the call
// itself and of all below it have taken. For that the thread adds up what its hooks take, a constant for each pair, as
// it was measured at the start (calibrate.cc): the entry keeps the stamp less this sum, and the exit does the same. So
// a call of a function that calls a million others is not told to last as long as a million pairs of hooks. What slow
// paths take goes into the sum as well (skip_time).
//
// The fast exit (leave_hooks.S) does that after the frame is gone. Most calls of most programs are short, and all that
// it does for them is to count them in the node; else it finds octave and bucket and adds one to it. It comes here if
// the call is the shortest or the longest so far, or if there is no octave yet. A handler may come between any two
// instructions, and what it does to the same function is kept, since each addition is one instruction. A hook that is
// left by siglongjmp between its end of the frame and this loses one duration.
//
// Nothing is told of calls that have not ended, of those that a coroutine took along to another thread, and of those on
// a stack that was given up.

#include "durations.h"

#include "file.h"
#include "libprof/clock/times.h"
#include "tree.h"

namespace libprof {

using prof_format::Durations;
using prof_format::kKindOfCall;
using prof_format::kLongestDuration;
using prof_format::kShortestDuration;
using prof_format::LoggedDurations;
using prof_format::Octave;
using prof_format::packed_duration;

HookCosts hook_costs = {0, 0, 0, 0, longest_short(0)};

namespace {

constexpr uint64_t kBlocksOfDurations = sizeof(Durations) / PROF_BLOCK_SIZE;
constexpr uint64_t kBlocksOfOctave = sizeof(Octave) / PROF_BLOCK_SIZE;
constexpr int kBitsOfWord = 64;
constexpr uint64_t kLogged = 4;  // calls of a node
constexpr uint32_t kEntries = sizeof(LoggedDurations::entries) / sizeof(LoggedDurations::entries[0]);

Block no_durations(State* s) { return at<Header>(s->base, 0)->no_durations; }

// False in a child that goes on in a hook of its parent's (life/threads.cc), whether or not it has a profile.
bool is_own_node(State* s, const Node* n) {
  if (load(&s->top) == 0 || s->is_left) return false;
  const uint64_t offset = uint64_t(reinterpret_cast<const char*>(n) - s->base);
  return offset < uint64_t(load(&at<Header>(s->base, 0)->blocks_used)) * PROF_BLOCK_SIZE;
}

// Not inlined, as what follows: each needs some of the program's stack.
[[gnu::noinline]] Block make_durations(State* s, uint64_t pc) {
  Block made = take_blocks_in_row(s, kBlocksOfDurations);
  if (made == 0 && has_no_more_blocks(s)) made = no_durations(s);
  if (made != 0) keep_block_for(s, pc, made);
  return made;
}

// The block of the thread's list that has room. Null: there is none now.
[[gnu::noinline]] LoggedDurations* list_with_room(State* s) {
  for (;;) {
    const Block newest = load(&s->thread->logged_durations);
    auto* list = at<LoggedDurations>(s->base, newest);
    if (newest != 0 && load(&list->used) < kEntries) return list;
    const Block made = take_blocks_in_row(s, 1);
    if (made == 0) return nullptr;
    store(&at<LoggedDurations>(s->base, made)->next, newest);
    exchange_if(&s->thread->logged_durations, newest, made);  // else a handler was here
  }
}

// A duration for which there is no room. Other threads count these as well.
void note_lost(State* s) {
  const Block none = no_durations(s);
  if (none != 0) __atomic_fetch_add(&at<Durations>(s->base, none)->short_calls, 1, __ATOMIC_RELAXED);
}

[[gnu::noinline]] void log_duration(State* s, const Node* n, uint64_t cycles) {
  const uint32_t packed = packed_duration(cycles);
  while (LoggedDurations* list = list_with_room(s)) {
    const uint32_t used = load(&list->used);
    if (used >= kEntries || !exchange_if(&list->used, used, used + 1)) continue;  // a handler was here
    store(reinterpret_cast<uint64_t*>(&list->entries[used]), uint64_t(packed) << 32 | block_of(s, n));
    return;
  }
  note_lost(s);
}

// Those of a node. 0: it has none yet.
Block durations_of(State* s, Node* n) {
  if (const Block known = load(&n->durations)) return known;
  const uint64_t pc = n->pc & ~kKindOfCall;
  Block found = block_kept_for(s, pc);
  if (found == 0 && load(&n->count) > kLogged) found = make_durations(s, pc);
  if (found != 0) store(&n->durations, found);
  return found;
}

// Of the one at `where` in Durations. 0: it cannot be told now.
[[gnu::noinline]] Block octave_of(State* s, Block* where) {
  if (const Block known = load(where)) return known;
  Block made = take_blocks_in_row(s, kBlocksOfOctave);
  const Block none = no_durations(s);
  if (made == 0 && none != 0 && has_no_more_blocks(s)) made = load(at<Durations>(s->base, none)->octaves);
  if (made == 0 || exchange_if(where, Block(0), made)) return made;
  return load(where);  // a handler was here
}

[[gnu::noinline]] void count_duration(State* s, Durations* d, uint64_t length) {
  for (uint64_t least = load(&d->least); least == 0 || length < least; least = load(&d->least))
    if (exchange_if(&d->least, least, length)) break;
  for (uint64_t greatest = load(&d->greatest); length > greatest; greatest = load(&d->greatest))
    if (exchange_if(&d->greatest, greatest, length)) break;
  const int highest = kBitsOfWord - 1 - __builtin_clzll(length);
  const Block octave = octave_of(s, &d->octaves[highest - PROF_SHORT_CALL_SHIFT]);
  const uint64_t bucket = length >> (highest - PROF_OCTAVE_SHIFT) & ((1 << PROF_OCTAVE_SHIFT) - 1);
  if (octave == 0) return note_lost(s);
  add(&at<Octave>(s->base, octave)->calls[bucket], uint64_t(1));
}

}  // namespace

void begin_durations(Header* header) {
  const Block first = take_blocks(kBlocksOfDurations + kBlocksOfOctave);
  if (first == 0) return;
  auto* none = reinterpret_cast<Durations*>(reinterpret_cast<char*>(header) + uint64_t(first) * PROF_BLOCK_SIZE);
  for (Block& octave : none->octaves) octave = first + Block(kBlocksOfDurations);
  header->no_durations = first;
}

// A node has counted 2^32 short calls.
extern "C" [[gnu::visibility("hidden")]] void note_full_short_calls(State* s, Node* n) {
  if (!is_own_node(s, n)) return;
  if (const Block block = durations_of(s, n)) add(&at<Durations>(s->base, block)->short_calls, uint64_t(1) << 32);
}

// Also where the fast exits come (hooks/leave_hooks.S). `cycles` may be less than 0: hooks cost less than they did when
// it was measured.
extern "C" [[gnu::visibility("hidden")]] void note_duration(State* s, Node* n, int64_t cycles) {
  if (!is_own_node(s, n)) return;
  if (cycles < int64_t(kShortestDuration)) {
    if (increment_to_zero(&n->short_calls)) note_full_short_calls(s, n);
    return;
  }
  const uint64_t length = uint64_t(cycles) < kLongestDuration ? uint64_t(cycles) : kLongestDuration;
  const uint64_t since = load(&s->thread->last_tsc), away = load(&s->away), taken = s->nodes.range;
  const bool is_known = load(&n->durations) != 0;
  const Block block = durations_of(s, n);
  if (block == 0)
    log_duration(s, n, length);
  else
    count_duration(s, at<Durations>(s->base, block), length);
  if (!is_known || s->nodes.range != taken) skip_time(s, since, away);  // what was looked for or made took long
}

void begin_duration(State* s, Frame* f, uint64_t now) {
  store(&f->start, now + load(&s->away) - load(&s->thread->hook_cycles));
}

void end_duration(State* s, Node* node, uint64_t start, uint64_t now) {
  const uint64_t end = now + load(&s->away) - load(&s->thread->hook_cycles);
  add(&s->thread->hook_cycles, hook_costs.pair);
  note_duration(s, node, int64_t(end - start - hook_costs.inside));
}

// What a known tail call takes is all in the time of the function jumped to.
void hand_duration_on(State* s, Frame* f, Node* jumping, uint64_t start, uint64_t now, bool is_sought) {
  const uint64_t before = is_sought ? hook_costs.sought_outside : 0;
  const uint64_t after = is_sought ? hook_costs.sought_inside : hook_costs.inside;
  const uint64_t end = now + load(&s->away) - load(&s->thread->hook_cycles);
  add(&s->thread->hook_cycles, before + after);
  // As of any call, `inside` is left out when it ends.
  begin_duration(s, f, now + after - hook_costs.inside);
  note_duration(s, jumping, int64_t(end - start - hook_costs.inside - before));
}

}  // namespace libprof
