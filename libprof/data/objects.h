// The program and the libraries that call hooks, as the loader has put them into memory. A library tells of itself when
// it is loaded (libraries.cc); nothing tells when it is unloaded, so an object stays on the list until another one lies
// in its place. Forked children inherit the list.

#ifndef LIBPROF_OBJECTS_H
#define LIBPROF_OBJECTS_H

#include <elf.h>

#include "state.h"

namespace libprof {

struct Object {
  uint64_t bias = 0, start = 0, end = 0;  // run-time addresses, as in Module
  uint64_t code_start = 0, code_end = 0;  // of the functions with hooks
  uint64_t counters = 0;                  // of blocks, those that all threads share: their address; 0: it has none
  uint64_t counters_size = 0;             // bytes, whole pages
  uint64_t increments = 0;                // of a library without hooks: where they are listed; 0: they are not
  uint64_t increments_size = 0;           // bytes
  uint32_t build_id_size = 0;             // bytes used of build_id
  uint8_t build_id[sizeof Module::build_id]{};
};

// `headers`: the program header table in memory. Nothing in it is trusted beyond the mapped range.
Object describe_object(const Elf64_Phdr* headers, uint64_t count, uint64_t bias);

// The program's own headers; no `count` if they were not found. Needs much stack.
struct ProgramHeaders {
  const Elf64_Phdr* start = nullptr;
  uint64_t count = 0;
  uint64_t bias = 0;
};
ProgramHeaders find_program();

// The words through which the program calls the hooks; null if it does not say.
uint64_t* find_hook_words(const ProgramHeaders& program);

// Bias of an object that is mapped from `start` on.
uint64_t bias_of(const Elf64_Phdr* headers, uint64_t count, uint64_t start);

// Whether the module in the profile is that object, in the same place.
bool is_same(const Module& module, const Object& object);

// How far one is in the list; at first before its start.
struct ObjectPlace {
  uint64_t index = 0;
};

// All may be called on any path, by several threads at a time.
void remember_object(const Object& object);  // instead of those that it overlaps
bool find_object(uint64_t address, Object* found);
bool next_object(ObjectPlace* place, Object* found);  // one after the other; false: there are no more
bool is_in_hooked_code(uint64_t address);

// Whether an object is there; and the same when what is known of the page is to be found out first, which the thread
// keeps in one word.
bool find_out_page(State* s, uint64_t address);
inline bool is_in_object(State* s, uint64_t address) {
  const uint64_t page = address / kPage, found = load(&s->known_pages[page % kKnownPages]);
  return found >> 1 == page ? found & 1 : find_out_page(s, address);
}

// Tells that hooked code lies in the page of that address, which no file is known to have.
void know_page(State* s, uint64_t address);

// To be called when a library was loaded: in which pages hooked code lies must be found out anew.
void forget_pages(State* s);

}  // namespace libprof

#endif
