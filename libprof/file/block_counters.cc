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
// missing in the sum. When it begins anew (life/threads.cc), its base is 0 again, and private zeros lie in the place of the
// program's array.
//
// If the array in the file cannot be mapped once more (profiles in private memory), the counters are in memory of our own
// and are stored at the end.
//
// Where an array is that all threads increment, of a library or of a program that uses gs itself, see the second part of this
// file; the third is of libraries without hooks.
//
// Limits. What a new thread counts before its first hook shares counters with the thread that made it; there is nothing to
// count there but in C libraries, in static programs. Threads that get no memory share those of the first one.

#include "block_counters.h"

#include "file.h"
#include "libprof/data/heavy.h"
#include "libprof/data/thread.h"
#include "libprof/format/blocks.h"
#include "libprof/kernel/mappings.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "modules.h"

namespace libprof {

using prof_format::Counters;

// Room in the profile for counters, and its mapping in the place of a program's own. Heavy paths.

namespace {

constexpr uint64_t kMayMove = 1, kFixed = 2;  // MREMAP_*
constexpr uint64_t kAdviseDoFork = 11;

// Room for counters, all 0. `size`: bytes, whole pages. 0 if there is none.
Block take_values(uint64_t size) { return take_blocks(size / PROF_BLOCK_SIZE); }

// Tells readers of them: they are the module's. Returns the Counters, or 0 if there is no room for that.
Block list_values(Block module, Block values, uint64_t size) {
  const Block record = take_blocks(sizeof(Counters) / PROF_BLOCK_SIZE);
  if (record == 0) return 0;
  auto* header = at<Header>(process->base, 0);
  auto* counters = at<Counters>(process->base, record);
  counters->module = module;
  counters->values = values;
  counters->count = size / sizeof(uint64_t);
  lock(&process->lock);
  counters->next = header->first_counters;
  ordered();
  header->first_counters = record;
  unlock(&process->lock);
  return record;
}

// Has the pages of a shared mapping at `memory` as well, in the place of what was there; forked children inherit them
// there. False, with nothing changed, if that is not possible.
bool map_twice(char* pages, char* memory, uint64_t size) {
  // The profile is nothing that children inherit. So this has to be possible, or a child would find no memory there.
  if (advise(memory, size, kAdviseDoFork) != 0) return false;
  const int64_t result = syscall6(__NR_mremap, as_word(pages), 0, size, kMayMove | kFixed, as_word(memory), 0);
  return result == int64_t(as_word(memory)) && advise(memory, size, kAdviseDoFork) == 0;
}

}  // namespace

namespace {

// Copied by fork like any memory of a program.
char* program_counters;  // null: it has none
uint64_t counters_size;  // bytes, whole pages

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
  return !process->is_private && map_twice(at<char>(process->base, values), memory, counters_size);
}

// Room for an array in the profile; 0 if there is none.
Block take_listed_values() {
  const Block values = take_values(counters_size);
  const Block module = at<Header>(process->base, 0)->first_module;
  return values != 0 && list_values(module, values, counters_size) != 0 ? values : 0;
}

uint64_t size_of_area() { return kPage + counters_size; }

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
  if (area.values != 0 && !area.is_of_file) memcpy(at<char>(process->base, area.values), area.memory, counters_size);
}

}  // namespace

void find_block_counters(const Elf64_Phdr* headers, uint64_t count, uint64_t bias) {
  for (uint64_t i = 0; i < count; ++i) {
    if (headers[i].p_type != prof_format::kCountersSegment) continue;
    program_counters = reinterpret_cast<char*>(bias + headers[i].p_vaddr);
    counters_size = headers[i].p_memsz / kPage * kPage;
  }
}

bool has_block_counters() { return counters_size != 0; }

void begin_block_counters() {
  if (counters_size == 0) return;
  process->owns_counters = 1;
  first.memory = program_counters;
  first.values = take_listed_values();
  if (first.values == 0) return;
  first.is_of_file = false;
  store(first);
  first.is_of_file = map_again(first.values, first.memory);
}

void begin_block_counters_of_thread(State* s) {
  if (counters_size == 0) return;
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
    syscall6(__NR_mmap, as_word(program_counters), counters_size, kProtectReadWrite,
             kMapPrivate | kMapAnonymous | kMapFixed, uint64_t(-1), 0);
  } else {
    memset(program_counters, 0, counters_size);
  }
  while (Area* area = areas) {
    areas = area->next;
    unmap_guarded(area, size_of_area());
  }
  first = {};
  first_is_taken = 0;
}

