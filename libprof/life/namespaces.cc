// The problem. dlmopen loads a library, and all that it needs, into a namespace of its own: so if it is a rewritten
// one, libprof.so a second time. Each copy would have words for each thread, and write a profile, of its own.
//
// The way taken. All copies are mappings of the same file, and /proc/self/maps shows where. The first one has a mark in
// its data. A copy that finds the mark in another one does nothing itself: its hooks jump to those of the first, and
// the functions that it has in the place of the C library's call the first one's, which lie at the same distance as all
// of it.
//
// When a namespace is closed, its libprof.so is unloaded like any library; there can only be sixteen of them at a time.
// But the first must stay: the C library calls it at each fork, and threads are in it. What a program needs from its
// start is never unloaded. If the program does not need libprof.so, but a library that it loads later does, the first
// copy asks the dynamic linker to keep it.

#include "namespaces.h"

#include "libprof/hooks/hook_selection.h"
#include "libprof/kernel/mappings.h"
#include "libprof/kernel/next_function.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"

namespace libprof {

int64_t distance_to_first;

namespace {

// Not zero, so that it lies in the file. It is kFirst in a copy that is the first.
constexpr uint32_t kUndecided = 1, kFirst = 2;
[[gnu::section(".data")]] uint32_t mark = kUndecided;

char own_path[4096];

// The mapping of the file in which `mark` lies.
bool find_own_data(Mapping* own) {
  LineReader maps("/proc/self/maps");
  while (const char* line = maps.next()) {
    if (!parse_mapping(line, own) || as_word(&mark) < own->start || as_word(&mark) >= own->end) continue;
    Line(own_path, sizeof own_path) << own->path;
    return true;
  }
  return false;
}

extern "C" {
[[gnu::weak, gnu::noplt, gnu::visibility("default")]] void* dlopen(const char* name, int flags);
}

constexpr int kNow = 2, kNoLoad = 4, kNoDelete = 0x1000;  // RTLD_*

}  // namespace

bool find_first_copy() {
  Mapping own, other;
  if (find_own_data(&own)) {
    LineReader maps("/proc/self/maps");
    while (const char* line = maps.next()) {
      if (!parse_mapping(line, &other) || other.start == own.start || !other.is_writable) continue;
      if (other.inode != own.inode || other.device != own.device || other.offset != own.offset) continue;
      const uint64_t there = other.start + (as_word(&mark) - own.start);
      if (there + sizeof mark > other.end || load(reinterpret_cast<const uint32_t*>(there)) != kFirst) continue;
      distance_to_first = int64_t(other.start - own.start);
      forward_hooks({in_first(_profin), in_first(_profout), in_first(_proftail), in_first(_profjump)},
                    {in_first(_proflibin), in_first(_proflibout), in_first(_proflibtail), in_first(_proflibjump)});
      return true;
    }
  }
  mark = kFirst;
  return false;
}

void stay_loaded() {
  if (is_program_rewritten() || !own_path[0]) return;
  if (auto* open = library_function("dlopen", dlopen)) open(own_path, kNow | kNoLoad | kNoDelete);
}

}  // namespace libprof
