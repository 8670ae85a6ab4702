// The beginning of a thread; and in the second part, what a thread gets of its parent in a forked child, and leaves.
//
// A thread begins at its first hook: its thread-local word is 0. It gets an area of private memory (a stack for heavy
// paths, and its State), a Thread record with a tree of its own in the mapping, a table, and a chunk of frames. Each
// thread takes nodes from the file a few pages at a time, so two threads never write to the same cache line.
//
// Nothing tells that a thread has ended. So a thread that begins asks the kernel about a few of the others in turn
// (tkill with signal 0) and takes over the area, the chunks, the table and the rest of the nodes of one that
// is gone. Its Thread record and its tree stay in the profile.

#include "threads.h"

#include "libprof/clock/cpu_clock.h"
#include "libprof/clock/switches.h"
#include "libprof/clock/times.h"
#include "libprof/clock/tsc.h"
#include "libprof/data/frames.h"
#include "libprof/data/heavy.h"
#include "libprof/data/settings.h"
#include "libprof/data/state.h"
#include "libprof/data/thread.h"
#include "libprof/file/block_counters.h"
#include "libprof/file/file.h"
#include "libprof/file/tree.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "libprof/profile_type.h"
#include "libprof/stack/known_stacks.h"
#include "libprof/trace/trace.h"
#include "process.h"
#include "sampling.h"

