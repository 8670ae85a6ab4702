// More than 800 lines: its four parts share arrays of counters that nobody else knows.
//
// The problem. Each basic block that is counted increments a word, in the middle of code that does not know of it: so
// the increment has no register, and must be a single instruction, or a signal handler that comes between would lose
// counts, or take some away. Threads must not increment the same word: one of two increments at the same time would be
// lost, or each would take twenty times as long. And when the process is killed, nothing may be missing.
//
// The way taken. A program has one array of counters of its own, in pages that hold nothing else; the increment names
// its word there, relative to the base of the segment gs, which Linux leaves to programs, and none uses. The base is 0
// when a program begins. So the increment always finds memory that is there: before the runtime has begun, and in any
// thread.
//
// In the profile there are as many arrays of that size as are needed. One is mapped in the place of the program's own
// array, with what was counted there up to then; it is that of the first thread. The others are mapped anywhere; when a
// thread comes to its first hook, it gets one of them, and the distance to it becomes the thread's base. Until then it
// has the base of the thread that made it. A thread that begins with the state of one that has ended (threads.cc) goes
// on with its counters: nobody asks which thread ran a block.
//
// Fork. A forked child has its parent's base, and may come to increments before it comes to us. So these mappings are
// inherited, unlike the rest of the profile: what a child counts until then is in its parent's profile, and none of it
// is missing in the sum. When it begins anew (life/threads.cc), its base is 0 again, and private zeros lie in the place
// of the program's array.
//
// If the array in the file cannot be mapped once more (profiles in private memory), the counters are in memory of our
// own and are stored at the end.
//
// Where an array is that all threads increment, of a library or of a program that uses gs itself, see the second part
// of this file; the third is of libraries without hooks.
//
// In a static program without hooks the system call that makes a thread begins it (start.cc: begin_task). A stranger is
// a thread that has its parent's thread pointer, and so no State of its own.
//
// Limits. What a new thread counts before its first hook shares counters with the thread that made it; there is nothing
// to count there but in C libraries, in static programs. Threads that get no memory share those of the first one.

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

void map_zeros(char* at, uint64_t size) {
  syscall6(__NR_mmap, as_word(at), size, kProtectReadWrite, kMapPrivate | kMapAnonymous | kMapFixed, uint64_t(-1), 0);
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

constexpr uint32_t kMaxLibraries = 250;  // of which threads have counters of their own

// An array besides the program's, or the program's itself. It lies at the start of a page, in front of the array or, if
// threads have counters of libraries as well, alone.
struct Area {
  Area* next;
  char* memory;
  Block values;                     // in the profile
  bool is_of_file;                  // what is counted is in the profile at once
  bool has_libraries;               // the fourth part of this file tells of what follows
  uint32_t users;                   // threads that have it; atomic
  int32_t stranger;                 // the thread without a State of its own that has it; 0: there is none such
  Block of_library[kMaxLibraries];  // values of its counters, by Array::number
};
static_assert(sizeof(Area) <= kPage);
Area first;        // memory is null until it has begun
Area* areas;       // all others
Area* next_asked;  // of these, whether its stranger has ended; null: the first
uint32_t first_is_taken;
bool libraries_are_own;  // threads have counters of libraries as well
bool needs_windows;      // and not all increments of these have become locked since

Area* claim_area(uint32_t users);
void leave_areas_of_parent();

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

void list_area(Area* area) {
  lock(&process->lock);
  area->next = areas;
  areas = area;
  unlock(&process->lock);
}

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
  list_area(area);
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

namespace {

// That of a stranger which has ended, if one is found among the next few; it is the stranger `id`'s from now on.
Area* take_area_of_ended(int32_t id) {
  constexpr uint32_t kAsked = 8;
  Area* found = nullptr;
  uint32_t asked = 0;
  lock(&process->lock);
  Area* const begin = next_asked ? next_asked : areas;
  for (Area* a = begin; a && !found && asked < kAsked;) {
    if (a->stranger != 0) {
      ++asked;
      if (syscall4(__NR_tkill, uint64_t(a->stranger), 0) == kErrorNoProcess) {
        a->stranger = id;
        found = a;
      }
    }
    a = next_asked = a->next ? a->next : areas;
    if (a == begin) break;
  }
  unlock(&process->lock);
  return found;
}

}  // namespace

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
  if (s->counters == 0 && needs_windows) {
    lock(&process->counters_lock);
    const Area* area = claim_area(1);
    unlock(&process->counters_lock);
    if (!area) return;  // it goes on with those that it was born with, and which nobody else gets then
    s->counters = as_word(area->memory);
  }
  if (s->counters == 0 && __atomic_exchange_n(&first_is_taken, 1u, __ATOMIC_ACQ_REL) == 0)
    s->counters = as_word(program_counters);
  if (s->counters == 0) {
    const Area* area = make_area();
    s->counters = as_word(area ? area->memory : program_counters);
  }
  set_gs_base(s->counters - as_word(program_counters));
}

