// The real hooks are run, on a state, frames and five nodes in private memory: the thread-local word points there
// meanwhile. Signals are blocked, so no handler of the program records into it. Of several batches the cheapest counts:
// interrupts only ever add. This is done a few times over. What the cheapest batches differ by is what readers cannot
// know of the cost either: another program on the other half of the processor comes and goes.
//
// Two functions are called, each twice before the other: a call of another function than the one before costs more,
// since it is looked up in the table, and programs have calls of both kinds. The part between the time stamps does not
// become more expensive by this, it only comes later. So for this part we take the cheaper result of two functions and
// of one function in a row.
//
// A tail call through a pointer takes longer, since the jump is read to find out where it leads (tail_calls.cc). So a
// function jumps to one of those two as well. What its node gets beyond the cost of its own call is the jump's, and
// what the other's node gets is the cost inside of a function that was jumped to.
//
// Adaptive hooks time a call only once in a while. Between its time stamps such a call spends less than each of many
// timed calls in a row, where the processor is still busy with the call before, and more than the first timed calls,
// which the processor has not met yet. So the hooks are also run as they run after some thousand calls.

#include "calibrate.h"

#include "libprof/clock/switches.h"
#include "libprof/clock/tsc.h"
#include "libprof/data/frames.h"
#include "libprof/data/objects.h"
#include "libprof/file/tree.h"
#include "libprof/kernel/syscall.h"
#include "libprof/profile_type.h"
#include "thread_pointer.h"