namespace libprof {

namespace {

constexpr uint32_t kAskedPerThread = 8;
constexpr uint64_t kThreadBlocks = sizeof(Thread) / PROF_BLOCK_SIZE;
constexpr uint64_t kFirstBlocks = kBlocksPerPage;  // the record, the root, and the first nodes

State* early;

// A state whose thread is gone, taken off the thread; null if none was found among the next few.
State* take_ended_state(Process* p) {
  State* found = nullptr;
  lock(&p->lock);
  for (uint32_t i = 0; i < kAskedPerThread && p->states && !found; ++i) {
    State* s = p->look_for_ended ? p->look_for_ended : p->states;
    p->look_for_ended = s->next;
    if (s->tid != 0 && syscall4(__NR_tkill, uint64_t(s->tid), 0) == kErrorNoProcess) {
      s->tid = 0;
      found = s;
    }
  }
  unlock(&p->lock);
  return found;
}

// How many roots the record of a thread leads to: that of its calls, and that of what samples found.
uint64_t roots() { return profile_type == prof_format::kSample || hooks_leave ? 2 : 1; }

// A page for the Thread, its roots and the first nodes: as many as there may be for contexts, the rest is the reserve.
// False if there is no room.
bool take_first_blocks(State* s) {
  const uint64_t first = take_page(), end = first + kFirstBlocks;
  if (first == 0) return false;
  Header* header = at<Header>(s->base, 0);
  const uint64_t limit = limit_of_contexts(header), least = roots();
  const uint64_t left = header->nodes + least < limit ? limit - header->nodes : least;
  const uint64_t nodes = left < kFirstBlocks - kThreadBlocks ? left : kFirstBlocks - kThreadBlocks;
  __atomic_fetch_add(&header->nodes, nodes, __ATOMIC_RELAXED);
  const uint64_t end_of_nodes = first + kThreadBlocks + nodes;
  s->nodes.range = block_range(first, end_of_nodes);
  s->nodes.taken = nodes;
  if (blocks_in(s->reserve.range) < end - end_of_nodes) s->reserve.range = block_range(end_of_nodes, end);
  return true;
}

// The Thread and its roots; for a state that is used again, in the blocks left of one of its supplies.
bool make_record(State* s, bool is_reused) {
  const uint64_t blocks = kThreadBlocks + roots();
  // What it keeps by pc is of these modules (libraries.cc moves that).
  const uint64_t modules = is_reused ? s->thread->modules : 0;
  NodeSupply* supply = &s->nodes;
  if (is_reused && blocks_in(supply->range) < blocks) supply = &s->reserve;
  if (!is_reused || blocks_in(supply->range) < blocks) {
    supply = &s->nodes;
    if (!take_first_blocks(s)) return false;
  }
  const uint64_t first = first_of(supply->range);
  s->thread = at<Thread>(s->base, Block(first));
  s->thread->modules = modules;
  s->root = Block(first + kThreadBlocks);
  if (roots() > 1) s->thread->addresses = s->root + 1;
  supply->range = block_range(first + blocks, end_of(supply->range));
  s->nodes.is_empty = s->reserve.is_empty = s->nodes_made = s->refused = 0;
  s->module_start = s->module_end = 0;  // it is a new thread's, which has no nodes of any module
  set_aside(s);
  return true;
}

void fill_in_record(State* s) {
  Thread* t = s->thread;
  t->tid = uint32_t(s->tid);
  t->root = s->root;
  note_name(s);
  const uint64_t now = uses_cpu_clock() ? s->tsc_at_start : time_stamp_if_readable();
  t->tsc_start = t->last_tsc = now;
  if (uses_cpu_clock()) t->cpu_start = s->cpu_at_start;
  s->random = (now ^ uint64_t(s->tid) << 40) | 1;
  lock(&process->lock);
  Header* header = at<Header>(s->base, 0);
  const Block block = Block((as_word(t) - as_word(s->base)) >> PROF_BLOCK_SHIFT);
  t->next = header->first_thread;
  ordered();
  header->first_thread = block;
  unlock(&process->lock);
}

// Somebody else samples the thread, and has the kernel copy what lies above its stack pointer. The kernel copies up to
// the first page that was never used, as a large array of a function may have, and callers are lost. So pages below
// `slot` are read once, from above and not beyond the stack: that maps the kernel's page of zeros, which takes no
// memory. Before Linux 5.14 nothing happens.
void have_stack_copied(State* s, uint64_t slot) {
  constexpr uint64_t kDepth = 64 << 10, kAtOnce = 4 * kPage;
  const uint64_t low = chunk_at(s, s->thread_stack)->low, top = slot & ~(kPage - 1);
  for (uint64_t at = top; top - at < kDepth && at >= low + kAtOnce; at -= kAtOnce) {
    if (advise(reinterpret_cast<void*>(at - kAtOnce), kAtOnce, kAdvisePopulateRead) != 0) break;
  }
}

// Heavy, on the private stack of the area that `s` heads. s->tid is 0 and s->next null unless it is reused. The result
// is the state to use, or null.
uint64_t begin_heavily(State* fresh, uint64_t slot) {
  if (!begin_process()) return 0;
  Process* p = process;
  State* s = take_ended_state(p);
  const bool is_reused = s != nullptr;
  if (!is_reused) s = fresh;
  if (is_reused && is_adaptive()) record_open_calls(s);
  if (is_reused) end_samples_of_thread(s);
  s->base = p->base;
  s->tid = thread_id();
  // The thread before may have ended in the middle of a hook.
  s->entering_at = s->asked = 0;
  s->until_look = 1;
  s->is_busy = 0;
  begin_table(s);
  if (!make_record(s, is_reused)) return 0;
  if (!begin_thread_stack(s, slot, is_reused)) return 0;
  if (settings.has_no_samples) have_stack_copied(s, slot);
  if (uses_cpu_clock() && !begin_cpu_clock(s)) return 0;
  begin_block_counters_of_thread(s);
  begin_trace_of_thread(s);
  fill_in_record(s);
  if (!is_reused) {
    lock(&p->lock);
    s->next = p->states;
    p->states = s;
    unlock(&p->lock);
  }
  return as_word(s);
}

// The thread of a static program, which began before its C library did.
uint64_t find_sign_again(State* s, uint64_t) {
  if (!uses_cpu_clock()) return 0;
  choose_hooks_again();
  return begin_sign(s);
}

}  // namespace

State* begin_thread(uint64_t slot) {
  State* s = get_state();
  if (s != no_state()) {
    uint64_t mask = 0;
    const bool are_blocked = block_signals(&mask);
    s = get_state();
    if (!s && early && early->tid == thread_id()) {
      s = early;
      early = nullptr;
      set_state(s);
      run_on_stack(private_stack_top(s), find_sign_again, s, 0);
    }
    if (s && is_of_parent(s)) {
      leave_parent(s);
      s = nullptr;
    }
    if (!s) {
      set_state(no_state());  // for hooks that a handler runs meanwhile
      if (State* area = map_area()) {
        s = reinterpret_cast<State*>(run_on_stack(private_stack_top(area), begin_heavily, area, slot));
        if (s != area) unmap_area(area);
      }
      if (s && is_sampled()) run_on_stack(private_stack_top(s), begin_samples_of_thread, s, mask);
      set_state(s ? s : no_state());
    }
    if (are_blocked) restore_signals(mask);
    if (s) return s;
  }
  note_lost_call();
  return nullptr;
}

void leave_wiped_state(State* s) {
  if (s == no_state() || !is_of_parent(s)) return;
  uint64_t mask;
  const bool are_blocked = block_signals(&mask);
  if (is_of_parent(s)) leave_parent(s);
  if (are_blocked) restore_signals(mask);
}

void mark_early(State* s) { early = s; }

// The problem. A forked child must not touch its parent's profile: the mapping is MADV_DONTFORK, the states are
// MADV_WIPEONFORK, and a hook that finds its state wiped begins anew. But the handler of a signal may fork, and when it
// returns in the child, the hook that it interrupted goes on, with addresses of the parent's mapping in its registers
// and the parent's state.
//
// So the child, before it returns from the handler, leaves the parent's state in a form in which every path through the
// hooks ends well. Private zeros replace the mapping; nodes and frames that were there are gone. The state refers to a
// base frame, a thread and an empty table after them, so that code in the middle of a slow path finds no frame to pop
// and no child, and makes new ones in private memory. Wherever it reads the mapping it takes zeros for "none". And this
// is not the thread's state any more: the child gets another one.
//
// The child does this when the C library reports the fork (as to pthread_atfork), or when the fork was made by syscall
// (libc_calls.S), and at the latest in its first hook, which may be the exit of the handler.
//
// A child that forks again has the zeros of its own parent and grandparent; older ones are unmapped. They would matter
// only if three signal handlers on one stack forked.
//
// Limit. A handler without hooks of its own (in a library) that forks by _Fork, clone3 or a system call of its own, and
// whose child neither ends nor calls profiled functions but returns into a hook, is not covered.

namespace {

// Of a process and its children, newest first. Copied by fork like any memory of a program.
struct Memory {
  char* start;
  uint64_t size;
};
constexpr int kGenerations = 2;
Memory zeros[kGenerations], areas[kGenerations];

void keep(Memory* kept, Memory newest) {
  const Memory oldest = kept[kGenerations - 1];
  if (oldest.start) unmap_memory(oldest.start, oldest.size);
  for (int i = kGenerations - 1; i > 0; --i) kept[i] = kept[i - 1];
  kept[0] = newest;
}

}  // namespace

bool is_of_parent(State* s) { return s->top == 0 && s->base == nullptr && s->is_left == 0; }

void leave_parent(State* s) {
  leave_block_counters_of_parent();
  leave_trace_of_parent();
  const bool is_area_whole = !uses_cpu_clock() || leave_sign(s);
  if (const auto [base, size] = bequeathed(); base) {
    const Memory all = {base - kPage, kPage + size + kRoomAfterMapping};
    const int64_t at = syscall6(__NR_mmap, as_word(all.start), all.size, kProtectNone,
                                kMapPrivate | kMapAnonymous | kMapNoReserve | kMapFixedNoReplace, uint64_t(-1), 0);
    if (at == int64_t(as_word(all.start)) && open_memory(base, all.size - 2 * kPage)) {
      keep(zeros, all);
    } else if (!is_error(at)) {
      unmap_memory(reinterpret_cast<void*>(at), all.size);  // a kernel that does not know the flag
    }
    forget_bequest();
    const uint64_t left_out = is_area_whole ? 0 : 2 * kPage;  // the page of the sign and the one before it
    keep(areas, {area_of(s) + left_out, kAreaSize - left_out});
  }
  if (zeros[0].start) {
    char* base = zeros[0].start + kPage;
    char* after = zeros[0].start + zeros[0].size - kRoomAfterMapping;
    auto* chunk = reinterpret_cast<FrameChunk*>(after + kLargeChunkOffset);
    chunk->stack = Block((after + kLargeChunkOffset - base) >> PROF_BLOCK_SHIFT);
    chunk->capacity = kFramesInLargeChunk;
    frames_of(chunk)->flags = kBase;
    frames_of(chunk)->slot = kSlotTag;
    s->base = base;
    s->thread = reinterpret_cast<Thread*>(after + kPage);
    s->table = reinterpret_cast<Link*>(after + kPage + kPage / 2);
    s->top = as_top(s, frames_of(chunk));
  }
  stop_watching(s);
  s->is_left = 1;
  advise(s, kPage, kAdviseKeepOnFork);
  set_state(nullptr);
}

}  // namespace libprof
