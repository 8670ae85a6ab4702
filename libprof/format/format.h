// The format of prof.<pid>, described for readers in prof(5).
//
// The file is the runtime's memory: it is mapped shared while the program runs, so it is complete at every instant,
// whatever ends the process. Everything in it lives in blocks of 64 bytes, and everything is referred to by block
// number (`Block`, offset in the file = number * 64), because every process maps the file at another address.
// Block 0 starts the header; the number 0 therefore means "none".
//
//   Header ──> Module ──> Module ...       what was mapped where, to turn program counters into symbols later
//      └─────> Thread ──> Thread ...       one tree and one shadow stack each
//                 ├─> Node (root) ──> Node ...      the calling context tree
//                 ├─> Node (root) ──> Node ...      kSample: the addresses that samples found
//                 └─> FrameChunk ──> FrameChunk ... the frames that are open, bottom first
//      └─────> Counters ──> Counters ...  of profld -b: executions of basic blocks (blocks.h)
//      └─────> Skeleton ──> Skeleton ... of the files of modules, appended later by prof run
//
// Time. A node holds SELF cycles. Each hook gives the time since the thread's last hook to the node that ran since, in
// two instructions: Thread.last_tsc becomes the time stamp, and the difference is added to the node (hooks.S says why
// signal handlers cannot upset that). What the runtime itself took, when a hook had more to do than to count and to
// time, is nobody's, and is added to Node::own_cycles of the root. So these and the cycles of a thread's nodes add up
// to last_tsc - tsc_start. What the thread ran after last_tsc, up to its end or to the time of reading, belongs to the
// node of its top frame, and readers add it. Inclusive time is the sum over the subtree.
//
// Time on a processor. With kTime, kCpu and kAdaptive a thread's stamps are not those of the counter but the counter
// less the cycles that the thread was off the processor since its first hook (Thread::away as of when the kernel was
// asked last), so they begin at Thread::tsc_start like the others and fall behind from there, differently in each
// thread. All of the above holds for them, but that only the kernel knows what a thread has had of the processor since
// its last hook: when the process ends by itself, it is asked, for all threads, and Thread::end is the answer; of a
// running thread readers ask. The header's stamps are those of the counter in every type.
//
// Waiting. With kTime and kCpu a node holds, beside its cycles, those in which the thread was off the processor while
// the node was running: of its own wish (it slept, or waited for a lock, for data, for a child), or because another
// thread got the processor. A stretch of time in which both happened counts as the first. They add up to Thread::away.
//
// Durations. With kTime, kCpu and kElapsed, and hooks that leave, the calls of a function that have ended are also
// counted by how long they lasted, by the counter, in Node::durations: waiting included, and without what the hooks
// took meanwhile, as far as their cost is known (Thread::hook_cycles). A function that ends with a tail call lasts
// until that. All nodes of a function in a thread refer to the same Durations, with few exceptions, and so do those of
// threads that ran one after the other. The first few of a function that has none yet are in a list of the thread's,
// Thread::logged_durations.
//
// Order. Nodes are allocated in order of first call, so siblings sorted by block number stand in that order. The same
// (parent, pc) may occur twice among siblings (a signal handler made the call that the code it interrupted was just
// entering): readers add such nodes up.
//
// Interrupted stores. A process may be killed between any two instructions of a hook, and a signal handler may leave
// one with siglongjmp. The time since the hook before is lost when that happens between the two instructions that give
// it to a node; so the sum may be less than last_tsc - tsc_start, but not more, unless the counter was set back.
//
// Estimated times. With kAdaptive every call is counted, but only some are timed, from entry to exit: the first
// kTimedFrom of each node, and then at random one in sampling_period(count). A timed call stands for itself and for
// those that follow up to the next one: they are its weight. A node holds sums over the timed calls d with weights w,
//
//   timed_cycles = sum of w d    timed_squares = sum of w (d / kSquareUnit)^2    next = sum of w
//
// where `next` (in the place of `cycles`) is the number of calls before the one to be timed next. So the inclusive time
// of all calls is timed_cycles * count / next, but for calls that have not returned: those that are timed are known by
// their frames. A call that was folded onto an ancestor that is still open counts as one that takes no time,
// because the ancestor's includes it.
//
// Samples. With kSample every call is counted, and each time a thread has had a processor for Header::sample_period, it
// is looked at where it is. What it does then is the node's own (`samples`), or the node waits for a library or the
// kernel to do it. A thread that was in the hooks gets no sample, but they are counted (Thread::hook_samples). All of
// them together, times the period, are the time that the thread had a processor. Some come at once, when they could not
// be taken at their time; the node that gets them then also gets the square of how many these are (`sample_squares`),
// and the sum of these squares, of all three kinds of samples together, is about the variance of their number.
//
// Histogram. With kSample a thread has a second root, Thread::addresses. Its children are one for each address, in a
// file that calls hooks, at which a sample found the thread outside the kernel; so their `samples` add up to those of
// the tree of calls, but for those that found no room, which are in that root's own `samples`.
//
// With kAddresses there are no hooks. The nodes are children of the root, one for each address that a sample found,
// with the samples taken there as in kSample: in kernel_samples those in the kernel, from a system call in front of the
// address, in `samples` all others. Or there are hooks that take durations, and leave functions whose calls are short
// (libprof/hooks/leaving.cc): then Thread::addresses is the root of these nodes, and the tree of calls, whose counts
// are of what the hooks saw, is there for its durations alone.
//
// All integers are little-endian. The writer is libprof; the readers (prof) trust nothing in it.

