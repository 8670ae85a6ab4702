// The private state of the runtime: the data of one thread and of one process that lie outside the profile. How a
// thread's memory is laid out: at the end; its frames, in the profile: frames.h.
//
// Terms. The MAPPING is prof.<pid>, mapped shared; it holds nodes and frames (format.h). The STATE is one page of
// private memory per thread, found through the one thread-local word `libprof_state`; it says where the thread is in
// the mapping. The PROCESS is one page of private memory per process. Both pages are marked MADV_WIPEONFORK, so
// that in a forked child they are zero, and zero means "not begun".
//
// Three kinds of code. FAST paths are the hooks themselves (hooks.S): a few dozen instructions, no call. SLOW paths
// (shadow_stack.cc, stack_switch.cc, tail_calls.cc, the look-up in tree.cc) run on the program's stack with signals
// enabled; they need little stack and are written so that a signal handler may run hooks between any two instructions.
// HEAVY paths (everything that makes system calls, takes a lock or needs stack) run on a stack of the thread's own,
// below its state, with all signals blocked but SIGTRAP and SIGSYS; a hook that a handler of these runs there finds
// State::is_busy.
//
// Compiled with -ffreestanding -fno-exceptions -fno-rtti -mgeneral-regs-only -fno-stack-protector
// -fno-threadsafe-statics -fPIC -fvisibility=hidden, linked with -nostdlib: see `sources`.

#ifndef LIBPROF_STATE_H
#define LIBPROF_STATE_H

#include "libprof/format/format.h"

#ifndef __ASSEMBLER__
#include "libprof/kernel/memory.h"
#include "libprof/kernel/words.h"
#endif

// Offsets in State that the hooks use; checked below.
#define STATE_TOP 0
#define STATE_BASE 8
#define STATE_THREAD 16
#define STATE_TABLE 24
#define STATE_BARRIER 32
#define STATE_AWAY 40
#define STATE_SIGN 48
#define STATE_EXPECTED 56
#define STATE_UNTIL_LOOK 64

// Offsets in Link, an entry of the table of children.
#define LINK_PC 0
#define LINK_PARENT 8
#define LINK_CHILD 12
#define LINK_SIZE 16
#define TABLE_MASK (-8)

// Multipliers of the hash of (parent, pc).
#define HASH_PARENT 0x2545F491
#define HASH_MIX 0x1B873593
#define HASH_SHIFT 16

// Links that a hook looks at itself. The slow path looks at more.
#define MOST_PROBES 1024

// A time stamp that is less than this many cycles after the thread's last one counts as equal to it.
#define SMALLEST_SETBACK (1 << 24)

// If nothing reports switches, we ask the kernel when this many cycles have passed since the last hook (switches.cc).
#define LONGEST_UNASKED (1 << 15)

#ifndef __ASSEMBLER__

