// The problem. Each basic block that is counted increments a word, in the middle of code that does not know of it: so the
// increment has no register, and must be a single instruction, or a signal handler that comes between would lose counts,
// or take some away. Threads must not increment the same word: one of two increments at the same time would be lost, or
// each would take twenty times as long. And when the process is killed, nothing may be missing.
//
// The way taken. A program has one array of counters of its own, in pages that hold nothing else; the increment names its
// word there, relative to the base of the segment gs, which Linux leaves to programs, and none uses. The base is 0 when a
// program begins. So the increment always finds memory that is there: before the runtime has begun, and in any thread.
//
// In the profile there are as many arrays of that size as are needed. One is mapped in the place of the program's own
// array, with what was counted there up to then; it is that of the first thread. The others are mapped anywhere; when a
// thread comes to its first hook, it gets one of them, and the distance to it becomes the thread's base. Until then it
// has the base of the thread that made it. A thread that begins with the state of one that has ended (threads.cc) goes on
// with its counters: nobody asks which thread ran a block.
//
// Fork. A forked child has its parent's base, and may come to increments before it comes to us. So these mappings are
// inherited, unlike the rest of the profile: what a child counts until then is in its parent's profile, and none of it is
// missing in the sum. When it begins anew (fork.cc), its base is 0 again, and private zeros lie in the place of the
// program's array.
//
// If the array in the file cannot be mapped once more (profiles in private memory), the counters are in memory of our own
// and are stored at the end.
//
// Where an array is that all threads increment, of a library or of a program that uses gs itself, see shared_counters.cc.
//
// Limits. What a new thread counts before its first hook shares counters with the thread that made it; there is nothing to
// count there but in C libraries, in static programs. Threads that get no memory share those of the first one.

#include "block_counters.h"

#include "counter_values.h"
#include "libprof/data/gs_base.h"
#include "libprof/data/heavy.h"
#include "libprof/format/blocks.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"

namespace libprof {

namespace {

// Copied by fork like any memory of a program.
char* program_counters;  // null: it has none
uint64_t size;           // bytes, whole pages

// An array besides the program's, or the program's itself. It lies at the start of a page, in front of the array.
struct Area {
  Area* next;
  char* memory;
  Block values;     // in the profile
  bool is_of_file;  // what is counted is in the profile at once
};
Area first;   // memory is null until it has begun
Area* areas;  // all others
uint32_t first_is_taken;

// Has the same pages of the file at `memory` as well.
bool map_again(Block values, char* memory) {
  return !process->is_private && map_twice(at<char>(process->base, values), memory, size);
}

// Room for an array in the profile; 0 if there is none.
Block take_listed_values() {
  const Block values = take_values(size);
  return values != 0 && list_values(at<Header>(process->base, 0)->first_module, values, size) ? values : 0;
}

uint64_t size_of_area() { return kPage + size; }

Area* make_area() {
  auto* area = static_cast<Area*>(map_guarded(size_of_area()));
  if (!area) return nullptr;
  area->memory = reinterpret_cast<char*>(area) + kPage;
  area->values = take_listed_values();
  if (area->values == 0) {
    unmap_guarded(area, size_of_area());
    return nullptr;
  }
  area->is_of_file = map_again(area->values, area->memory);
  lock(&process->lock);
  area->next = areas;
  areas = area;
  unlock(&process->lock);
  return area;
}

void store(const Area& area) {
  if (area.values != 0 && !area.is_of_file) memcpy(at<char>(process->base, area.values), area.memory, size);
}

}  // namespace

void find_block_counters(const Elf64_Phdr* headers, uint64_t count, uint64_t bias) {
  for (uint64_t i = 0; i < count; ++i) {
    if (headers[i].p_type != prof_format::kCountersSegment) continue;
    program_counters = reinterpret_cast<char*>(bias + headers[i].p_vaddr);
    size = headers[i].p_memsz / kPage * kPage;
  }
}

bool has_block_counters() { return size != 0; }

void begin_block_counters() {
  if (size == 0) return;
  process->owns_counters = 1;
  first.memory = program_counters;
  first.values = take_listed_values();
  if (first.values == 0) return;
  first.is_of_file = false;
  store(first);
  first.is_of_file = map_again(first.values, first.memory);
}

void begin_block_counters_of_thread(State* s) {
  if (size == 0) return;
  if (s->counters == 0 && __atomic_exchange_n(&first_is_taken, 1u, __ATOMIC_ACQ_REL) == 0)
    s->counters = as_word(program_counters);
  if (s->counters == 0) {
    const Area* area = make_area();
    s->counters = as_word(area ? area->memory : program_counters);
  }
  set_gs_base(s->counters - as_word(program_counters));
}

void leave_block_counters_of_parent() {
  if (!first.memory || (process && process->owns_counters)) return;
  set_gs_base(0);
  if (first.is_of_file) {
    syscall6(__NR_mmap, as_word(program_counters), size, kProtectReadWrite, kMapPrivate | kMapAnonymous | kMapFixed,
             uint64_t(-1), 0);
  } else {
    memset(program_counters, 0, size);
  }
  while (Area* area = areas) {
    areas = area->next;
    unmap_guarded(area, size_of_area());
  }
  first = {};
  first_is_taken = 0;
}

void store_block_counters() {
  if (size == 0 || !process->owns_counters) return;
  store(first);
  for (const Area* area = areas; area; area = area->next) store(*area);
}

}  // namespace libprof