#ifndef LIBPROF_FORMAT_FORMAT_H
#define LIBPROF_FORMAT_FORMAT_H

#define PROF_BLOCK_SHIFT 6
#define PROF_BLOCK_SIZE 64

// Offsets that assembly needs; checked against the structures below.
#define PROF_NODE_PC 0
#define PROF_NODE_COUNT 8
#define PROF_NODE_CYCLES 16
#define PROF_NODE_PARENT 24
#define PROF_NODE_CHILD 28
#define PROF_NODE_SIBLING 32
#define PROF_NODE_LAST 36
#define PROF_NODE_NEXT PROF_NODE_CYCLES
#define PROF_NODE_DURATIONS 56
#define PROF_NODE_SHORT 60

// Bits of Node::pc: the function was reached by a tail call; by one whose end had to be found out.
#define PROF_TAIL_BIT 63
#define PROF_SOUGHT_BIT 62

#define PROF_FRAME_SLOT 0
#define PROF_FRAME_NODE 8
#define PROF_FRAME_FLAGS 12
#define PROF_FRAME_START 16
#define PROF_FRAME_SIZE 24

#define PROF_THREAD_LAST_TSC 64
#define PROF_THREAD_HOOK_CYCLES 104

#define PROF_DURATIONS_LEAST 0
#define PROF_DURATIONS_GREATEST 8
#define PROF_DURATIONS_OCTAVES 24
// Calls of less than 1 << this cycles are not told apart; each octave above has 1 << PROF_OCTAVE_SHIFT parts.
#define PROF_SHORT_CALL_SHIFT 8
#define PROF_OCTAVE_SHIFT 4

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

