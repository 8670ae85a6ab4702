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

int64_t open_same_file(const char* path, uint64_t device, uint64_t inode) {
  const int64_t fd = open_file(path, kReadWrite | kNoFollow | kCloseOnExec);
  if (fd < 0) return -1;
  FileStatus status;
  if (syscall4(__NR_fstat, uint64_t(fd), as_word(&status)) == 0 && status.device == device && status.inode == inode)
    return fd;
  close_file(fd);
  return -1;
}

int64_t back_with_storage(void* start, uint64_t size) {
  int64_t result;
  do {
    result = advise(start, size, kAdvisePopulateWrite);
  } while (result == kErrorTryAgain || result == kErrorInterrupted);
  return result;
}

}  // namespace libprof
