// The problem. Each basic block of the program writes its number into a file, hundreds of millions of times per second,
// with a few instructions of its own and without a system call. A signal's handler may come between any two of these, and
// its blocks write, too; it may leave by siglongjmp. Nothing may be lost when the process is killed, nor when the file
// grows; and the program must not notice that the disk is full.
//
// The way taken. A thread writes into a WINDOW, a part of the file that is mapped into memory. Two words of its own say
// where the next record goes (the cursor) and where the window is full (the limit). It finds them by the base of the
// segment gs, as it does its counters (block_counters.cc). A record's place is taken by one instruction (xadd), which adds
// its length to the cursor. So what a handler writes comes before or behind, and the place that was taken stays taken.
// The place is filled a few instructions later; until then it is 0, which readers pass over.
//
// Full windows. A record whose place is at the limit or behind it calls trace_full, which maps the next window, with all
// signals blocked, and sets cursor and limit. Behind the limit there is room for some more records (kSlack), so the place
// that was taken is good: the record is written there. The program may have been interrupted between taking a place and
// comparing it with the limit, and the handler may have gone on to other windows. Then the comparison says anything. If it
// says "full", trace_full finds that there is room, and nothing happens. If it does not, the record is written to the
// window that it has a place in. So windows stay mapped as long as a place in them is not filled.
//
// What is not there yet. Before the runtime has begun, and in a forked child, both words are 0 (the pages are
// MADV_WIPEONFORK). Then the first record calls trace_full, and its place, an address near 0, is exchanged for a good one.
// The windows themselves are inherited by children: if one goes on in a record of its parent's, it writes what the parent
// writes there as well.
//
// When there is no place: the limit that the user has set is reached, the disk is full, the file cannot be opened any more.
// Then the trace has an end that says why, and what follows is written to the SINK, memory that nobody reads.
//
// With profld --trace=memory, records have values, whose number is in their words (format/trace.h). The code that writes them
// asks a third word whether it may read the base of fs.
//
// Limits. A new thread has its parent's words until it comes to its first hook, which is before its first record, but for
// code that has records and no hooks. Handlers of SIGTRAP and SIGSYS that come while a window is being mapped write behind
// the limit; what does not fit is lost.

#include "trace.h"

#include "file.h"
#include "gs_base.h"
#include "libprof/format/trace.h"
#include "libprof/format/trace_segment.h"
#include "memory.h"
#include "modules.h"
#include "namespaces.h"
#include "process.h"
#include "settings.h"
#include "shadow_stack.h"
#include "syscall.h"
#include "text.h"
#include "threads.h"
#include "trace_file.h"