namespace prof_format {

using Block = uint32_t;  // number of a 64-byte block in the file; 0 is none

inline constexpr char kMagic[8] = {'\x7f', 'P', 'R', 'O', 'F', '\r', '\n', '\x1a'};
inline constexpr uint32_t kVersion = 5;
// That readers understand: it has no tail calls; 3 has no kSoughtCall; 4 no durations, and something else in their
// place.
inline constexpr uint32_t kOldestVersion = 2;
inline constexpr uint32_t kByteOrder = 0x01020304;

enum Type : uint32_t {
  kElapsed = 1,    // cycles: time-stamp counter
  kCount = 2,      // no time stamps: every `cycles` is 0
  kCpu = 3,        // as kTime; to be shown without what was waited
  kUser = 4,       // not used yet: user-mode cycles, rdpmc
  kSample = 5,     // counts exact, times on a processor from samples
  kAdaptive = 6,   // counts exact, times on a processor estimated
  kTime = 7,       // cycles on a processor, and apart from them those off it: the default
  kAddresses = 8,  // no calls; samples by address
};

enum HeaderFlags : uint32_t {
  kEnded = 1,      // the process told us that it ends (exit handlers ran): tsc_end is its end
  kTruncated = 2,  // the file could not grow (no room, file size limit, PROFSIZE): see lost and folded
  kPrivate = 4,    // no shared mapping was possible: written once, at exit
  // Of types whose clock is that of the processor:
  kShortWaitsUnseen = 8,  // nothing told of switches: waits of less than LONGEST_UNASKED cycles are in the cycles
  kWaitsUnseen = 16,      // the kernel answered no more: from some time on, all that was waited is in the cycles
  // kSample, kAddresses:
  kNotSampled = 32,     // a thread got no timer: it has no samples
  kSamplingEnded = 64,  // the signal, or what its handler needs, was taken away: there are no samples from then on
  kNoSampling = 128,    // the process got no signal: there are no samples
  // A static program set a thread pointer that leads to no room for the runtime's word: nothing was recorded from then
  // on.
  kGivenUp = 256,
  kNotToSample = 512,  // kAddresses: no samples were asked for; PROFTYPE=count
};

// Header::control: this bit, and above it the number of changes that prof ctl made to it since. The runtime always
// records; what was recorded while the bit was not set, or before it was told to begin anew, is for readers to leave
// out. When there were changes, a file beside the profile tells what that is: prof(5).
enum Control : uint32_t { kRecording = 1 };

// 384 bytes from offset 0; later versions may make it longer (header_size says).
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;   // kByteOrder
  uint32_t header_size;  // bytes
  uint32_t block_size;   // bytes: 64
  uint32_t type;         // enum Type
  uint32_t flags;        // enum HeaderFlags
  uint32_t pid;
  uint32_t parent_pid;
  uint32_t control;   // enum Control; changed from outside
  Block blocks_used;  // first block not yet allocated; grows
  Block first_module;
  Block first_thread;  // most recent thread first (list through Thread::next)
  Block command_line;  // command_line_size bytes of NUL-terminated arguments, as in /proc/self/cmdline
  uint32_t command_line_size;

  // Three pairs of stamps, each taken together: at start, at the last opportunity, and at the end if there was one.
  // hz = (tsc_last - tsc_start) / (ns_last - ns_start) when that spans long enough. Nanoseconds: CLOCK_MONOTONIC_RAW.
  uint64_t tsc_start, ns_start;
  uint64_t tsc_last, ns_last;
  uint64_t tsc_end, ns_end;
  uint64_t realtime_start;  // ns since the epoch

  // What an enter/exit pair adds to an empty call, in cycles * 256: to the callee's self time (between the two
  // time stamps) and to the caller's (before the first and after the second). Measured at the start, and if the program
  // ran long enough and ended by itself, the mean of that and of what was measured at the end.
  uint64_t probe_inside, probe_outside;

  uint64_t node_limit;     // PROFSIZE: most nodes, as long as each thread can have one for each of its functions
  uint64_t nodes;          // nodes made (approximate while threads run: counted per chunk)
  uint64_t lost;           // calls that could not be recorded in any node
  uint64_t folded_nodes;   // child links that were folded onto an ancestor because of a limit
  char boot_id[40];        // /proc/sys/kernel/random/boot_id, to compare stamps with today's; empty if unknown
  uint64_t start_time;     // field 22 of /proc/self/stat: tells this process from a later one with the same pid
  uint64_t probe_counted;  // kAdaptive: what a pair adds to a call that is not timed, cycles * 256
  // By how much the measurements of the three costs differed from each other: greatest less least, cycles * 256.
  uint64_t probe_inside_spread, probe_outside_spread, probe_counted_spread;
  // Time of all threads on a processor, CLOCK_PROCESS_CPUTIME_ID in ns, taken with ns_start and ns_end; 0 if unknown.
  uint64_t cpu_start, cpu_end;
  uint64_t sample_period;  // kSample: nanoseconds on a processor that a sample stands for
  Block first_skeleton;    // not the writer's: prof run stores it when the process is gone and the skeletons are there
  Block first_counters;    // of profld -b
  // What a tail call with kSoughtCall adds, cycles * 256: to the self time of the function jumped to (instead of
  // probe_inside), and to that of the function that jumps. And by how much measurements of these differed.
  uint64_t probe_sought_inside, probe_sought_outside;
  uint64_t probe_sought_inside_spread, probe_sought_outside_spread;
  uint64_t parent_start_time;  // of a process that was forked: start_time of the one that forked it, parent_pid; else 0
  Block no_durations;          // Durations of what found no room for its own; with its octave, for readers to leave out
  uint32_t reserved_word;
  uint64_t reserved[7];
};

