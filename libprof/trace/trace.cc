// The problem. Each basic block of the program writes its number into a file, hundreds of millions of times per second,
// with a few instructions of its own and without a system call. A signal's handler may come between any two of these,
// and its blocks write, too; it may leave by siglongjmp. Nothing may be lost when the process is killed, nor when the
// file grows; and the program must not notice that the disk is full.
//
// The way taken. A thread writes into a WINDOW, a part of the file that is mapped into memory. Two words of its own say
// where the next record goes (the cursor) and where the window is full (the limit). It finds them by the base of the
// segment gs, as it does its counters (block_counters.cc). A record's code loads the cursor, which is the place, and
// adds its length to the cursor, which takes it (linker-rewrite/x86/record_code.h). The place is filled a few
// instructions later; until then it is 0, which readers pass over.
//
// Handlers. What a handler writes comes before or after what was taken by one addition. But if it comes between the
// load and the addition, the place that was loaded is the handler's, and another one was taken. So after the addition
// the code compares the cursor with the place that it knows. They match only if that is the one it took: between the
// two, handlers have only added to the cursor, or led it to a window where this place is still free. If they do not
// match, trace_full looks for the place. Handlers have come and gone, and filled all places of theirs. Those that the
// interrupted code below took before are not filled, but stand in front. So it is the end of the last piece that is not
// filled. (Or that a handler has left by siglongjmp: then the record takes this place, and the other one stays empty.)
//
// Full windows. A record whose place is at the limit or after it calls trace_full, which makes room: maps the next
// window, with all signals blocked, and sets cursor and limit. After the limit there is room for some more records
// (kSlack), so the place that was taken is good: the record is written there. The program may have been interrupted
// between taking a place and comparing it with the limit, and the handler may have gone on to other windows. Then the
// comparison says anything. If it says "full", trace_full finds the place as above. If it does not, the record is
// written to the window that it has a place in. So windows stay mapped as long as a place in them is not filled.
//
// What is not there yet. Before the runtime has begun, and in a forked child, both words are 0 (the pages are
// MADV_WIPEONFORK). Then the first record calls trace_full, and its place, an address near 0, is exchanged for a good
// one. The windows themselves are inherited by children: if one goes on in a record of its parent's, it writes what the
// parent writes there as well.
//
// Windows are used again, once they are large enough and all in them is filled: trace_drain.cc.
//
// When there is no place: the limit that the user has set is reached, the disk is full, the file cannot be opened any
// more. Then the trace has an end that says why, and what follows is written to the SINK, memory that nobody reads.
//
// With profld --trace=memory, records have values, whose number is in their words (format/trace.h). The code that
// writes them asks a third word whether it may read the base of fs.
//
// Limits. A new thread has its parent's words until it comes to its first hook, which is before its first record, but
// for code that has records and no hooks. Handlers of SIGTRAP and SIGSYS that come while a window is being mapped write
// after the limit; what does not fit is lost.

#include "trace.h"

#include "libprof/data/heavy.h"
#include "libprof/data/objects.h"
#include "libprof/data/settings.h"
#include "libprof/data/thread.h"
#include "libprof/format/trace.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "trace_drain.h"
#include "trace_file.h"

namespace libprof {

namespace {

using prof_format::TraceChunk;
using prof_format::TraceProgram;
using prof_format::TraceWords;

constexpr uint64_t kFirstWindow = uint64_t(64) << 10, kMaxWindow = uint64_t(512) << 10;  // bytes
constexpr uint64_t kMaxOfRing = uint64_t(4) << 20;
constexpr uint64_t kSlack = 16 * 1024;   // bytes after the limit, for records of interrupted code and of handlers
constexpr uint64_t kMaxOldWindows = 64;  // that are remembered; more of them stay mapped for ever
constexpr uint64_t kMaxFree = 64;        // parts of the file that are remembered to be used again
constexpr uint64_t kWindowsOfRing = 4;   // that make up what is kept; one more is being written
constexpr uint64_t kSinkSize = 16 * 1024, kSinkSlack = 4 * 1024;

struct Window {
  TraceWindow memory;
  uint64_t end;  // address after the last place that was taken
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
  Drain* drain;  // null: none yet
  uint32_t free_count;
  uint32_t windows;  // taken from the file so far
  Window current;    // start is null: none
  Window old[kMaxOldWindows];
  FreePart free[kMaxFree];  // PROFLAST: the oldest first
};
static_assert(sizeof(Area) <= kPage);

// Copied by fork like any memory of a program.
Area* program_area;  // null: the program is not traced
uint32_t first_is_taken;
uint64_t last_sequence;  // of windows

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

uint64_t start_of_records(const Window& w) { return as_word(w.memory.start) + sizeof(TraceChunk); }

void unmap_filled(Area* a) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < a->old_count; ++i) {
    const Window w = a->old[i];
    if (are_filled(*traced_program(), start_of_records(w), w.end)) {
      unmap_memory(w.memory.start, w.memory.size);
      if (a->free_count < kMaxFree) a->free[a->free_count++] = {w.memory.offset, w.memory.size};
    } else {
      a->old[kept++] = w;
    }
  }
  a->old_count = kept;
}

