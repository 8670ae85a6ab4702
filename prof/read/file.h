// Files that somebody else may have made, opened and read with care.

#ifndef PROF_READ_FILE_H
#define PROF_READ_FILE_H

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

namespace prof {

// Closes a file descriptor at its end.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

// What stands after the last slash; all of it if there is none.
inline std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// When the bytes of a file were last changed, in nanoseconds since the epoch; none if it is not there.
std::optional<int64_t> time_of_change(const std::string& path);

// A descriptor or -1. Does not wait for a writer if `path` is a FIFO that happens to be called prof.1.
int open_to_read(const std::string& path);

// Reads `size` bytes at `offset`; returns how many there were. Throws Error about `path` if the file cannot be read.
uint64_t read_at(int fd, void* to, uint64_t size, uint64_t offset, const std::string& path);

// All that there is; none if it cannot be read to its end, as a file in /proc of a process that ends meanwhile.
// (Iterators of a stream throw then.)
std::optional<std::string> read_all(std::istream& in);

}  // namespace prof

#endif