namespace libprof {

namespace {

using prof_format::TraceChunk;
using prof_format::TraceProgram;
using prof_format::TraceWords;

constexpr uint64_t kFirstWindow = uint64_t(64) << 10, kLargestWindow = uint64_t(4) << 20;  // bytes
constexpr uint64_t kSlack = 16 * 1024;    // bytes behind the limit, for records of interrupted code and of handlers
constexpr uint64_t kMostOldWindows = 64;  // that are remembered; more of them stay mapped for ever
constexpr uint64_t kMostFree = 64;        // parts of the file that are remembered to be used again
constexpr uint64_t kWindowsOfRing = 4;    // that make up what is kept; one more is being written
constexpr uint64_t kSinkSize = 16 * 1024, kSinkSlack = 4 * 1024;
constexpr uint64_t kNoPlace = 1 << 20;  // below this, an address is what was added to a cursor that was 0

struct Window {
  TraceWindow memory;
  uint64_t end;  // address behind the last place that was taken
};
struct FreePart {
  uint64_t offset, size;
};

// A thread's page of private memory, wiped in forked children.
struct Area {
  TraceWords words;
  Area* self;  // null: not begun
  uint32_t is_sink;
  uint32_t old_count;
  uint64_t next_size;
  uint64_t sequence;
  uint32_t free_count;
  uint32_t windows;  // taken from the file so far
  Window current;    // start is null: none
  Window old[kMostOldWindows];
  FreePart free[kMostFree];  // PROFLAST: the oldest first
};
static_assert(sizeof(Area) <= kPage);

// Copied by fork like any memory of a program.
Area* program_area;  // null: the program is not traced
uint32_t first_is_taken;

// Of threads that have nothing else. They share it: what they write there has no meaning.
Area sink_area;
alignas(16) char sink[kSinkSize];

const TraceProgram* traced_program() {
  return reinterpret_cast<const TraceProgram*>(reinterpret_cast<char*>(program_area) +
                                               prof_format::kTraceProgramOffset);
}

void use(Area* a) { set_gs_base(as_word(a) - as_word(program_area)); }

// The calling thread's; null if it has not begun.
Area* own_area() {
  if (!program_area) return nullptr;
  Area* self;
  asm volatile("mov %%gs:(%1), %0" : "=r"(self) : "r"(&program_area->self) : "memory");
  return self;
}

void write_to_sink(Area* a) {
  note_untraced();
  a->self = a;
  a->is_sink = 1;
  store(&a->words.cursor, as_word(sink));
  store(&a->words.limit, as_word(sink) + kSinkSize - kSinkSlack);
}

template <class Word>
bool has_no_zero(uint64_t start, uint64_t end) {
  for (; start < end; start += sizeof(Word))
    if (*reinterpret_cast<const Word*>(start) == 0) return false;
  return true;
}

// The same of records with values, which may be 0.
bool are_records_whole(uint64_t start, uint64_t end) {
  while (start < end) {
    const uint32_t word = *reinterpret_cast<const uint32_t*>(start);
    const uint32_t values = word >> prof_format::kRecordValuesShift & prof_format::kMostRecordValues;
    if (word == 0 || (values != 0 && (word & prof_format::kRecordIsWhole) == 0)) return false;
    start += sizeof word + values * sizeof(uint64_t);
  }
  return true;
}

// Whether all places in the window that were taken are filled.
bool is_filled(const Window& w, const TraceProgram& program) {
  const uint64_t start = as_word(w.memory.start) + sizeof(TraceChunk);
  if (program.has_memory) return are_records_whole(start, w.end);
  return program.word_size == sizeof(uint16_t) ? has_no_zero<uint16_t>(start, w.end)
                                               : has_no_zero<uint32_t>(start, w.end);
}

void unmap_filled(Area* a) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < a->old_count; ++i) {
    const Window w = a->old[i];
    if (is_filled(w, *traced_program())) {
      unmap_memory(w.memory.start, w.memory.size);
      if (a->free_count < kMostFree) a->free[a->free_count++] = {w.memory.offset, w.memory.size};
    } else {
      a->old[kept++] = w;
    }
  }
  a->old_count = kept;
}

// The window has been left for another: records are still being written to it.
void set_current_aside(Area* a) {
  if (!a->current.memory.start) return;
  Window w = a->current;
  const uint64_t end = as_word(w.memory.start) + w.memory.size, cursor = load(&a->words.cursor);
  w.end = cursor < end ? cursor : end;
  if (a->old_count < kMostOldWindows) a->old[a->old_count++] = w;
  a->current = {};
}

bool is_in(const Window& w, uint64_t place, uint64_t length) {
  const uint64_t start = as_word(w.memory.start);
  return start != 0 && place >= start && place + length <= start + w.memory.size;
}

bool is_place(const Area* a, uint64_t place, uint64_t length) {
  if (is_in(a->current, place, length)) return true;
  for (uint32_t i = 0; i < a->old_count; ++i)
    if (is_in(a->old[i], place, length)) return true;
  return false;
}

// Twice as large as the one before.
TraceWindow larger_window(Area* a) {
  a->free_count = 0;
  const TraceWindow window = take_trace_window(a->next_size ? a->next_size : kFirstWindow);
  a->next_size = 2 * window.size < kLargestWindow ? 2 * window.size : kLargestWindow;
  return window;
}

// The oldest one again if there are enough.
TraceWindow window_of_ring(Area* a) {
  uint64_t size = settings.trace_last / kWindowsOfRing / kPage * kPage;
  if (size < kFirstWindow) size = kFirstWindow;
  if (size > kLargestWindow) size = kLargestWindow;
  if (a->windows * size >= settings.trace_last + size && a->free_count != 0) {
    const FreePart oldest = a->free[0];
    --a->free_count;
    for (uint32_t i = 0; i < a->free_count; ++i) a->free[i] = a->free[i + 1];
    const TraceWindow window = take_trace_window_again(oldest.offset, oldest.size);
    if (window.start) return window;
  }
  ++a->windows;
  return take_trace_window(size);
}