// After the last place that was taken in the current window.
uint64_t end_of_places(const Area& a) {
  const TraceWindow& window = a.current.memory;
  const uint64_t end = as_word(window.start) + window.size, cursor = load(&a.words.cursor);
  return cursor < end ? cursor : end;
}

// The window has been left for another: records are still being written to it.
void set_current_aside(Area* a) {
  if (!a->current.memory.start) return;
  Window w = a->current;
  w.end = end_of_places(*a);
  if (a->old_count < kMaxOldWindows) a->old[a->old_count++] = w;
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

TraceChunk new_chunk(const State* s) {
  TraceChunk chunk = {};
  chunk.magic = prof_format::kChunkMagic;
  chunk.kind = prof_format::kChunkBlocks;
  chunk.word_size = uint8_t(traced_program()->word_size);
  chunk.process = uint32_t(process_id());
  chunk.thread = uint32_t(s->tid);
  chunk.module = kTracedModule;
  return chunk;  // it holds nothing: its sequence is 0
}

// Twice as large as the one before.
TraceWindow larger_window(Area* a, const TraceChunk& chunk) {
  a->free_count = 0;
  const TraceWindow window = take_trace_window(a->next_size ? a->next_size : kFirstWindow, chunk);
  a->next_size = 2 * window.size < kMaxWindow ? 2 * window.size : kMaxWindow;
  return window;
}

// The oldest one again if there are enough.
TraceWindow window_of_ring(Area* a, TraceChunk chunk) {
  uint64_t size = settings.trace_last / kWindowsOfRing / kPage * kPage;
  if (size < kFirstWindow) size = kFirstWindow;
  if (size > kMaxOfRing) size = kMaxOfRing;
  if (a->windows * size >= settings.trace_last + size && a->free_count != 0) {
    const FreePart oldest = a->free[0];
    --a->free_count;
    for (uint32_t i = 0; i < a->free_count; ++i) a->free[i] = a->free[i + 1];
    const TraceWindow window = take_trace_window_again(oldest.offset, oldest.size);
    if (window.start) {
      store(&reinterpret_cast<TraceChunk*>(window.start)->sequence, uint64_t(0));
      ordered();
      chunk.stored = chunk.size = window.size - sizeof chunk;
      *reinterpret_cast<TraceChunk*>(window.start) = chunk;
      memset(window.start + sizeof chunk, 0, chunk.size);
      return window;
    }
  }
  ++a->windows;
  return take_trace_window(size, chunk);
}

// Begins to write into a window that holds nothing.
void use_window(Area* a, const TraceWindow& window) {
  auto* chunk = reinterpret_cast<TraceChunk*>(window.start);
  ordered();
  store(&chunk->sequence, __atomic_add_fetch(&last_sequence, 1, __ATOMIC_RELAXED));
  a->current = {window, 0};
  ordered();
  store(&a->words.cursor, as_word(chunk + 1));
  store(&a->words.limit, as_word(window.start) + window.size - kSlack);
}

// Writes the window to the file, up to the `end` of what is filled, and begins it anew. False if that is not possible.
bool reuse_window(Area* a, uint64_t end) {
  const TraceWindow window = a->current.memory;
  if (settings.trace_last != 0 || window.size != kMaxWindow || end <= start_of_records(a->current)) return false;
  if (!a->drain) a->drain = take_drain(*traced_program(), kMaxWindow);
  const uint64_t cursor = load(&a->words.cursor);
  if (!a->drain || !drain_window(a->drain, *traced_program(), window, end)) return false;
  // Handlers of SIGTRAP and SIGSYS: from here on they find no window. If one has written to this one, it stays as it
  // is.
  store(&a->words.limit, uint64_t(0));
  ordered();
  const uint64_t at_end = __atomic_exchange_n(&a->words.cursor, 0, __ATOMIC_RELAXED);
  if (at_end != cursor) {
    store(&a->words.cursor, at_end);
    return false;
  }
  note_reused_window(a->drain, window);
  store(&reinterpret_cast<TraceChunk*>(window.start)->sequence, uint64_t(0));
  ordered();
  const uint64_t start = start_of_records(a->current), after = as_word(window.start) + window.size;
  memset(reinterpret_cast<char*>(start), 0, (cursor < after ? cursor : after) - start);
  use_window(a, window);
  return true;
}

// False if there is none.
bool next_window(State* s, Area* a) {
  unmap_filled(a);
  set_current_aside(a);
  const TraceChunk chunk = new_chunk(s);
  const TraceWindow window = settings.trace_last != 0 ? window_of_ring(a, chunk) : larger_window(a, chunk);
  if (!window.start) return false;
  use_window(a, window);
  return true;
}

// Where the record belongs whose place is not the one that its code has found: see the top. 0: nowhere.
uint64_t find_taken_place(const Area* a, uint64_t length, int32_t thread) {
  if (!a->current.memory.start) return 0;
  const TraceProgram& program = *traced_program();
  uint64_t place = last_unfilled(program, start_of_records(a->current), end_of_places(*a), length);
  for (uint32_t i = a->old_count; i-- > 0 && place == 0;)
    if (reinterpret_cast<const TraceChunk*>(a->old[i].memory.start)->thread == uint32_t(thread))
      place = last_unfilled(program, start_of_records(a->old[i]), a->old[i].end, length);
  return place;
}

// Another place, for a record that has none.
uint64_t take_place(Area* a, uint64_t length) {
  uint64_t place = length;
  asm volatile("xadd %0, %1" : "+r"(place), "+m"(a->words.cursor) : : "cc", "memory");
  return is_place(a, place, length) ? place : as_word(sink);
}

struct Record {
  uint64_t place, length;  // of the bytes that it takes
};

// Heavy. Gives the record its place, and the thread a window with room for the next one.
uint64_t make_room(State* s, uint64_t argument) {
  auto* record = reinterpret_cast<Record*>(argument);
  auto* a = reinterpret_cast<Area*>(s->counters);
  const uint64_t cursor = load(&a->words.cursor);
  const bool is_own = record->place + record->length == cursor;
  if (!is_own) record->place = find_taken_place(a, record->length, s->tid);
  if (!a->is_sink && cursor >= load(&a->words.limit)) {
    if (is_own && is_in(a->current, record->place, record->length) && reuse_window(a, record->place))
      record->place = 0;
    else if (!next_window(s, a))
      write_to_sink(a);
  }
  if (a->is_sink)
    record->place = as_word(sink);
  else if (!is_place(a, record->place, record->length))
    record->place = take_place(a, record->length);
  return 1;
}

}  // namespace

uint64_t place_in_sink() {
  Area* a = own_area();
  if (!a || !a->is_sink) return 0;
  store(&a->words.cursor, as_word(sink));
  return as_word(sink);
}

uint64_t find_place(State* s, uint64_t place, uint64_t length) {
  if (!s || s->counters == 0) {
    if (!program_area) {
      const auto [headers, count, bias] = find_program();
      find_trace_segment(headers, count, bias);
    }
    if (!program_area) return as_word(sink);
    write_to_sink(&sink_area);
    use(&sink_area);
    return as_word(sink);
  }
  const auto* a = reinterpret_cast<const Area*>(s->counters);
  Record record = {place, length};
  const bool is_own = place + length == load(&a->words.cursor);
  if (run_heavy(s, make_room, as_word(&record))) return record.place;
  return is_own && !a->is_sink && is_place(a, place, length) ? place : as_word(sink);
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
  last_sequence = 0;
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
    a->self = a;
  }
  s->counters = as_word(a);
  use(a);
}

void leave_trace_of_parent() {
  if (!program_area || (process && process->owns_counters)) return;
  set_gs_base(0);
  leave_windows_of_parent();
}

void end_trace() {
  if (program_area && process->owns_counters) end_trace_file();
}

}  // namespace libprof
