// The problem. A page of a file that is mapped costs the kernel some microseconds when it is touched for the first time,
// several times as much as it costs to fill it with records. A window that is written to the file as a whole, and used again,
// costs a third of that, or less where records can be packed; and it stays in the processor's cache.
//
// The way taken. The window stays what it is, a chunk of the file. What is in it is written after the end of the file, as a
// chunk with the same sequence number. Then the window gets number 0, is cleared, and gets its next number (trace.cc). So
// wherever the process is killed, all is in the file: readers take the first of two chunks with the same number, which is the
// window, and none with number 0.
//
// Children. A handler that has interrupted a record may fork. When it returns in the child, that writes the record to its
// parent's window once more, and the parent may have gone on to use the window again. So the child, when it leaves its
// parent's trace (fork.cc), puts private memory in the place of all such windows.

#include "trace_drain.h"

#include "libprof/data/state.h"
#include "libprof/kernel/syscall.h"
#include "trace_packing.h"
#include "trace_records.h"

namespace libprof {

using prof_format::TraceChunk;
using prof_format::TraceProgram;

struct Drain {
  Drain* next;
  uint32_t is_taken;
  char* window;  // that is used again; null: none
  uint64_t window_size;
  PackingTables* tables;  // null: records are not packed
  uint8_t* packed;
};

namespace {

// Copied by fork like any memory of a program.
Drain* newest_drain;

uint64_t in_eights(uint64_t size) { return (size + 7) / 8 * 8; }

Drain* make_drain(const TraceProgram& program, uint64_t largest_window) {
  uint64_t size = sizeof(Drain);
  if (program.has_memory) size += sizeof(PackingTables) + most_packed(largest_window);
  auto* drain = static_cast<Drain*>(map_memory(size));
  if (!drain) return nullptr;
  drain->is_taken = 1;
  if (program.has_memory) {
    drain->tables = reinterpret_cast<PackingTables*>(drain + 1);
    drain->packed = reinterpret_cast<uint8_t*>(drain->tables + 1);
  }
  drain->next = load(&newest_drain);
  while (!__atomic_compare_exchange_n(&newest_drain, &drain->next, drain, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return drain;
}

}  // namespace

Drain* take_drain(const TraceProgram& program, uint64_t largest_window) {
  for (Drain* d = __atomic_load_n(&newest_drain, __ATOMIC_ACQUIRE); d; d = d->next)
    if (__atomic_exchange_n(&d->is_taken, 1u, __ATOMIC_ACQ_REL) == 0) return d;
  return make_drain(program, largest_window);
}

bool drain_window(Drain* drain, const TraceProgram& program, const TraceWindow& window, uint64_t end) {
  const auto* from = reinterpret_cast<const TraceChunk*>(window.start);
  const uint64_t start = as_word(from + 1);
  TraceChunk chunk = *from;
  chunk.size = chunk.stored = in_eights(end - start);  // what follows `end` is not filled
  const void* bytes = from + 1;
  if (drain->tables) {
    const uint64_t size = pack_records(drain->tables, start, end, drain->packed);
    if (size == 0) return false;
    chunk.encoding = prof_format::kTracePacked;
    chunk.size = end - start;
    chunk.stored = in_eights(size);
    bytes = drain->packed;
    for (uint64_t i = size; i < chunk.stored; ++i) drain->packed[i] = 0;
  } else if (!are_filled(program, start, end)) {
    return false;
  }
  return append_trace_chunk(chunk, bytes);
}

void note_reused_window(Drain* drain, const TraceWindow& window) {
  drain->window_size = window.size;
  store(&drain->window, window.start);
}

void forget_reused_window(Drain* drain) {
  if (drain) store(&drain->window, static_cast<char*>(nullptr));
}

void leave_windows_of_parent() {
  for (Drain* d = newest_drain; d; d = d->next) {
    if (d->window)
      syscall6(__NR_mmap, as_word(d->window), d->window_size, kProtectReadWrite,
               kMapPrivate | kMapAnonymous | kMapFixed, uint64_t(-1), 0);
    d->window = nullptr;
    d->is_taken = 0;
  }
}

}  // namespace libprof