namespace libprof {

using prof_format::Block;
using prof_format::Frame;
using prof_format::FrameChunk;
using prof_format::Header;
using prof_format::Module;
using prof_format::Node;
using prof_format::Thread;

inline constexpr uint64_t kBlocksPerPage = kPage / PROF_BLOCK_SIZE;

// An entry of a thread's table of children: calling `pc` from node `parent` leads to node `child`, which is a child of
// it or the ancestor that the call was folded onto. An empty entry has pc 0. The 64-bit word of parent and child is
// stored last and at once, so an entry that is being written matches nothing.
struct Link {
  uint64_t pc;
  Block parent;
  Block child;
};
static_assert(sizeof(Link) == LINK_SIZE && offsetof(Link, pc) == LINK_PC);
static_assert(offsetof(Link, parent) == LINK_PARENT && offsetof(Link, child) == LINK_CHILD);

// Blocks that a thread has been given for nodes.
struct NodeSupply {
  uint64_t range;     // the next block in the low half, the end in the high half
  uint64_t taken;     // blocks given so far
  uint64_t is_empty;  // there will be no more
};

inline uint64_t block_range(uint64_t first, uint64_t end) { return end << 32 | first; }
inline uint64_t first_of(uint64_t range) { return uint32_t(range); }
inline uint64_t end_of(uint64_t range) { return range >> 32; }
inline uint64_t blocks_in(uint64_t range) { return end_of(range) - first_of(range); }

inline constexpr uint64_t kKnownPages = 256;

struct Usage {  // struct rusage, getrusage(2)
  uint64_t times_and_sizes[16];
  uint64_t voluntary_switches, involuntary_switches;
};

// What the clocks said: the counter and a thread's time at `now`, and CLOCK_MONOTONIC right after. 0: the kernel does
// not say.
struct ClockReading {
  uint64_t cpu, now, ns;
  bool is_of_one_moment;
};

struct State {
  uint64_t top;  // address of the top Frame - address of this State; 0: the thread has not begun
  char* base;    // the mapping
  Thread* thread;
  Link* table;  // the word before it (TABLE_MASK) is its size in bytes - LINK_SIZE
  // Slots below this are not on the stack that the thread is on; 0 if no other stack is known. See stack_switch.cc.
  uint64_t barrier;
  // The thread's clock, see cpu_clock.cc and switches.cc.
  uint64_t away;      // cycles that the thread has been off its processor
  const char* sign;   // eight bytes that change when it is taken off one
  uint64_t expected;  // what they are as long as `away` is right
  // Of hooks that leave: how many calls are to end before the one that is looked at; and how many calls there were
  // about of functions that they stay in, since when, by the counter.
  uint32_t until_look, reserved;
  uint64_t stays, stays_since;
  uint64_t waiting_given;               // of `away`, to nodes
  uint64_t tsc_at_start, cpu_at_start;  // of the clock; cycles, ns
  uint64_t blocked, preempted;          // how often it gave up its processor, and was taken off it
  uint64_t asked;                       // while the kernel is asked: how many hooks wanted to; else 0
  ClockReading reading;                 // what it answered, which is too large for the program's stack
  Usage usage;                          // the same

