// The problem. The runtime calls a few functions of the C library: those that it stands before (setuid), and some that
// only the library can answer. A program may have functions of these names, or a dlsym or dlopen of its own, and
// exports them: then the dynamic linker gives us the program's. They may do something else, and they are rewritten: the
// runtime's calls would be counted as the program's.
//
// The way taken. The dynamic linker keeps a list of all that is loaded, for debuggers (_r_debug of glibc,
// _dl_debug_addr of musl), in the order in which symbols are looked up. We look for the name in the symbol tables of
// those after ourselves.
//
// Limits. In a namespace of its own (dlmopen) the runtime is not on that list, and in a static program there is none.
// What is found is then what the dynamic linker has bound.

#include "next_function.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {

struct LinkMap {  // the beginning of struct link_map
  uint64_t bias;
  const char* name;
  const Elf64_Dyn* dynamic;
  LinkMap *next, *previous;
};
struct DebuggerView {  // struct r_debug
  int32_t version;
  LinkMap* first;
};

[[gnu::weak, gnu::visibility("default")]] extern DebuggerView _r_debug;
[[gnu::weak, gnu::visibility("default")]] extern DebuggerView* _dl_debug_addr;
[[gnu::visibility("hidden")]] extern const Elf64_Dyn _DYNAMIC[];
}

namespace libprof {

namespace {

constexpr uint16_t kHiddenVersion = 0x8000;

bool is_same(const char* a, const char* b) {
  for (; *a == *b; ++a, ++b)
    if (*a == 0) return true;
  return false;
}

struct Symbols {
  const Elf64_Sym* symbols;
  const char* names;
  const uint32_t* gnu_hash;
  const uint32_t* hash;
  const uint16_t* versions;
};

// Some dynamic linkers make addresses of what is in the dynamic section, others leave it as it is in the file.
template <class T>
const T* at_run_time(const LinkMap* map, uint64_t value) {
  return reinterpret_cast<const T*>(value < map->bias ? value + map->bias : value);
}

Symbols symbols_of(const LinkMap* map) {
  Symbols s = {};
  for (const Elf64_Dyn* d = map->dynamic; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SYMTAB) s.symbols = at_run_time<Elf64_Sym>(map, d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) s.names = at_run_time<char>(map, d->d_un.d_ptr);
    if (d->d_tag == DT_GNU_HASH) s.gnu_hash = at_run_time<uint32_t>(map, d->d_un.d_ptr);
    if (d->d_tag == DT_HASH) s.hash = at_run_time<uint32_t>(map, d->d_un.d_ptr);
    if (d->d_tag == DT_VERSYM) s.versions = at_run_time<uint16_t>(map, d->d_un.d_ptr);
  }
  return s;
}

// The one that is meant where no version is named.
bool is_function(const Symbols& s, uint32_t index, const char* name) {
  const Elf64_Sym& symbol = s.symbols[index];
  if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return false;
  if (s.versions && (s.versions[index] & kHiddenVersion)) return false;
  return is_same(s.names + symbol.st_name, name);
}

uint32_t gnu_hash_of(const char* name) {
  uint32_t h = 5381;
  for (; *name != 0; ++name) h = h * 33 + uint8_t(*name);
  return h;
}

// The index of the function's symbol; 0 if there is none.
uint32_t find_symbol(const Symbols& s, const char* name) {
  if (!s.symbols || !s.names) return 0;
  if (s.gnu_hash) {
    const uint32_t buckets = s.gnu_hash[0], first = s.gnu_hash[1], words_of_filter = s.gnu_hash[2];
    const uint32_t* bucket = s.gnu_hash + 4 + 2 * words_of_filter;
    const uint32_t* chain = bucket + buckets;
    const uint32_t hash = gnu_hash_of(name);
    uint32_t index = buckets != 0 ? bucket[hash % buckets] : 0;
    if (index < first) return 0;
    for (;; ++index) {
      const uint32_t found = chain[index - first];
      if ((found | 1) == (hash | 1) && is_function(s, index, name)) return index;
      if (found & 1) return 0;  // the last of its bucket
    }
  }
  const uint32_t count = s.hash ? s.hash[1] : 0;
  for (uint32_t index = 1; index < count; ++index)
    if (is_function(s, index, name)) return index;
  return 0;
}

const LinkMap* first_loaded() {
  if (&_r_debug) return _r_debug.first;
  return &_dl_debug_addr && _dl_debug_addr ? _dl_debug_addr->first : nullptr;
}

const LinkMap* own_map() {
  const LinkMap* map = first_loaded();
  while (map && map->dynamic != _DYNAMIC) map = map->next;
  return map;
}

// In the libraries from there on, up to `end`.
void* find_from(const LinkMap* map, const LinkMap* end, const char* name) {
  for (; map && map != end; map = map->next) {
    if (!map->dynamic) continue;
    const Symbols s = symbols_of(map);
    const uint32_t index = find_symbol(s, name);
    if (index != 0 && s.symbols) return reinterpret_cast<void*>(map->bias + s.symbols[index].st_value);
  }
  return nullptr;
}

}  // namespace

bool knows_libraries() { return own_map() != nullptr; }

bool is_found_first(const char* name) {
  const LinkMap* own = own_map();
  return own && !find_from(first_loaded(), own, name);
}

void* find_next_function(const char* name) {
  const LinkMap* own = own_map();
  return own ? find_from(own->next, nullptr, name) : nullptr;
}

// The first on the list is the program.
void* find_library_function(const char* name) {
  const LinkMap* own = own_map();
  if (!own) return nullptr;
  void* found = find_from(own->next, nullptr, name);
  return found ? found : find_from(first_loaded()->next, own, name);
}

}  // namespace libprof
