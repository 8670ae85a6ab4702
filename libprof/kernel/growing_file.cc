#include "growing_file.h"

#include "syscall.h"

namespace libprof {

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