void begin_block_counters_of_stranger() {
  if (counters_size == 0) return;
  store(&has_strangers, 1u);
  const int32_t id = thread_id();
  Area* area = take_area_of_ended(id);
  if (!area) {
    area = make_area();
    if (area) store(&area->stranger, id);
  }
  if (area) set_gs_base(as_word(area->memory) - as_word(program_counters));
}

void leave_block_counters_of_parent() {
  if (!first.memory || (process && process->owns_counters)) return;
  if (first.is_of_file)
    map_zeros(program_counters, counters_size);
  else
    memset(program_counters, 0, counters_size);
  if (libraries_are_own) {
    leave_areas_of_parent();
  } else {
    set_gs_base(0);
    next_asked = nullptr;
    while (Area* area = areas) {
      areas = area->next;
      unmap_guarded(area, size_of_area());
    }
  }
  first = {};
  first_is_taken = 0;
}

void store_block_counters() {
  if (counters_size == 0 || !process->owns_counters) return;
  store(first);
  for (const Area* area = areas; area; area = area->next) store(*area);
}

// The problem. Counters that all threads of a process increment lie in the object's own memory, where its code wants
// them. They have to be in the profile at each moment, as others are. But a library comes and goes: nothing tells when
// it is unloaded, and then something else may lie in its place. So nothing may be read, written or mapped there later,
// unless it is certain to be the library still. A forked child has to do that: it inherits the mappings, and must not
// go on counting in its parent's profile.
//
// The way taken. When a library is loaded it tells so before any of its code runs but IFUNC resolvers and the like
// (libraries.cc). Then what was counted there so far is added to an array in the profile, and the pages of the array
// are mapped in its place. When it is unloaded the mapping goes with it, and the array has what was counted.
//
// There is one array for each file, told by its build-id. A file that is loaded again, wherever, goes on with its
// array, and one that is loaded several times (dlmopen) has it in all places; increments are locked, so none is lost.
// So a profile grows by the number of files only.
//
// A child asks the kernel (/proc/self/maps). Where a mapping is one of the parent's profile, with the very pages of an
// object's array, nobody but us can have made it: the object is still there. It gets an array in the child's profile in
// the place of that one. Until then the child counts in its parent's profile, as it does in other counters. If other
// threads run already in the child (it was forked without the C library's fork, and has called no hook so far), one of
// them may unload the library meanwhile: so it is left as it is. The program itself stays where it is, and need not be
// looked for.
//
// If the profile is private memory, an array in it cannot be mapped twice. Then it is in shared memory of our own,
// which is stored at the end: not from the library's place, which may be gone.
//
// Limits. What another thread counts in a library while that is being initialized, between two steps here, is lost. A
// child that cannot read /proc counts the blocks of libraries in its parent's profile, as one does that had threads
// before it came to us; none of it is missing in the sum.

