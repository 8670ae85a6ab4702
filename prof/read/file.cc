#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "error.h"

namespace prof {

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

std::optional<int64_t> time_of_change(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return {};
  return int64_t(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
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

std::optional<std::string> read_all(std::istream& in) {
  std::string bytes;
  for (char part[4096]; in.read(part, sizeof part) || in.gcount() != 0;) bytes.append(part, size_t(in.gcount()));
  return in.bad() ? std::nullopt : std::optional(std::move(bytes));
}

}  // namespace prof
