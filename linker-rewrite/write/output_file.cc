#include "output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace profld {

namespace {

constexpr size_t kBlock = 1 << 16;  // a block of this size that is all zero is not written

// Closes and removes the temporary file unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& final_path) : path_(final_path + ".XXXXXX") {
    fd_ = ::mkostemp(path_.data(), O_CLOEXEC);
    if (fd_ < 0) fail();
  }
  ~TemporaryFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const FilePart& part) {
    for (size_t at = 0; at < part.bytes.size(); at += kBlock) {
      const size_t size = std::min(kBlock, part.bytes.size() - at);
      const uint8_t* block = part.bytes.data() + at;
      if (std::all_of(block, block + size, [](uint8_t b) { return b == 0; })) continue;
      for (size_t done = 0; done < size;) {
        ssize_t n = ::pwrite(fd_, block + done, size - done, off_t(part.at.value + at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail();
        done += size_t(n);
      }
    }
  }
  void set_size(FileOffset size) {
    if (::ftruncate(fd_, off_t(size.value)) != 0) fail();
  }

  void rename_to(const std::string& final_path, mode_t mode) {
    if (::fchmod(fd_, mode) != 0) fail();
    if (::close(std::exchange(fd_, -1)) != 0) fail();
    if (::rename(path_.c_str(), final_path.c_str()) != 0) fail();
    path_.clear();
  }

 private:
  [[noreturn]] static void fail() { throw Error(std::string("cannot be written: ") + std::strerror(errno)); }

  std::string path_;
  int fd_;
};

}  // namespace

void write_program(const std::string& path, const std::string& original, const std::vector<FilePart>& parts) {
  struct stat from {
  }, to{};
  if (::stat(original.c_str(), &from) != 0) throw Error(std::string("cannot be read again: ") + std::strerror(errno));
  if (::stat(path.c_str(), &to) == 0) {
    if (from.st_dev == to.st_dev && from.st_ino == to.st_ino)
      throw Error("is the program itself; name another output with -o");
    if (!S_ISREG(to.st_mode)) throw Error("exists and is not a regular file; name another output with -o");
    if (::access(path.c_str(), W_OK) != 0) throw Error(std::string("cannot be written: ") + std::strerror(errno));
  }
  TemporaryFile file(path);
  for (const FilePart& part : parts) file.write(part);
  if (!parts.empty()) file.set_size(parts.back().at + parts.back().bytes.size());
  const mode_t mask = ::umask(0);
  ::umask(mask);
  file.rename_to(path, (from.st_mode & 0777) | (0111 & ~mask));
}

}  // namespace profld