namespace {

uint32_t lock_failed;  // of any increments

// The prefixes of the increment of a counter; null if it is not where it could be.
uint16_t* prefixes_of(const Object& object, uint32_t counter) {
  const auto* list = reinterpret_cast<const prof_format::IncrementsHeader*>(object.increments);
  if (!list || counter >= list->count) return nullptr;
  const uint64_t at = object.increments + uint64_t(int64_t(reinterpret_cast<const int32_t*>(list + 1)[counter]));
  if (at < object.code_start || at >= object.code_end) return nullptr;
  return reinterpret_cast<uint16_t*>(prof_format::increment_prefixes(at));
}

bool have_prefixes(const Object& object, uint16_t prefixes) {
  const uint16_t* of_first = prefixes_of(object, 0);
  return of_first && load(of_first) == prefixes;
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
  uint32_t number;  // of all
  uint32_t build_id_size;
  uint8_t build_id[sizeof Object::build_id];
  uint32_t path_size;  // with its NUL; after this structure
};
Array* arrays;
uint32_t arrays_made;
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
  a->number = arrays_made++;
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

bool are_increments_locked(const Object& object) { return have_prefixes(object, prof_format::kIncrementLocked); }

// With the lock of the counters. `is_inherited`: what the object has there was counted by the parent. False if the
// object has what it had.
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
void clear(const Object& object) { map_zeros(reinterpret_cast<char*>(object.counters), object.counters_size); }

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

// Libraries without hooks. The problem. Increments with the prefix lock cost fourteen cycles or more, a hundred where
// threads have one counter in turn, and without it next to nothing. But a library is rewritten once for all programs,
// with threads or without.
//
// The way taken. Increments have room for prefixes, which mean nothing in the file, and the file lists where they are.
// As long as the process has a single thread, that is right. Before the first other one is made (sampler/threads.cc),
// each thread gets counters of its own of all libraries that are loaded, and later of each library that is: the fourth
// part of this file.
//
// Where that is not possible, lock is written there: where the program or a library may make threads that nobody tells
// us of, where the program finds other functions than ours that make threads, where a library is loaded a second time,
// in a namespace of its own, where memory for a thread's counters cannot be mapped, or gs is not ours. What was counted
// until then is kept beside the counters: readers take off what counting costs, and have to know how much of it was
// locked.
//
// A forked child counts in its parent's profile until it comes to us, at the same time as its parent. All that runs in
// it by then is the C library's, so that is locked before the first fork. It goes on doing so if it cannot read /proc:
// where its parent cannot either, all is locked.
//
// Limits. What cannot be written (a filter, or PR_SET_MDWE, forbids it) counts without lock; readers say so. What IFUNC
// resolvers of a new library count while other threads do, before its DT_INIT, may be lost; and what threads count that
// are made by a system call of a library that has no copy, or by the C library's function syscall.

namespace {

// Has increments begin with these prefixes, unless they are locked. False if that cannot be written.
bool write_prefixes(const Object& object, uint16_t prefixes) {
  constexpr uint64_t kProtectReadExecute = 5, kProtectAll = 7;
  const uint64_t start = object.code_start / kPage * kPage, size = object.code_end - start;
  Process* p = process;
  uint64_t mask;
  const bool are_blocked = block_signals(&mask);
  if (p) lock(&p->text_lock);  // no other thread makes the code read-only meanwhile
  const bool may_write = syscall4(__NR_mprotect, start, size, kProtectAll) == 0;
  const uint64_t count =
      may_write ? (object.increments_size - sizeof(prof_format::IncrementsHeader)) / sizeof(int32_t) : 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint16_t* found = prefixes_of(object, i);
    if (found && (*found == prof_format::kIncrementAlone || *found == prof_format::kIncrementOwn))
      libprof::store(found, prefixes);
  }
  if (may_write) syscall4(__NR_mprotect, start, size, kProtectReadExecute);
  if (p) unlock(&p->text_lock);
  if (are_blocked) restore_signals(mask);
  return may_write;
}

}  // namespace

bool lock_increments(const Object& object) {
  if (object.increments == 0 || are_increments_locked(object)) return false;
  if (!write_prefixes(object, prof_format::kIncrementLocked)) store(&lock_failed, 1u);
  return process && process->phase == kRecording;
}

void note_lock(const Object& object) {
  lock(&process->counters_lock);
  const Array* a = find_array(object);
  if (a && a->record != 0) {
    auto* counters = at<Counters>(process->base, a->record);
    const bool is_locked = are_increments_locked(object);
    if (!is_locked) counters->lock = prof_format::kLockFailed;
    const bool is_noted = !is_locked || counters->before_lock != 0;
    const Block before = is_noted ? 0 : take_values(a->size);
    // Without room it is not known what was locked: then it is taken for all.
    if (!is_noted && before == 0) counters->lock = prof_format::kLockedFromStart;
    if (before != 0) {
      memcpy(at<char>(process->base, before), a->pages, a->size);
      ordered();
      counters->before_lock = before;
    }
  }
  unlock(&process->counters_lock);
}