// Heavy. The next window for the thread, if it needs one.
uint64_t next_window(State* s, uint64_t) {
  auto* a = reinterpret_cast<Area*>(s->counters);
  if (a->is_sink || load(&a->words.cursor) < load(&a->words.limit)) return 1;
  unmap_filled(a);
  set_current_aside(a);
  const auto [start, size, offset] = settings.trace_last != 0 ? window_of_ring(a) : larger_window(a);
  if (!start) {
    write_to_sink(a);
    return 1;
  }
  auto* chunk = reinterpret_cast<TraceChunk*>(start);
  chunk->kind = prof_format::kChunkBlocks;
  chunk->word_size = uint8_t(traced_program()->word_size);
  chunk->process = uint32_t(process_id());
  chunk->thread = uint32_t(s->tid);
  chunk->stored = chunk->size = size - sizeof *chunk;
  chunk->module = kTracedModule;
  chunk->sequence = ++a->sequence;
  ordered();
  chunk->magic = prof_format::kChunkMagic;
  a->current = {{start, size, offset}, 0};
  ordered();
  store(&a->words.cursor, as_word(chunk + 1));
  store(&a->words.limit, as_word(start) + size - kSlack);
  return 1;
}

// Another place, for a record that has none.
uint64_t take_place(Area* a, uint64_t length) {
  uint64_t place = length;
  asm volatile("xadd %0, %1" : "+r"(place), "+m"(a->words.cursor) : : "cc", "memory");
  return is_place(a, place, length) ? place : as_word(sink);
}

}  // namespace

// Called by the code of a record whose place is not in front of the limit. `place`: what it took; to be changed if that is
// none. `length`: bytes.
extern "C" [[gnu::visibility("hidden")]] void trace_full(uint64_t* place, uint64_t length) {
  if (distance_to_first != 0) return in_first(trace_full)(place, length);
  Area* a = own_area();
  if (a && a->is_sink) {
    store(&a->words.cursor, as_word(sink));
    *place = as_word(sink);
    return;
  }
  char here;
  State* s = get_state();
  if (!s || load(&s->top) == 0 || s->is_left) s = begin_thread(as_word(&here));
  if (!s || s->counters == 0) {
    *place = as_word(sink);
    if (!program_area) find_program_trace();
    if (!program_area) return;
    write_to_sink(&sink_area);
    use(&sink_area);
    return;
  }
  run_heavy(s, next_window, 0);
  a = reinterpret_cast<Area*>(s->counters);
  if (a->is_sink)
    *place = as_word(sink);
  else if (*place < kNoPlace || !is_place(a, *place, length))
    *place = take_place(a, length);
}

void find_trace_segment(const Elf64_Phdr* headers, uint64_t count, uint64_t bias) {
  for (uint64_t i = 0; i < count; ++i)
    if (headers[i].p_type == prof_format::kTraceSegment)
      program_area = reinterpret_cast<Area*>(bias + headers[i].p_vaddr);
}

bool has_trace() { return program_area != nullptr; }

void begin_trace() {
  if (!program_area) return;
  process->owns_counters = 1;
  syscall6(__NR_mmap, as_word(program_area), kPage, kProtectReadWrite, kMapPrivate | kMapAnonymous | kMapFixed,
           uint64_t(-1), 0);
  advise(program_area, kPage, kAdviseWipeOnFork);
  first_is_taken = 0;
  create_trace(*traced_program());
}

void begin_trace_of_thread(State* s) {
  if (!program_area) return;
  auto* a = reinterpret_cast<Area*>(s->counters);
  if (!a && __atomic_exchange_n(&first_is_taken, 1u, __ATOMIC_ACQ_REL) == 0) a = program_area;
  if (!a) {
    a = static_cast<Area*>(map_guarded(kPage));
    if (a && advise(a, kPage, kAdviseWipeOnFork) != 0) a = nullptr;
  }
  if (!a) {
    a = &sink_area;
    write_to_sink(a);
  }
  if (!a->is_sink) {  // a window of the thread that had the area before is not this one's
    set_current_aside(a);
    a->words = {0, 0, may_read_segments()};
    a->sequence = 0;
    a->self = a;
  }
  s->counters = as_word(a);
  use(a);
}

void leave_trace_of_parent() {
  if (!program_area || (process && process->owns_counters)) return;
  set_gs_base(0);
}

void end_trace() {
  if (program_area && process->owns_counters) end_trace_file();
}

}  // namespace libprof