  NodeSupply nodes;    // for new contexts
  NodeSupply reserve;  // for functions, when there is no room for more contexts
  uint64_t spare;      // a range as in NodeSupply, for handlers that come while a supply is about to be filled up
  uint64_t nodes_made;
  uint64_t table_used;     // links in the table
  uint64_t table_is_full;  // it could not grow, so some children are not in it
  Block root;
  Block first_stack;  // list of the first FrameChunks of all stacks of the thread
  // Of these, see known_stacks.cc:
  Block thread_stack;                 // the thread's own
  Block signal_stacks;                // list through FrameChunk::next_signal_stack
  Block unused_stacks;                // list through FrameChunk::next_unused
  Block next_small_chunk;             // in the same page as the newest; 0: there is none
  Block emptied_stack;                // one that had no frames when the thread left it; 0: none is known
  uint32_t stacks_listed;             // in the index
  uint32_t look_at_stacks;            // when there are so many, it is time to look which of them are gone
  Block index, free_index_pages;      // see stack_index.cc
  uint32_t stack_changes;             // of what the index holds, and of which of these have frames
  Block recent_stacks;                // table: where stacks were found, see known_stacks.cc
  Block latest_coroutine;             // the one that the thread went to last
  uint32_t is_in_order;               // that was the one that was expected
  uint64_t below_thread_stack;        // the next upper end below that of the thread's own,
  uint32_t below_thread_stack_is_of;  // and when it was found out
  uint64_t module_start, module_end;  // the module that the last new node's pc lay in
  int32_t tid;
  uint64_t entering_at;               // where on the program's stack a heavy path is being entered, or the clock asked
  uint32_t is_busy;                   // on a heavy path
  uint32_t is_left;                   // by a forked child, which has another state: see threads.h
  uint32_t has_folded;                // some call was folded onto an ancestor
  uint64_t refused;                   // requests for a chunk of frames since there was no room for one
  uint64_t random;                    // of the generator in times.cc; not 0
  int32_t timer;                      // number + 1 of the one in sampling.cc; 0: none
  uint64_t known_pages[kKnownPages];  // see objects.h
  // Address of its counters of blocks (block_counters.cc) or of its place in the trace (trace.cc); 0: none.
  uint64_t counters;
  State* next;  // list of all states of the process
};
static_assert(offsetof(State, top) == STATE_TOP && offsetof(State, base) == STATE_BASE);
static_assert(offsetof(State, thread) == STATE_THREAD && offsetof(State, table) == STATE_TABLE);
static_assert(offsetof(State, barrier) == STATE_BARRIER);
static_assert(offsetof(State, away) == STATE_AWAY && offsetof(State, sign) == STATE_SIGN);
static_assert(offsetof(State, expected) == STATE_EXPECTED);
static_assert(offsetof(State, until_look) == STATE_UNTIL_LOOK);
static_assert(sizeof(State) <= kPage);

struct Process {
  uint32_t lock;
  uint32_t phase;          // enum Phase
  char* base;              // the mapping; null until there is one
  uint64_t bound;          // blocks the mapping has room for
  uint64_t length;         // blocks the file has
  uint64_t mapped;         // blocks that are mapped, perhaps beyond the file's end
  uint64_t ready;          // blocks, from the start of the file, that are backed by storage
  uint64_t device, inode;  // of the file
  State* states;
  State* look_for_ended;  // where to go on looking for states of ended threads
  uint32_t can_populate;  // the kernel knows MADV_POPULATE_WRITE
  uint32_t begin_lock;
  uint32_t counters_lock;  // for block_counters.cc
  uint32_t text_lock;
  uint32_t increments_lock;  // for libraries.cc
  uint32_t is_private;       // the mapping is not of the file, which has no shared mappings
  uint32_t is_reserved;      // address space after it, for all blocks that it may ever have
  uint32_t owns_counters;    // of blocks, or the trace: those in memory are not its parent's
  char path[kPage - 128];    // absolute
};
static_assert(sizeof(Process) <= kPage);

enum Phase : uint32_t { kNotBegun = 0, kRecording = 1, kOff = 2 };

extern Process* process;
// What stands for the state of a thread that could not be given one. Its top is 0 for ever.
State* no_state();

// In assembler: hooks.S says where. Hidden: their addresses need no relocation, so they are right in a static program
// from its first instruction.
#pragma GCC visibility push(hidden)
extern "C" {
State* get_state();
void set_state(State* state);
int64_t thread_word_offset();  // of libprof_state from the thread pointer; negative
uint64_t run_on_stack(char* stack_top, uint64_t (*function)(State*, uint64_t), State* state, uint64_t argument);
}
#pragma GCC visibility pop

template <class T>
inline T* at(char* base, Block block) {
  return reinterpret_cast<T*>(base + (uint64_t(block) << PROF_BLOCK_SHIFT));
}
inline Node* node_at(State* s, Block block) { return at<Node>(s->base, block); }
inline Block block_of(State* s, const void* p) {
  return Block(uint64_t(static_cast<const char*>(p) - s->base) >> PROF_BLOCK_SHIFT);
}

// Each thread has an area of private memory (memory.h):
//
//     a page that is inaccessible
//     the page of a perf event (switches.cc), else inaccessible
//     its stack for heavy paths
//     the State, one page
//     tables of children, as they grow: 256, 512, ... 4096 links, each after a page that holds its mask (tree.cc)
//     a page that is inaccessible, as is what is not yet used of the room for tables
inline constexpr uint64_t kPrivateStackSize = 15 * kPage;
inline constexpr uint64_t kBelowState = 2 * kPage + kPrivateStackSize;
inline constexpr uint64_t kFirstTable = 256;  // links
inline constexpr uint64_t kTableOffset = kPage;
inline constexpr uint64_t kFirstTableSize = kTableOffset + kFirstTable * sizeof(Link);
inline constexpr uint64_t kRoomForTables = 5 * kTableOffset + (1 + 2 + 4 + 8 + 16) * kFirstTable * sizeof(Link);
inline constexpr uint64_t kAreaSize = kBelowState + kPage + kRoomForTables + kPage;

inline char* private_stack_top(State* s) { return reinterpret_cast<char*>(s); }
inline char* area_of(State* s) { return reinterpret_cast<char*>(s) - kBelowState; }

// An area for a thread, its State wiped in forked children like all of it. Null if there is no memory.
State* map_area();
void unmap_area(State* s);

}  // namespace libprof

#endif  // __ASSEMBLER__

#endif