// Counters of libraries that are a thread's own. The problem. A thread has one gs, and there are many libraries. The
// distance to its counters would have to be the same for all of them. But libraries lie at the upper end of the address
// space and the program in its middle or at its lower end: what is as far from one as from the other is taken, or no
// address.
//
// The way taken. An increment has the prefix addr32 besides gs: the processor cuts the counter's address off to 32
// bits, and adds the base of gs. So a thread needs 4 GB of address space, a window that begins at its base, in which
// the pages of its counters lie at the lower half of their addresses in the libraries. The program's increments have no
// addr32: its counters lie where they are in the program, and the base away. Nothing else is mapped in a window; the
// next one begins 8 GB farther up, the first where programs hardly have anything.
//
//     0           base                base + 4 GB           program      base + program        libraries
//     |            |    libraries, libc    |                    |               |                    |
//
// Two libraries whose counters would come to lie on one another are rare: the second is locked.
//
// Before the first thread is made, the only one gets such counters, then the prefixes are written. They are two bytes
// in one aligned word, so that they can become lock later, while threads run the code: each increment is of the one
// counter or of the other.
//
// A new thread has the gs of the one that makes it, and runs code of the C library before it comes to us. So that one
// takes counters from nobody and has their base while it makes the thread (begin_birth). When the new thread has its
// own, and the other is back to its, they are free for the next birth.
//
// What a library's counters are in the profile is the thread's and the file's: a library that is loaded again,
// wherever, goes on with these. When another one lies in its place, its pages in the windows are given back.
//
// A forked child has its parent's window, in whose place it gets private zeros before it goes on
// (leave_areas_of_parent), and its own counters there when it begins. The base stays.
//
// Memory. Each window has room in the profile, all of which the kernel backs, and a mapping for each library. Where the
// windows would take too much of either (kMaxBytes, kMaxMappings), increments are locked, as if there were no room.
//
// Limits. A signal handler that a thread runs while it makes another shares counters with that one's first steps in the
// C library. A thread that nobody tells of, made after others, shares those of its maker.