void store_block_counters() {
  if (counters_size == 0 || !process->owns_counters) return;
  store(first);
  for (const Area* area = areas; area; area = area->next) store(*area);
}

// The problem. Counters that all threads of a process increment lie in the object's own memory, where its code wants them.
// They have to be in the profile at each moment, as others are. But a library comes and goes: nothing
// tells when it is unloaded, and then something else may lie in its place. So nothing may be read, written or mapped there
// later, unless it is certain to be the library still. A forked child has to do that: it inherits the mappings, and must
// not go on counting in its parent's profile.
//
// The way taken. When a library is loaded it tells so before any of its code runs but IFUNC resolvers and the like
// (libraries.cc). Then what was counted there so far is added to an array in the profile, and the pages of the array are
// mapped in its place. When it is unloaded the mapping goes with it, and the array has what was counted.
//
// There is one array for each file, told by its build-id. A file that is loaded again, wherever, goes on with its array,
// and one that is loaded several times (dlmopen) has it in all places; increments are locked, so none is lost. So a
// profile grows by the number of files only.
//
// A child asks the kernel (/proc/self/maps). Where a mapping is one of the parent's profile, with the very pages of an
// object's array, nobody but us can have made it: the object is still there. It gets an array in the child's profile in
// the place of that one. Until then the child counts in its parent's profile, as it does in other counters. If other
// threads run already in the child (it was forked without the C library's fork, and has called no hook so far), one of them
// may unload the library meanwhile: so it is left as it is. The program itself stays where it is, and need not be looked
// for.
//
// If the profile is private memory, an array in it cannot be mapped twice. Then it is in shared memory of our own, which is
// stored at the end: not from the library's place, which may be gone.
//
// Limits. What another thread counts in a library while that is being initialized, between two steps here, is lost. A
// child that cannot read /proc counts the blocks of libraries in its parent's profile, as one does that had threads before
// it came to us; none of it is missing in the sum.

