// The problem. Counters that all threads of a process increment lie in the object's own memory, where its code wants them.
// They have to be in the profile at each moment, as others are (block_counters.cc). But a library comes and goes: nothing
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

#include "shared_counters.h"

#include "counter_values.h"
#include "file.h"
#include "libprof/data/heavy.h"
#include "libprof/kernel/mappings.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "modules.h"

namespace libprof {

namespace {

// The counters of one file. Copied by fork like any memory of a program.
struct Array {
  Array* next;
  uint64_t size;    // bytes, whole pages
  Block values;     // in the profile of this process; 0: there are none
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
  a->values = 0;
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

// With the lock of the counters. `is_inherited`: what the object has there was counted by the parent. False if the object
// has what it had.
bool count_in(Array* a, Block module, const Object& object, bool is_inherited) {
  const bool is_new = a->values == 0;
  if (is_new && !take_pages(a)) return false;
  if (!is_inherited) add_from(a, object.counters, !is_new);
  const bool is_mapped = map_twice(a->pages, reinterpret_cast<char*>(object.counters), a->size);
  if (!is_mapped && !is_child) say(path_of(a), ": memory cannot be mapped twice; its basic blocks are not counted");
  if (is_new && !(is_mapped && list_values(module, a->values, a->size))) take_back_pages(a);
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

void leave_shared_counters_of_parent() {
  change_inherited([](const Object& object, Array*) { clear(object); });
}

void store_shared_counters() {
  for (const Array* a = arrays; a; a = a->next) {
    if (a->values != 0 && a->has_memory) memcpy(at<char>(process->base, a->values), a->pages, a->size);
  }
}

}  // namespace libprof