namespace {

// Where counters of a library lie that threads have their own of.
struct Place {
  uint64_t counters;  // the library's
  Array* array;
};
Place places[kMaxLibraries];  // with the lock of the counters
uint32_t places_used;

constexpr uint64_t kWindow = uint64_t(4) << 30, kNextWindow = 2 * kWindow, kFirstWindow = uint64_t(1) << 40;
constexpr int kMaxTries = 16;  // of windows, when something is in the way
// Of all windows: bytes of the profile, mappings of the process (of 65,530 that it may have).
constexpr uint64_t kMaxBytes = uint64_t(128) << 20, kMaxMappings = 16384;
uint64_t next_window = kFirstWindow;

uint64_t base_of(const Area* area) { return as_word(area->memory) - as_word(program_counters); }
char* memory_of(const Area* area, const Place& place) {
  return reinterpret_cast<char*>(base_of(area) + place.counters % kWindow);
}

// Maps zeros where nothing is. False, with nothing changed, if something is.
bool is_free_and_zero(char* memory, uint64_t size) {
  const int64_t found = syscall6(__NR_mmap, as_word(memory), size, kProtectReadWrite,
                                 kMapPrivate | kMapAnonymous | kMapNoReserve | kMapFixedNoReplace, uint64_t(-1), 0);
  if (found == int64_t(as_word(memory))) return true;
  if (!is_error(found)) unmap_memory(reinterpret_cast<void*>(found), size);  // a kernel that does not know the flag
  return false;
}

// Maps pages of the profile where nothing is. False, with nothing changed, if that is not possible.
bool map_where_free(Block values, char* memory, uint64_t size) {
  if (!is_free_and_zero(memory, size)) return false;
  if (map_twice(at<char>(process->base, values), memory, size)) return true;
  unmap_memory(memory, size);
  return false;
}

// The area's counters of a library, in the profile; 0 if there is no room.
Block take_values_of(Area* area, const Array* a) {
  Block& values = area->of_library[a->number];
  if (values != 0) return values;
  const Block taken = take_values(a->size);
  const Block module = at<Counters>(process->base, a->record)->module;
  if (taken != 0 && list_values(module, taken, a->size) != 0) values = taken;
  return values;
}

// (In a child, a library of its parent that may be gone has no values, but memory all the same.)
bool map_library(Area* area, const Place& place) {
  if (place.array->record == 0) return is_free_and_zero(memory_of(area, place), place.array->size);
  const Block values = take_values_of(area, place.array);
  return values != 0 && map_where_free(values, memory_of(area, place), place.array->size);
}

// Puts what was counted in private memory of an area into the profile, and has that there from now on. False if that is
// not possible, or there is no place for it.
bool begin_inherited_library(Area* area, const Place& place) {
  const Array* a = place.array;
  if (a->record == 0 || area->of_library[a->number] != 0) return true;
  const Block values = take_values_of(area, a);
  if (values == 0) return false;
  auto* from = reinterpret_cast<const uint64_t*>(memory_of(area, place));
  auto* to = at<uint64_t>(process->base, values);
  for (uint64_t i = 0; i < a->size / sizeof *from; ++i) to[i] += from[i];
  return map_twice(reinterpret_cast<char*>(to), memory_of(area, place), a->size);
}

// Maps the counters of the program, and of all libraries, in a window of their own.
bool map_window(Area* area) {
  area->memory = program_counters + next_window;
  next_window += kNextWindow;
  if (!map_where_free(area->values, area->memory, counters_size)) return false;
  uint32_t mapped = 0;
  while (mapped < places_used && map_library(area, places[mapped])) ++mapped;
  if (mapped == places_used) return true;
  unmap_memory(area->memory, counters_size);
  for (uint32_t i = 0; i < mapped; ++i) unmap_memory(memory_of(area, places[i]), places[i].array->size);
  return false;
}

// Whether there may be one window more.
bool have_windows_room() {
  uint64_t windows = 1, bytes = 0;
  for (const Area* area = areas; area; area = area->next) windows += area->has_libraries;
  for (uint32_t i = 0; i < places_used; ++i) bytes += places[i].array->size;
  return windows * bytes <= kMaxBytes && windows * (places_used + 2) <= kMaxMappings;
}

Area* make_area_with_libraries() {
  if (!have_windows_room()) return nullptr;
  auto* area = static_cast<Area*>(map_guarded(kPage));
  if (!area) return nullptr;
  area->values = take_listed_values();
  area->has_libraries = area->is_of_file = true;
  for (int i = 0; i < kMaxTries && area->values != 0; ++i) {
    if (!map_window(area)) continue;
    list_area(area);
    return area;
  }
  unmap_guarded(area, kPage);
  return nullptr;
}

// Puts what was counted in private memory into the profile, and has that there from now on.
void begin_inherited(Area* area) {
  area->values = take_listed_values();
  if (area->values == 0) return;
  store(*area);
  area->is_of_file = map_again(area->values, area->memory);
  for (uint32_t i = 0; i < places_used; ++i)
    if (!begin_inherited_library(area, places[i]))
      at<Counters>(process->base, places[i].array->record)->lock = prof_format::kLockFailed;
}

// Counters that nobody has, for so many; null if there are none. With the lock of the counters.
Area* claim_area(uint32_t users) {
  Area* area = areas;
  while (area && (!area->has_libraries || __atomic_load_n(&area->users, __ATOMIC_ACQUIRE) != 0)) area = area->next;
  if (area && area->values == 0) begin_inherited(area);
  if (!area) area = make_area_with_libraries();
  if (area) area->users = users;
  return area;
}

// In a child: of all areas the one stays that the thread has, with zeros. If that is not known, all do.
void leave_areas_of_parent() {
  uint64_t base = 0;
  const bool is_known = get_gs_base(&base);
  Area* kept = nullptr;
  while (Area* area = areas) {
    areas = area->next;
    const bool is_kept = !is_known || base_of(area) == base;
    if (!area->has_libraries) {
      if (is_kept && !set_gs_base(0))
        map_zeros(area->memory, counters_size);
      else
        unmap_guarded(area, size_of_area());
      continue;
    }
    const auto leave = [is_kept](char* memory, uint64_t size) {
      is_kept ? map_zeros(memory, size) : unmap_memory(memory, size);
    };
    leave(area->memory, counters_size);
    for (uint32_t i = 0; i < places_used; ++i) leave(memory_of(area, places[i]), places[i].array->size);
    if (!is_kept) {
      unmap_guarded(area, kPage);
      continue;
    }
    memset(area->of_library, 0, sizeof area->of_library);
    area->values = 0;
    area->is_of_file = false;
    area->users = 0;
    area->next = kept;
    kept = area;
  }
  areas = kept;
}

void forget_place(uint32_t number) {
  for (const Area* area = areas; area; area = area->next)
    if (area->has_libraries) unmap_memory(memory_of(area, places[number]), places[number].array->size);
  places[number] = places[--places_used];
}

// In a child, of a library that is loaded again.
bool begin_everywhere(const Place& place) {
  for (Area* area = areas; area; area = area->next)
    if (area->has_libraries && !begin_inherited_library(area, place)) return false;
  return true;
}

// With the lock of the counters. False if something is in the way in any window.
bool make_place(const Place& place) {
  const uint64_t size = place.array->size;
  for (uint32_t i = 0; i < places_used; ++i) {
    const Place& other = places[i];
    const uint64_t end = place.counters + size, end_of_other = other.counters + other.array->size;
    if (place.counters == other.counters && place.array == other.array) return begin_everywhere(place);
    if (place.counters < end_of_other && other.counters < end) forget_place(i--);  // it is gone
  }
  const uint64_t low = place.counters % kWindow;
  if (places_used == kMaxLibraries || place.array->number >= kMaxLibraries || low + size > kWindow) return false;
  for (uint32_t i = 0; i < places_used; ++i) {
    const uint64_t other = places[i].counters % kWindow;
    if (low < other + places[i].array->size && other < low + size) return false;
  }
  for (Area* area = areas; area; area = area->next) {
    if (!area->has_libraries || map_library(area, place)) continue;
    for (Area* mapped = areas; mapped != area; mapped = mapped->next)
      if (mapped->has_libraries) unmap_memory(memory_of(mapped, place), size);
    return false;
  }
  places[places_used++] = place;
  return true;
}

}  // namespace