namespace {

uint32_t lock_failed;  // of any increments

// That of a counter; null if it is not where it could be.
uint8_t* increment_of(const Object& object, uint32_t counter) {
  const auto* list = reinterpret_cast<const prof_format::IncrementsHeader*>(object.increments);
  if (!list || counter >= list->count) return nullptr;
  const uint64_t at = object.increments + uint64_t(int64_t(reinterpret_cast<const int32_t*>(list + 1)[counter]));
  return at >= object.code_start && at < object.code_end ? reinterpret_cast<uint8_t*>(at) : nullptr;
}

// The counters of one file. Copied by fork like any memory of a program.
struct Array {
  Array* next;
  uint64_t size;    // bytes, whole pages
  Block values;     // in the profile of this process; 0: there are none
  Block record;     // Counters, of these
  char* pages;      // that are mapped in the place of the object's own
  bool has_memory;  // the pages are shared memory, not the profile's
  FilePage file;    // where the pages are
  FilePage before;  // where they were in the parent
  uint32_t build_id_size;
  uint8_t build_id[sizeof Object::build_id];
  uint32_t path_size;  // with its NUL; after this structure
};
Array* arrays;
FilePage profile;  // the first page of this process's; unknown until it is asked for
uint32_t are_seen;
constinit Object program;
bool is_child;

const char* path_of(const Array* a) { return reinterpret_cast<const char*>(a + 1); }

Array* find_array(const Object& object) {
  if (object.build_id_size == 0) return nullptr;
  for (Array* a = arrays; a; a = a->next) {
    if (a->size == object.counters_size && a->build_id_size == object.build_id_size &&
        memcmp(a->build_id, object.build_id, a->build_id_size) == 0)
      return a;
  }
  return nullptr;
}

Array* make_array(const Object& object, Block block) {
  auto* module = at<Module>(process->base, block);
  auto* a = static_cast<Array*>(map_guarded(sizeof(Array) + module->path_size + 1));
  if (!a) return nullptr;
  a->size = object.counters_size;
  a->build_id_size = object.build_id_size;
  memcpy(a->build_id, object.build_id, sizeof a->build_id);
  a->path_size = module->path_size + 1;
  memcpy(a + 1, module + 1, module->path_size);
  a->next = arrays;
  ordered();
  arrays = a;
  return a;
}

// Gives the array pages, all zeros, that can be mapped twice. False if there are none.
bool take_pages(Array* a) {
  a->values = take_values(a->size);
  if (a->values == 0) return false;
  if (!process->is_private) {
    if (profile.inode == 0) profile = find_file_page(as_word(process->base));
    a->pages = at<char>(process->base, a->values);
    a->file = {profile.device, profile.inode, uint64_t(a->values) * PROF_BLOCK_SIZE};
    return true;
  }
  const int64_t p = syscall6(__NR_mmap, 0, a->size, kProtectReadWrite, kMapShared | kMapAnonymous, uint64_t(-1), 0);
  a->has_memory = !is_error(p);
  if (!a->has_memory) {
    a->values = 0;
    return false;
  }
  a->pages = reinterpret_cast<char*>(p);
  a->file = find_file_page(as_word(a->pages));
  return true;
}

void take_back_pages(Array* a) {
  a->values = a->record = 0;
  if (a->has_memory) unmap_memory(a->pages, a->size);
  a->has_memory = false;
}

bool is_page_of(const Mapping& m, const FilePage& file, uint64_t address, uint64_t size) {
  return file.inode != 0 && m.is_shared && m.is_writable && m.device == file.device && m.inode == file.inode &&
         address >= m.start && address + size <= m.end && m.offset + (address - m.start) == file.offset;
}

bool is_mapped_at(const Array* a, uint64_t address) {
  const FilePage found = find_file_page(address);
  return found.inode != 0 && found.inode == a->file.inode && found.device == a->file.device &&
         found.offset == a->file.offset;
}

// Adds what was counted in the object's own memory. Nothing if that is the array, as when its DT_INIT is called twice.
void add_from(Array* a, uint64_t address, bool may_be_mapped) {
  auto* from = reinterpret_cast<const uint64_t*>(address);
  auto* to = reinterpret_cast<uint64_t*>(a->pages);
  for (uint64_t i = 0; i < a->size / sizeof *from; ++i) {
    const uint64_t count = load(&from[i]);
    if (count == 0) continue;
    if (may_be_mapped && is_mapped_at(a, address)) return;
    may_be_mapped = false;
    __atomic_fetch_add(&to[i], count, __ATOMIC_RELAXED);
  }
}

bool are_increments_locked(const Object& object) {
  const uint8_t* increment = increment_of(object, 0);
  return increment && load(increment) == prof_format::kIncrementLocked;
}

// With the lock of the counters. `is_inherited`: what the object has there was counted by the parent. False if the object
// has what it had.
bool count_in(Array* a, Block module, const Object& object, bool is_inherited) {
  const bool is_new = a->values == 0;
  if (is_new && !take_pages(a)) return false;
  if (!is_inherited) add_from(a, object.counters, !is_new);
  const bool is_mapped = map_twice(a->pages, reinterpret_cast<char*>(object.counters), a->size);
  if (!is_mapped && !is_child) say(path_of(a), ": memory cannot be mapped twice; its basic blocks are not counted");
  if (!is_new) return is_mapped;
  a->record = is_mapped ? list_values(module, a->values, a->size) : 0;
  if (a->record == 0)
    take_back_pages(a);
  else if (are_increments_locked(object))
    at<Counters>(process->base, a->record)->lock = prof_format::kLockedFromStart;
  else if (object.increments != 0 && lock_failed)
    at<Counters>(process->base, a->record)->lock = prof_format::kLockFailed;
  return is_mapped;
}

// Counts are nobody's from now on.
void clear(const Object& object) {
  syscall6(__NR_mmap, object.counters, object.counters_size, kProtectReadWrite, kMapPrivate | kMapAnonymous | kMapFixed,
           uint64_t(-1), 0);
}

// Calls `change(object, array)` for each object that is still there, with what was mapped in the parent.
template <class Change>
void change_each_inherited(Change change) {
  if (field_of_process(kThreadCount) != 1) return;
  Mapping m;
  LineReader maps("/proc/self/maps");
  while (const char* line = maps.next()) {
    if (!parse_mapping(line, &m) || !m.is_shared) continue;
    Object object;
    if (!find_object(m.start, &object) || object.counters_size == 0) continue;
    Array* a = find_array(object);
    if (a && is_page_of(m, a->before, object.counters, a->size)) change(object, a);
  }
}

// The same, and for the program, which is there in any case.
template <class Change>
void change_inherited(Change change) {
  profile = {};
  for (Array* a = arrays; a; a = a->next) {
    a->before = a->file;
    a->file = {};
    take_back_pages(a);
  }
  if (!arrays) return;
  Array* own = program.counters_size != 0 ? find_array(program) : nullptr;
  if (own) change(program, own);
  change_each_inherited([&](const Object& object, Array* a) {
    if (a != own) change(object, a);
  });
}

}  // namespace