// A mapped object file. `path_size` bytes of path (no NUL) follow the structure.
struct Module {
  Block next;
  uint32_t path_size;
  uint64_t bias;           // run-time address - address in the file
  uint64_t start, end;     // run-time addresses covered
  uint32_t build_id_size;  // bytes used of build_id; 0 if the object has none
  uint8_t build_id[28];
};

// What readers need of a module's file, so that they need not have the file: an ELF file without code and data
// (prof/read/skeleton.h). It is after all blocks that the process used. `packed_size` bytes, in zlib's format, follow
// the structure.
struct Skeleton {
  Block next;
  Block module;
  uint64_t packed_size;
  uint64_t size;  // bytes, unpacked
  uint64_t reserved[5];
};

// Of increments of counters in a file where they are locked only if they have to be (blocks.h).
inline constexpr uint64_t kLockedFromStart = 1;  // or later, and there was no room to note since when
inline constexpr uint64_t kLockFailed = 2;  // they had to be, and could not: some of what was counted may be missing

// Counters of basic blocks (libprof/format/blocks.h), those of one thread, or of several that ran one after the other;
// of a library, and of a program that uses gs, those of all threads. The executions of a block follow from the sums
// over all of these structures.
struct Counters {
  Block next;
  Block module;
  Block values;  // where `count` words begin, at the start of a page; those after the module's counters are 0
  // Where as many words begin, if increments became locked (blocks.h): what was counted by then; else 0.
  Block before_lock;
  uint64_t count;
  uint64_t lock;  // kLockedFromStart, or kLockFailed, or 0
  uint64_t reserved[4];
};

struct Thread {
  Block next;  // thread made before this one
  uint32_t tid;
  Block root;     // Node with pc 0: the parent of what had no caller
  Block frames;   // first FrameChunk of the stack it is on
  char name[16];  // NUL-padded; as it was at the end of the process, or when the thread last came upon new contexts
  uint64_t lost;  // calls of this thread that found no node
  uint64_t tsc_start;
  Block stacks;        // first FrameChunk of the newest of its stacks (list through FrameChunk::next_stack)
  Block addresses;     // of types with samples: the root above the addresses that these found, if it is not `root`
  uint64_t cpu_start;  // CLOCK_THREAD_CPUTIME_ID at tsc_start, ns; 0 if stamps are those of the counter
  // A cache line of its own, stored by each hook.
  uint64_t last_tsc;  // up to when its nodes have been given its time, a stamp of the thread's own clock
  uint64_t away;      // see above
  uint64_t end;       // stamp of the thread's own clock when the process ended; 0 if it did not live then
  union {
    // How often it was taken off its processor, of its own wish and without.
    struct {
      uint64_t blocked, preempted;
    };
    // Beside hooks that leave: what hook_samples and sample_signals are else.
    struct {
      uint64_t hook_samples_apart, sample_signals_apart;
    };
  };
  union {
    // kSample: how many found the thread in the hooks; kAddresses: how many found no room. They are in no node.
    uint64_t hook_samples;
    uint64_t hook_cycles;  // types with durations: what its hooks have taken, by their cost as it was measured
  };
  union {
    uint64_t sample_signals;  // the same: how many signals brought all the samples of the thread
    Block logged_durations;   // types with durations: of nodes that have none yet, the newest block first
  };
  uint64_t modules;  // for the runtime: see module_bit in libprof/file/modules.h
};

// A tail call is a jump to another function, for which the function that jumps has ended. The function jumped to has a
// node below that of the one that jumped, with this bit in its pc; so a function that is called and jumped to from the
// same place has two.
inline constexpr uint64_t kTailCall = uint64_t(1) << PROF_TAIL_BIT;

// With it: of a jump through a pointer, or to another file. The runtime looks for its end each time, so such a tail
// call costs more than others: Header::probe_sought_inside.
inline constexpr uint64_t kSoughtCall = uint64_t(1) << PROF_SOUGHT_BIT;
inline constexpr uint64_t kKindOfCall = kTailCall | kSoughtCall;

