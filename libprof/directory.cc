// $PROFDIR may lead through directories in which others can make links, such as /tmp. O_NOFOLLOW and O_EXCL guard the
// last component of a name only, so we walk the path component by component, open each below the one before, and read
// links ourselves. We check what we have opened, so nobody can change it in between. What is not there is made, for the
// user alone, as mkdir -p does.

#include "directory.h"

#include "syscall.h"
#include "text.h"

namespace libprof {

namespace {

constexpr uint64_t kPathOnly = 010000000, kDirectory = 0200000;
constexpr uint32_t kTypeMask = 0170000, kLink = 0120000;
constexpr int kMostLinks = 40;  // as in the kernel

// The rest of the path. A link puts its target in front of it.
class Way {
 public:
  explicit Way(const char* path) { is_too_long_ = (Line(text_, sizeof text_) << path).is_full(); }
  bool is_too_long() const { return is_too_long_; }
  bool is_absolute() const { return *rest_ == '/'; }

  // The next component, or null. Valid until the next call.
  const char* next() {
    while (*rest_ == '/') ++rest_;
    if (*rest_ == 0) return nullptr;
    char* p = component_;
    while (*rest_ != 0 && *rest_ != '/' && p != component_ + sizeof component_ - 1) *p++ = *rest_++;
    *p = 0;
    return component_;
  }

  void go_by_way_of(const char* target) {
    char joined[sizeof text_];
    Line line(joined, sizeof joined);
    line << target << "/" << rest_;
    is_too_long_ = line.is_full();
    memcpy(text_, joined, sizeof text_);
    rest_ = text_;
  }

 private:
  char text_[4096];
  char component_[256];
  const char* rest_ = text_;
  bool is_too_long_ = false;
};

int64_t open_at(int64_t fd, const char* name, uint64_t flags) {
  return syscall4(__NR_openat, uint64_t(fd), as_word(name), kPathOnly | kCloseOnExec | flags);
}

// Closes `old` and returns `fd`.
int64_t replace(int64_t old, int64_t fd) {
  if (old >= 0) close_file(old);
  return fd;
}

}  // namespace

int64_t open_directory(const char* path) {
  Way way(path);
  const uint32_t user = uint32_t(syscall4(__NR_geteuid, 0));
  int64_t at = open_at(kCurrentDirectory, way.is_absolute() ? "/" : ".", kDirectory);
  int links = 0;
  while (at >= 0) {
    if (way.is_too_long()) return replace(at, kErrorNameTooLong);
    const char* name = way.next();
    if (!name) return at;
    int64_t found = open_at(at, name, kNoFollow);
    if (found == kErrorNoFile && syscall4(__NR_mkdirat, uint64_t(at), as_word(name), 0700) == 0)
      found = open_at(at, name, kNoFollow);
    FileStatus status;
    if (found < 0 || syscall4(__NR_fstat, uint64_t(found), as_word(&status)) != 0) return replace(at, found);
    if ((status.mode & kTypeMask) != kLink) {
      at = replace(at, found);
      continue;
    }
    char target[4096];
    const int64_t n = syscall4(__NR_readlinkat, uint64_t(found), as_word(""), as_word(target), sizeof target - 1);
    close_file(found);
    if (n < 0) return replace(at, n);
    if (status.user != 0 && status.user != user) return replace(at, kErrorForeignLink);
    if (++links > kMostLinks) return replace(at, kErrorForeignLink);
    target[n] = 0;
    way.go_by_way_of(target);
    if (target[0] == '/') at = replace(at, open_at(kCurrentDirectory, "/", kDirectory));
  }
  return at;
}

}  // namespace libprof
