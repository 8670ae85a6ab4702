#include "file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "error.h"

namespace prof {

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

int open_to_read(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

uint64_t read_at(int fd, void* to, uint64_t size, uint64_t offset, const std::string& path) {
  uint64_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd, static_cast<char*>(to) + done, size - done, off_t(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(path + ": " + system_error(errno));
    if (n == 0) break;
    done += uint64_t(n);
  }
  return done;
}

}  // namespace prof
