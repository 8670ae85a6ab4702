// The list is an array of entries, and more arrays as they are needed. An entry has a word that says what it is;
// whoever changes that word from free to being written owns the entry. A reader takes a copy and looks whether the
// entry was valid before and after: a library cannot be replaced by another one between two steps of code that lies in
// it.

#include "objects.h"

#include "libprof/format/blocks.h"
#include "libprof/format/map.h"
#include "libprof/kernel/mappings.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "settings.h"

namespace libprof {

namespace {

constexpr uint64_t kAuxHeaders = 3, kAuxHeaderCount = 5;

enum EntryState : uint32_t { kFree, kBeingWritten, kValid };

struct Entry {
  EntryState state = kFree;
  uint32_t generation = 0;  // how often it was written
  Object object;
};

constexpr uint64_t kEntries = 64;
struct Entries {
  Entry entries[kEntries];
  Entries* next = nullptr;
};
// All zeros, and not by code that runs when libprof.so is initialized: libraries may be there before (-z initfirst).
constinit Entries first;

bool change(Entry* e, EntryState from, EntryState to) {
  return __atomic_compare_exchange_n(&e->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

bool copy(const Entry& e, Object* out) {
  const uint32_t generation = __atomic_load_n(&e.generation, __ATOMIC_ACQUIRE);
  if (__atomic_load_n(&e.state, __ATOMIC_ACQUIRE) != kValid) return false;
  memcpy(out, &e.object, sizeof *out);
  ordered();
  return __atomic_load_n(&e.state, __ATOMIC_ACQUIRE) == kValid && load(&e.generation) == generation;
}

// Calls `visit(entry)` for all entries until it returns true. Whether it did.
template <class Visit>
bool any_entry(Visit visit) {
  for (Entries* p = &first; p; p = __atomic_load_n(&p->next, __ATOMIC_ACQUIRE)) {
    for (Entry& e : p->entries) {
      if (visit(e)) return true;
    }
  }
  return false;
}

bool write_if_free(Entry& e, const Object& object) {
  if (!change(&e, kFree, kBeingWritten)) return false;
  ++e.generation;
  memcpy(&e.object, &object, sizeof object);
  __atomic_store_n(&e.state, kValid, __ATOMIC_RELEASE);
  return true;
}

void add_entries() {
  auto* more = static_cast<Entries*>(map_guarded(sizeof(Entries)));
  if (!more) return;
  for (Entries* p = &first;;) {
    Entries* next = nullptr;
    if (__atomic_compare_exchange_n(&p->next, &next, more, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
    p = next;
  }
}

bool is_same_file(const uint8_t* build_id, uint32_t size, const Object& object) {
  return size == object.build_id_size && memcmp(build_id, object.build_id, size) == 0;
}

void find_build_id(const char* p, uint64_t size, Object* object) {
  const char* end = p + size;
  while (uint64_t(end - p) >= sizeof(Elf64_Nhdr)) {
    auto* note = reinterpret_cast<const Elf64_Nhdr*>(p);
    const uint64_t name = (note->n_namesz + uint64_t(3)) & ~uint64_t(3);
    const uint64_t descriptor = (note->n_descsz + uint64_t(3)) & ~uint64_t(3);
    p += sizeof *note;
    if (name + descriptor > uint64_t(end - p)) return;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(p, "GNU", 4) == 0 &&
        note->n_descsz <= sizeof object->build_id) {
      memcpy(object->build_id, p + name, note->n_descsz);
      object->build_id_size = note->n_descsz;
      return;
    }
    p += name + descriptor;
  }
}

}  // namespace

Object describe_object(const Elf64_Phdr* headers, uint64_t count, uint64_t bias) {
  Object object;
  object.bias = bias;
  object.start = ~uint64_t(0);
  for (uint64_t i = 0; i < count; ++i) {
    const Elf64_Phdr& h = headers[i];
    if (h.p_type != PT_LOAD || h.p_memsz == 0) continue;
    const uint64_t start = bias + h.p_vaddr, end = start + h.p_memsz;
    if (start < object.start) object.start = start;
    if (end > object.end) object.end = end;
    // The first one after the program headers, or the last one: profld puts the copies after the program headers that
    // it makes, and both after all that was there, or in front of that.
    const uint64_t table = reinterpret_cast<uint64_t>(headers);
    const bool is_found = object.code_start > table && start > object.code_start;
    if ((h.p_flags & PF_X) && !is_found) {
      object.code_start = start;
      object.code_end = end;
    }
  }
  for (uint64_t i = 0; i < count; ++i) {
    const Elf64_Phdr& h = headers[i];
    const uint64_t at = bias + h.p_vaddr;
    if (h.p_type == prof_format::kSharedCountersSegment && at >= object.start && at + h.p_memsz <= object.end) {
      object.counters = at;
      object.counters_size = h.p_memsz / kPage * kPage;
    }
    if (h.p_type == prof_format::kIncrementsSegment && h.p_memsz >= sizeof(prof_format::IncrementsHeader) &&
        at >= object.start && at + h.p_memsz <= object.end) {
      object.increments = at;
      object.increments_size = h.p_memsz;
    }
    if (h.p_type != PT_NOTE || object.build_id_size != 0 || at < object.start || at + h.p_memsz > object.end) continue;
    find_build_id(reinterpret_cast<const char*>(at), h.p_memsz, &object);
  }
  return object;
}

uint64_t bias_of(const Elf64_Phdr* headers, uint64_t count, uint64_t start) {
  uint64_t lowest = ~uint64_t(0);
  for (uint64_t i = 0; i < count; ++i) {
    const Elf64_Phdr& h = headers[i];
    if (h.p_type == PT_LOAD && h.p_memsz != 0 && h.p_vaddr < lowest) lowest = h.p_vaddr;
  }
  return start - (lowest & ~(kPage - 1));
}

ProgramHeaders find_program() {
  auto* headers = reinterpret_cast<const Elf64_Phdr*>(auxiliary_value(kAuxHeaders));
  const uint64_t count = auxiliary_value(kAuxHeaderCount);
  if (!headers || count == 0 || count > 1000) return {};
  const Elf64_Phdr* own = nullptr;
  for (uint64_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) own = &headers[i];
  }
  if (own) return {headers, count, as_word(headers) - own->p_vaddr};
  // A static program need not have PT_PHDR.
  FileMapping file;
  if (!find_file(as_word(headers), &file)) return {};
  return {headers, count, bias_of(headers, count, file.start)};
}

uint64_t* find_hook_words(const ProgramHeaders& program) {
  const auto [headers, count, bias] = program;
  if (count == 0) return nullptr;
  const Object object = describe_object(headers, count, bias);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = object.bias + headers[i].p_vaddr, size = headers[i].p_memsz;
    if (headers[i].p_type != PT_DYNAMIC || at < object.start || at + size > object.end) continue;
    auto* entry = reinterpret_cast<const Elf64_Dyn*>(at);
    for (uint64_t left = size / sizeof *entry; left != 0 && entry->d_tag != DT_NULL; --left, ++entry) {
      if (entry->d_tag == prof_format::kHooksTag) return reinterpret_cast<uint64_t*>(object.bias + entry->d_un.d_ptr);
    }
  }
  return nullptr;
}

bool is_same(const Module& module, const Object& object) {
  return module.bias == object.bias && module.start == object.start && module.end == object.end &&
         is_same_file(module.build_id, module.build_id_size, object);
}

void remember_object(const Object& object) {
  Object found;
  const bool is_there = any_entry([&](Entry& e) {
    if (!copy(e, &found) || found.start >= object.end || found.end <= object.start) return false;
    if (found.bias == object.bias && found.start == object.start && found.end == object.end &&
        is_same_file(found.build_id, found.build_id_size, object))
      return true;
    change(&e, kValid, kFree);
    return false;
  });
  const auto write = [&](Entry& e) { return write_if_free(e, object); };
  if (is_there || any_entry(write)) return;
  add_entries();
  any_entry(write);
}

bool find_object(uint64_t address, Object* found) {
  return any_entry([&](Entry& e) {
    // Most entries are of other addresses, and need no copy to tell.
    if (__atomic_load_n(&e.state, __ATOMIC_ACQUIRE) != kValid) return false;
    if (address < load(&e.object.start) || address >= load(&e.object.end)) return false;
    return copy(e, found) && address >= found->start && address < found->end;
  });
}

bool next_object(ObjectPlace* place, Object* found) {
  uint64_t index = 0;
  return any_entry([&](Entry& e) { return index++ == place->index && ++place->index && copy(e, found); });
}

bool is_in_hooked_code(uint64_t address) {
  Object found;
  return find_object(address, &found) && address >= found.code_start && address < found.code_end;
}

bool find_out_page(State* s, uint64_t address) {
  const uint64_t page = address / kPage;
  Object object;
  if (find_object(address, &object)) {
    know_page(s, address);
    return true;
  }
  store(&s->known_pages[page % kKnownPages], page << 1);
  return false;
}

void know_page(State* s, uint64_t address) {
  const uint64_t page = address / kPage;
  store(&s->known_pages[page % kKnownPages], page << 1 | 1);
}

void forget_pages(State* s) {
  for (uint64_t& page : s->known_pages) store(&page, uint64_t(0));
}

}  // namespace libprof