// One function in one calling context. Plan 9's Plink.
struct Node {
  uint64_t pc;  // return address of the function's call to _profin, and kKindOfCall; 0 in a root
  union {
    uint64_t count;       // calls
    uint64_t own_cycles;  // of a root: the runtime's, see above
  };
  union {
    uint64_t cycles;          // self cycles, see above; kCount: 0
    uint64_t next;            // kAdaptive, see above
    uint64_t sample_squares;  // kSample
  };
  Block parent;
  Block child;    // head of the list of children
  Block sibling;  // next in the parent's list
  Block last;     // the node entered last from here: a child, or an ancestor that a call was folded onto
  // kAdaptive: calls that were timed, and sums over them, see above. kTime, kCpu: cycles off the processor, of its own
  // wish and without. kTime, kCpu, kElapsed: durations. kSample: samples of the function itself, of libraries
  // that it called, and of the kernel at its system calls.
  union {
    uint64_t timed;
    uint64_t blocked_cycles;
    uint64_t hooks_left;  // kAddresses with hooks that leave: not 0 if they left the function when it was this node
    uint64_t samples;
  };
  union {
    uint64_t timed_cycles;
    uint64_t preempted_cycles;
    uint64_t library_samples;
  };
  union {
    uint64_t timed_squares;
    struct {
      Block durations;       // 0: none yet
      uint32_t short_calls;  // see Durations; as often as this is 0 again, 2^32 more are there
    };
    uint64_t kernel_samples;
  };
};

// How long the calls of a function lasted that have ended, in one thread; cycles.
struct Durations {
  uint64_t least, greatest;  // of those in octaves
  // Calls of less than 1 << PROF_SHORT_CALL_SHIFT cycles that are not in Node::short_calls.
  uint64_t short_calls;
  // By the highest bit of the cycles, from that one on: 0, or where an Octave is. Calls of kLongestDuration and more
  // count as that long.
  Block octaves[42];
};
struct Octave {
  uint64_t calls[1 << PROF_OCTAVE_SHIFT];  // by the bits of the cycles after the highest
};
// Durations one by one.
struct LoggedDurations {
  Block next;
  uint32_t used;       // of entries; those with node 0 are none
  struct alignas(8) {  // stored at once
    Block node;
    uint32_t duration;  // packed_duration
  } entries[7];
};
// Cycles as six bits, the number of the highest, and the 26 after it. 0: fewer than kShortestDuration.
inline constexpr uint32_t packed_duration(uint64_t cycles) {
  if (cycles < (1 << PROF_SHORT_CALL_SHIFT)) return 0;
  const int highest = 63 - __builtin_clzll(cycles);
  return uint32_t(highest) << 26 | uint32_t((cycles << (63 - highest)) << 1 >> 38);
}
inline constexpr uint64_t unpacked_duration(uint32_t packed) {
  if (packed == 0) return 0;
  return (uint64_t(1) << 63 | uint64_t(packed & 0x3ffffff) << 37) >> (63 - (packed >> 26));
}
inline constexpr uint64_t kShortestDuration = 1 << PROF_SHORT_CALL_SHIFT;  // cycles: shorter calls are not told apart
inline constexpr uint64_t kLongestDuration = (uint64_t(1) << (PROF_SHORT_CALL_SHIFT + 42)) - 1;  // cycles: five days

// A frame: a call that has not returned. `slot` is the address of the word below its return address (the stack pointer
// in its hooks); bit 0 of it is a mark of the writer's. A frame that is being pushed has slot 0, and so have all
// entries above the top; but entry 0 of a further chunk, a second copy of the last frame of the chunk before, may stay
// after. So the top is the last entry with a slot but for such copies. Entry 0 of a stack's first chunk is the base:
// it stands for the code that called into profiled code.
struct Frame {
  uint64_t slot;
  Block node;
  uint32_t flags;  // the writer's own; kAdaptive: from bit kWeightShift on the weight of a timed call, else 0
  // kAdaptive: time stamp at the entry of a timed call. With durations: the counter at the entry, less hook_cycles of
  // the thread then. Of a base, the writer's own.
  uint64_t start;
};