bool may_have_own_library_counters() { return counters_size != 0 && process && !process->is_private; }

bool make_place_of(const Object& object) {
  if (object.increments == 0 || are_increments_locked(object)) return false;
  lock(&process->counters_lock);
  Array* a = find_array(object);
  const bool is_made = a && a->record != 0 && make_place({object.counters, a});
  unlock(&process->counters_lock);
  return is_made;
}

bool begin_own_library_counters(State* s) {
  lock(&process->counters_lock);
  Area* area = places_used != 0 ? claim_area(1) : nullptr;
  if (area && !set_gs_base(base_of(area))) {
    area->users = 0;
    area = nullptr;
  }
  if (area) {
    s->counters = as_word(area->memory);
    libraries_are_own = needs_windows = true;
  }
  unlock(&process->counters_lock);
  return area != nullptr;
}

void end_own_library_counters() { needs_windows = lock_failed != 0; }

bool own_increments(const Object& object) {
  return object.increments != 0 && write_prefixes(object, prof_format::kIncrementOwn);
}

uint64_t claim_birth(State*, uint64_t) {
  lock(&process->counters_lock);
  const Area* area = claim_area(2);
  unlock(&process->counters_lock);
  return as_word(area);
}

bool take_birth(uint64_t birth) { return set_gs_base(base_of(reinterpret_cast<Area*>(birth))); }

void leave_birth(uint64_t birth) { __atomic_sub_fetch(&reinterpret_cast<Area*>(birth)->users, 1, __ATOMIC_RELEASE); }

void leave_shared_counters_of_parent() {
  change_inherited([](const Object& object, Array*) { clear(object); });
}

void store_shared_counters() {
  for (const Array* a = arrays; a; a = a->next) {
    if (a->values != 0 && a->has_memory) memcpy(at<char>(process->base, a->values), a->pages, a->size);
  }
}

}  // namespace libprof