namespace libprof {

extern "C" {
[[gnu::visibility("hidden")]] void call_probed(uint64_t rounds);
[[gnu::visibility("hidden")]] void call_one_probed(uint64_t rounds);
[[gnu::visibility("hidden")]] void call_jumping(uint64_t rounds);
[[gnu::visibility("hidden")]] void call_bare(uint64_t rounds);
[[gnu::visibility("hidden")]] void other_probed();
[[gnu::visibility("hidden")]] extern const char probed_pc[], other_probed_pc[], jumping_pc[];
}

namespace {

constexpr uint64_t kMeasurements = 4, kBatches = 5, kRounds = 50, kCalls = 4 * kRounds;
constexpr uint64_t kManyCalls = 8000;
static_assert(prof_format::sampling_period(kManyCalls) == 16);

constexpr Block kRoot = 3, kChild = 4, kOther = 5, kJumping = 6, kJumpedTo = 7, kDurations = 8, kOctave = 11;
constexpr uint64_t kLinks = 16;

// The memory: a page for the state, whose sign never tells of a switch, then a small mapping of the form of a profile,
// and a table.
struct Scratch {
  State state;
  char fill[kPage - sizeof(State)];
  char header[PROF_BLOCK_SIZE];
  Thread thread;  // block 1
  Node nodes[5];  // blocks kRoot to kJumpedTo
  prof_format::Durations durations;
  prof_format::Octave octave;
  char more[kPage - 13 * PROF_BLOCK_SIZE];
  char before_chunk[kLargeChunkOffset];
  FrameChunk chunk;
  Frame frames[kFramesInLargeChunk];
  char before[PROF_BLOCK_SIZE - sizeof(uint64_t)];
  uint64_t mask;  // in bytes
  Link links[kLinks];
};
static_assert(offsetof(Scratch, chunk) % kPage == kLargeChunkOffset);
static_assert(offsetof(Scratch, durations) - offsetof(Scratch, header) == kDurations * PROF_BLOCK_SIZE);
static_assert(offsetof(Scratch, octave) - offsetof(Scratch, header) == kOctave * PROF_BLOCK_SIZE);
static_assert(offsetof(Scratch, links) - offsetof(Scratch, mask) == -TABLE_MASK);

Node* node_in(Scratch* s, Block block) { return &s->nodes[block - kRoot]; }

void add_node(Scratch* s, Block block, Block parent, uint64_t pc) {
  Node* n = node_in(s, block);
  n->pc = pc;
  n->parent = parent;
  if (is_timed()) n->durations = kDurations;
  insert(s->links, parent, pc, block);
}

void prepare(Scratch* s) {
  s->state.base = s->header;
  s->state.thread = &s->thread;
  s->state.top = as_top(&s->state, s->frames);
  s->state.table = s->links;
  s->state.random = 1;
  stop_watching(&s->state);
  reinterpret_cast<Header*>(s->header)->blocks_used = kOctave + sizeof s->octave / PROF_BLOCK_SIZE;
  s->durations.greatest = prof_format::kLongestDuration;  // all have been seen
  for (Block& octave : s->durations.octaves) octave = kOctave;
  s->mask = (kLinks - 1) * sizeof(Link);
  const uint64_t other = reinterpret_cast<uint64_t>(other_probed_pc);
  add_node(s, kChild, kRoot, reinterpret_cast<uint64_t>(probed_pc));
  add_node(s, kOther, kRoot, other);
  add_node(s, kJumping, kRoot, reinterpret_cast<uint64_t>(jumping_pc));
  add_node(s, kJumpedTo, kJumping, other | prof_format::kTailCall | prof_format::kSoughtCall);
  know_page(&s->state, reinterpret_cast<uint64_t>(&other_probed));
  char here;
  set_base(s->frames, reinterpret_cast<uint64_t>(&here), kRoot);
}

// As if `count` calls of each function had been made. The next one to be timed is the one after `next`.
void begin_batch(Scratch* s, uint64_t count, uint64_t next) {
  for (Block b = kChild; b <= kJumpedTo; ++b) {
    Node* n = node_in(s, b);
    n->count = count;
    n->timed_cycles = 0;
    if (is_adaptive())
      n->next = next;
    else
      n->cycles = 0;
  }
}

void keep_least(uint64_t* least, uint64_t value) {
  if (value < *least) *least = value;
}

// Cycles that a batch of calls takes.
uint64_t time_of(void (*batch)(uint64_t)) {
  const uint64_t start = time_stamp();
  batch(kRounds);
  return time_stamp() - start;
}

// The least of the batches' mean cycles * 256 between the time stamps of a timed call.
uint64_t time_single_calls(Scratch* s) {
  uint64_t least = ~uint64_t(0);
  for (uint64_t i = 0; i < kBatches; ++i) {
    begin_batch(s, kManyCalls, kManyCalls);
    call_probed(4 * kRounds);
    const Node *a = node_in(s, kChild), *b = node_in(s, kOther);
    keep_least(&least, (a->timed_cycles + b->timed_cycles) * 256 / (a->next + b->next - 2 * kManyCalls));
  }
  return least;
}

// The costs as one measurement gives them, cycles * 256.
struct Costs {
  uint64_t inside = 0, outside = 0, counted = 0;
  uint64_t sought_inside = 0, sought_outside = 0;  // of a tail call through a pointer
};

// All 0 if they could not be measured.
Costs measure(Scratch* s) {
  uint64_t with = ~uint64_t(0), without = with, inside = with, counted = with, jumping = with, jumped_to = with;
  bool is_sound = true;
  for (uint64_t i = 0; i < kBatches; ++i) {
    keep_least(&without, time_of(call_bare));
    begin_batch(s, 0, 0);
    keep_least(&with, time_of(call_probed));
    const Node *a = node_in(s, kChild), *b = node_in(s, kOther);
    is_sound = is_sound && a->count + b->count == kCalls;
    if (!is_adaptive()) {
      keep_least(&inside, a->cycles + b->cycles);
      begin_batch(s, 0, 0);
      call_one_probed(kRounds);
      keep_least(&inside, a->cycles);
      begin_batch(s, 0, 0);
      call_jumping(kRounds);
      keep_least(&jumping, node_in(s, kJumping)->cycles);
      keep_least(&jumped_to, node_in(s, kJumpedTo)->cycles);
      is_sound = is_sound && node_in(s, kJumping)->count == kCalls && node_in(s, kJumpedTo)->count == kCalls;
      continue;
    }
    begin_batch(s, 0, ~uint64_t(0));
    keep_least(&counted, time_of(call_probed));
  }
  Costs costs;
  costs.inside = is_adaptive() ? time_single_calls(s) : inside * 256 / kCalls;
  const uint64_t both = with > without ? (with - without) * 256 / kCalls : 0;
  if (!is_sound || both <= costs.inside) return {};
  costs.outside = both - costs.inside;
  if (is_adaptive() && counted > without) costs.counted = (counted - without) * 256 / kCalls;
  if (!is_adaptive()) {
    costs.sought_inside = jumped_to * 256 / kCalls;
    costs.sought_outside = jumping > inside ? (jumping - inside) * 256 / kCalls : 0;
  }
  return costs;
}

void include(Cost* cost, uint64_t measured, bool is_first) {
  if (is_first || measured < cost->least) cost->least = measured;
  if (measured > cost->greatest) cost->greatest = measured;
}

}  // namespace

Calibration calibrate() {
  Calibration result = {};
  if (!takes_stamps() || tsc_stopped_at || !has_thread_word()) return result;
  auto* scratch = static_cast<Scratch*>(map_memory(sizeof(Scratch)));
  if (!scratch) return result;
  State* own = get_state();
  prepare(scratch);
  set_state(&scratch->state);
  for (uint64_t i = 0; i < kMeasurements; ++i) {
    const Costs costs = measure(scratch);
    if (costs.outside == 0) continue;
    const bool is_first = result.outside.greatest == 0;
    include(&result.inside, costs.inside, is_first);
    include(&result.outside, costs.outside, is_first);
    include(&result.counted, costs.counted, is_first);
    include(&result.sought_inside, costs.sought_inside, is_first);
    include(&result.sought_outside, costs.sought_outside, is_first);
  }
  set_state(own);
  unmap_memory(scratch, sizeof(Scratch));
  return result;
}

}  // namespace libprof
