// What profld --latency puts into a program for the runtime, which takes the hooks of functions away while the program
// runs (libprof/hooks/leaving.cc): where each function calls its hooks. Mapped; the program header of type
// kHookSitesSegment says where.
//
// A HookSites, then its HookEntry structures, ascending by their place; then, for each function and once more, the
// number of its first call (uint32_t); then the calls of hooks (int32_t, places), of each function those of its exits
// first, and then those of its entries. A function is all code that control passes through without hooks: it may have
// several entries, and whichever of them was used, any of its exits may be. Imports have an entry, that of their thunk,
// and no calls: their hooks are called where they are called from.
//
// Places are distances from the HookSites, in bytes, to the end of the call of a hook. This is
//
//     call *word(%rip)        ff 15 and four bytes
//
// with one byte before it, 48, if the call of an entry hook would begin with the last byte of an aligned word of eight.
// So the first two bytes lie in one such word, and a jump over the rest can be stored there while others run the code.
//
// Where an import is called, there are two calls of thunks, with the instruction that calls it between them:
//
//     call thunk_in           e8 and four bytes, of which the first two lie in one word, too
//     call import
//     call thunk_out          the same
//
// Little-endian.

#ifndef LIBPROF_FORMAT_HOOK_SITES_H
#define LIBPROF_FORMAT_HOOK_SITES_H

#include <stdint.h>

namespace prof_format {

inline constexpr uint32_t kHookSitesSegment = 0x6f50726c;

struct HookSites {
  uint32_t entries;    // HookEntry structures
  uint32_t functions;  // HookEntry::function is less
  uint32_t calls;
  int32_t thunks;  // the place where imports' thunks begin, thunk_out first; 0: there are none
};

struct HookEntry {
  int32_t place;
  uint32_t function;
};

inline constexpr uint64_t kHookCallSize = 6;   // bytes, without the one before it
inline constexpr uint64_t kThunkCallSize = 5;  // of e8 and its distance

// Whether two bytes at an address lie in two aligned words.
inline constexpr bool crosses_word(uint64_t address) { return address % 8 == 7; }

}  // namespace prof_format

#endif