bool has_shared_counters() { return load(&are_seen) != 0; }

void begin_shared_counters(const Object& of_program, bool is_forked) {
  is_child = is_forked;
  lock(&process->counters_lock);
  if (is_child)
    change_inherited([](const Object& object, Array* a) {
      const Block module = list_object(object, path_of(a));
      if (module == 0 || !count_in(a, module, object, true)) clear(object);
    });
  unlock(&process->counters_lock);
  program = of_program;
  if (!is_child) count_shared(program);
}

void count_shared(const Object& object) {
  if (object.counters_size == 0) return;
  store(&are_seen, 1u);
  const Block module = list_object(object, nullptr);
  if (module == 0) return;
  lock(&process->counters_lock);
  Array* a = find_array(object);
  if (!a) a = make_array(object, module);
  if (a) count_in(a, module, object, false);
  unlock(&process->counters_lock);
}

void count_shared_remembered() {
  Object object;
  for (ObjectPlace place; next_object(&place, &object);) {
    const Array* a = find_array(object);
    if (!a || a->values == 0) count_shared(object);
  }
}

// Libraries without hooks. The problem. Increments with the prefix lock cost fourteen cycles or more, and without it next to
// nothing. But a library is rewritten once for all programs, with threads or without.
//
// The way taken. Increments have another prefix in the place of lock, which means nothing, and the file lists where they are.
// As long as the process has a single thread, that is right. Before the first other one is made (sampler/threads.cc), lock is
// written over the prefix in all libraries that are loaded, and from then on in each library that is, before its code
// runs. The same is done at once where the program or a library may make threads that nobody tells us of, where the program finds
// other functions than ours that make threads, and where a library is loaded a second time, in a namespace of its own. What was
// counted until then is kept beside the counters: readers take off what counting costs, and have to know how much of it was
// locked.
//
// A forked child counts in its parent's profile until it comes to us, at the same time as its parent. All that runs in it by
// then is the C library's, so that is locked before the first fork. It goes on doing so if it cannot read /proc: where its parent
// cannot either, all is locked.
//
// Limits. What cannot be written (a filter, or PR_SET_MDWE, forbids it) counts without lock; readers say so. What IFUNC
// resolvers of a new library count while other threads do, before its DT_INIT, may be lost; and what threads count that are made
// by a system call of a library that has no copy, or by the C library's function syscall.

bool lock_increments(const Object& object) {
  if (object.increments == 0 || are_increments_locked(object)) return false;
  constexpr uint64_t kProtectReadExecute = 5, kProtectAll = 7;
  const auto* list = reinterpret_cast<const prof_format::IncrementsHeader*>(object.increments);
  const uint64_t start = object.code_start / kPage * kPage, size = object.code_end - start;
  if (syscall4(__NR_mprotect, start, size, kProtectAll) == 0) {
    const uint64_t count = (object.increments_size - sizeof *list) / sizeof(int32_t);
    for (uint32_t i = 0; i < count; ++i) {
      uint8_t* increment = increment_of(object, i);
      if (increment && *increment == prof_format::kIncrementAlone) store(increment, prof_format::kIncrementLocked);
    }
    syscall4(__NR_mprotect, start, size, kProtectReadExecute);
  } else {
    store(&lock_failed, 1u);
  }
  return process && process->phase == kRecording;
}

void note_lock(const Object& object) {
  lock(&process->counters_lock);
  const Array* a = find_array(object);
  if (a && a->record != 0) {
    auto* counters = at<Counters>(process->base, a->record);
    const bool is_locked = are_increments_locked(object);
    if (!is_locked) counters->lock = prof_format::kLockFailed;
    const Block before = is_locked && counters->before_lock == 0 ? take_values(a->size) : 0;
    if (before != 0) {
      memcpy(at<char>(process->base, before), a->pages, a->size);
      ordered();
      counters->before_lock = before;
    }
  }
  unlock(&process->counters_lock);
}

void leave_shared_counters_of_parent() {
  change_inherited([](const Object& object, Array*) { clear(object); });
}

void store_shared_counters() {
  for (const Array* a = arrays; a; a = a->next) {
    if (a->values != 0 && a->has_memory) memcpy(at<char>(process->base, a->values), a->pages, a->size);
  }
}

}  // namespace libprof
