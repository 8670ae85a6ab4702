#include "memory.h"

#include "syscall.h"

namespace libprof {

namespace {

uint64_t whole_pages(uint64_t size) { return (size + kPage - 1) / kPage * kPage; }

}  // namespace

char* reserve_memory(uint64_t size) {
  const int64_t p =
      syscall6(__NR_mmap, 0, size, kProtectNone, kMapPrivate | kMapAnonymous | kMapNoReserve, uint64_t(-1), 0);
  return is_error(p) ? nullptr : reinterpret_cast<char*>(p);
}

bool open_memory(void* p, uint64_t size) { return syscall4(__NR_mprotect, as_word(p), size, kProtectReadWrite) == 0; }

void* map_guarded(uint64_t size) {
  size = whole_pages(size);
  char* start = reserve_memory(size + 2 * kPage);
  if (!start) return nullptr;
  if (open_memory(start + kPage, size)) return start + kPage;
  unmap_memory(start, size + 2 * kPage);
  return nullptr;
}

void unmap_guarded(void* p, uint64_t size) {
  unmap_memory(static_cast<char*>(p) - kPage, whole_pages(size) + 2 * kPage);
}

}  // namespace libprof
