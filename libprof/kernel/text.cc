#include "text.h"

#include "libprof/printable.h"
#include "syscall.h"

// The compiler calls these three on its own; their loops must not become calls of themselves.
extern "C" {

void* memcpy(void* to, const void* from, size_t size) {
  void* result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
  return result;
}

void* memset(void* to, int value, size_t size) {
  void* result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
  return result;
}

int memcmp(const void* a, const void* b, size_t size) {
  auto* p = static_cast<const unsigned char*>(a);
  auto* q = static_cast<const unsigned char*>(b);
  for (; size != 0; --size, ++p, ++q) {
    if (*p != *q) return *p < *q ? -1 : 1;
  }
  return 0;
}

}  // extern "C"

namespace libprof {

size_t length_of(const char* s) {
  size_t n = 0;
  while (s[n] != 0) ++n;
  return n;
}

bool equal(const char* a, const char* b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == 0) return true;
  }
  return false;
}

bool ends_with(const char* s, const char* end) {
  const size_t n = length_of(s), m = length_of(end);
  return n >= m && equal(s + (n - m), end);
}

uint64_t parse_hex(const char** p) {
  uint64_t value = 0;
  for (;; ++*p) {
    const char c = **p;
    if (c >= '0' && c <= '9') {
      value = value << 4 | uint64_t(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | uint64_t(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

uint64_t parse_decimal(const char** p) {
  uint64_t value = 0;
  for (; **p >= '0' && **p <= '9'; ++*p) value = value * 10 + uint64_t(**p - '0');
  return value;
}

Line& Line::operator<<(const char* s) {
  while (*s != 0 && at_ != end_) *at_++ = *s++;
  *at_ = 0;
  return *this;
}

Line& Line::operator<<(uint64_t number) {
  char digits[21];
  char* p = digits + sizeof digits - 1;
  *p = 0;
  do {
    *--p = char('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return *this << p;
}

void say(const char* a, const char* b, const char* c, const char* d) {
  char buffer[1024];
  size_t n = 0;
  const auto put = [&](const char* bytes, size_t size) {
    if (size > sizeof buffer - 1 - n) return;
    memcpy(buffer + n, bytes, size);
    n += size;
  };
  const char* const parts[] = {"prof: ", a, b, c, d};
  for (const char* part : parts) prof_text::put_printable(part, length_of(part), put);
  buffer[n++] = '\n';
  syscall4(__NR_write, 2, as_word(buffer), n);
}

const char* error_text(int64_t number) {
  switch (number) {
    case EPERM:
      return "operation not permitted";
    case ENOENT:
      return "no such directory";
    case ENOMEM:
      return "out of memory";
    case EACCES:
      return "permission denied";
    case ENOTDIR:
      return "not a directory";
    case ENFILE:
    case EMFILE:
      return "too many open files";
    case EFBIG:
      return "the limit on file sizes is too small";
    case ENOSPC:
      return "no space left on the device";
    case EROFS:
      return "the file system is read-only";
    case ENAMETOOLONG:
      return "the name is too long";
    case ELOOP:
      return "a link on the way belongs to somebody else";
    case EOPNOTSUPP:
      return "this kernel cannot keep a forked child out of it; use Linux 4.14 or later";
    case EDQUOT:
      return "the disk quota is exceeded";
    default:
      return "the file system refused it";
  }
}

size_t read_text(const char* path, char* buffer, size_t size) {
  size_t used = 0;
  const int64_t fd = open_file(path, kReadOnly | kCloseOnExec);
  if (fd >= 0) {
    while (used < size - 1) {
      const int64_t n = read_file(fd, buffer + used, size - 1 - used);
      if (n <= 0) break;
      used += size_t(n);
    }
    close_file(fd);
  }
  buffer[used] = 0;
  return used;
}

// The name in field 2 may contain anything, so fields are counted from its last ')'.
uint64_t field_of_process(ProcessField wanted) {
  char text[1024];
  const size_t n = read_text("/proc/self/stat", text, sizeof text);
  size_t at = n;
  while (at > 0 && text[at - 1] != ')') --at;
  const char* p = text + at;
  for (int field = 2; *p != 0 && field < wanted; ++p) field += *p == ' ';
  return parse_decimal(&p);
}

LineReader::LineReader(const char* path, char separator)
    : fd_(open_file(path, kReadOnly | kCloseOnExec)), separator_(separator) {}

LineReader::~LineReader() {
  if (fd_ >= 0) close_file(fd_);
}

const char* LineReader::next() {
  if (fd_ < 0) return nullptr;
  size_t n = 0;
  bool is_begun = false;
  for (;;) {
    if (used_ == size_) {
      const int64_t got = at_end_ ? 0 : read_file(fd_, buffer_, sizeof buffer_);
      if (got <= 0) {
        at_end_ = true;
        break;
      }
      used_ = 0;
      size_ = size_t(got);
    }
    const char c = buffer_[used_++];
    is_begun = true;
    if (c == separator_) break;
    if (n < sizeof line_ - 1) line_[n++] = c;
  }
  line_[n] = 0;
  return is_begun ? line_ : nullptr;
}

}  // namespace libprof