inline constexpr int kWeightShift = 8;
inline constexpr uint64_t kSquareUnit = 16;   // cycles
inline constexpr uint64_t kTimedFrom = 1000;  // calls of a node that are all timed

// After so many calls of a node, one in how many is timed: 1 up to kTimedFrom, then twice as many whenever the calls
// have doubled, up to 64, where the timed ones cost next to nothing. More would make it a matter of luck whether one
// in which the thread lost its processor is among them, and stands for a hundred others.
inline constexpr uint64_t sampling_period(uint64_t count) {
  uint64_t period = 1;
  for (uint64_t n = kTimedFrom; n <= count && period < 64; n *= 2) period *= 2;
  return period;
}

inline constexpr uint64_t kMaxChunk = 4096;  // bytes, with its frames

// Frames of one stack, `capacity` of them following this structure. Chunks of deep stacks are chained.
struct FrameChunk {
  Block next;         // chunk with the frames above these
  Block previous;     // chunk with the frames below these
  uint32_t capacity;  // frames
  Block stack;        // first chunk of this stack
  Block next_stack;   // first chunk of another stack of the same thread (signal stack, coroutine)
  // The writer's own, in the first chunk of a stack:
  uint32_t kind;
  uint64_t low, high;  // addresses of slots that belong to the stack
  union {
    uint64_t saved_top;       // where the top of this stack was when the thread left it
    Block next_signal_stack;  // signal stack: the one made before
  };
  union {
    uint64_t interrupted_top;  // signal stack: the top that was current when the signal came
    struct {                   // coroutine:
      Block next_unused;       // another stack that is to be used again
      uint32_t low_is_of;      // when `low` was found out
    };
  };
  uint64_t left_at;  // kAdaptive: time stamp of when the thread left this stack for another
};

static_assert(sizeof(Header) % PROF_BLOCK_SIZE == 0);
static_assert(sizeof(Node) == PROF_BLOCK_SIZE && sizeof(Thread) == 2 * PROF_BLOCK_SIZE);
static_assert(sizeof(Module) == PROF_BLOCK_SIZE && sizeof(Skeleton) == PROF_BLOCK_SIZE);
static_assert(sizeof(Counters) == PROF_BLOCK_SIZE);
static_assert(sizeof(FrameChunk) == PROF_BLOCK_SIZE && sizeof(Frame) == PROF_FRAME_SIZE);
static_assert(offsetof(Node, pc) == PROF_NODE_PC && offsetof(Node, count) == PROF_NODE_COUNT);
static_assert(offsetof(Node, next) == PROF_NODE_NEXT);
static_assert(offsetof(Node, cycles) == PROF_NODE_CYCLES && offsetof(Node, parent) == PROF_NODE_PARENT);
static_assert(offsetof(Node, child) == PROF_NODE_CHILD && offsetof(Node, sibling) == PROF_NODE_SIBLING);
static_assert(offsetof(Node, last) == PROF_NODE_LAST);
static_assert(offsetof(Frame, slot) == PROF_FRAME_SLOT && offsetof(Frame, node) == PROF_FRAME_NODE);
static_assert(offsetof(Frame, flags) == PROF_FRAME_FLAGS && offsetof(Frame, start) == PROF_FRAME_START);
static_assert(offsetof(Thread, last_tsc) == PROF_THREAD_LAST_TSC);
static_assert(offsetof(Node, durations) == PROF_NODE_DURATIONS);
static_assert(offsetof(Thread, hook_cycles) == PROF_THREAD_HOOK_CYCLES);
static_assert(sizeof(Durations) == 3 * PROF_BLOCK_SIZE && sizeof(Octave) == 2 * PROF_BLOCK_SIZE);
static_assert(sizeof(LoggedDurations) == PROF_BLOCK_SIZE);
static_assert(offsetof(Durations, least) == PROF_DURATIONS_LEAST);
static_assert(offsetof(Durations, greatest) == PROF_DURATIONS_GREATEST);
static_assert(offsetof(Node, short_calls) == PROF_NODE_SHORT);
static_assert(offsetof(Durations, octaves) == PROF_DURATIONS_OCTAVES);

}  // namespace prof_format

#endif  // __ASSEMBLER__
#endif
