// Text: reads files in /proc, and writes the one-line messages to standard error.

#ifndef LIBPROF_TEXT_H
#define LIBPROF_TEXT_H

#include <stddef.h>
#include <stdint.h>

extern "C" {
void* memcpy(void* to, const void* from, size_t size);
void* memset(void* to, int value, size_t size);
int memcmp(const void* a, const void* b, size_t size);
}

namespace libprof {

size_t length_of(const char* s);
bool equal(const char* a, const char* b);
bool ends_with(const char* s, const char* end);

// Read unsigned numbers; *p moves after the last digit.
uint64_t parse_hex(const char** p);
uint64_t parse_decimal(const char** p);

// A string that is built in a fixed buffer; text that does not fit is left out.
class Line {
 public:
  Line(char* buffer, size_t size) : at_(buffer), end_(buffer + size - 1) { *at_ = 0; }
  Line& operator<<(const char* s);
  Line& operator<<(uint64_t number);
  bool is_full() const { return at_ == end_; }

 private:
  char* at_;
  char* end_;
};

// Writes "prof: " and the parts as one line to file descriptor 2.
void say(const char* a, const char* b = "", const char* c = "", const char* d = "");

// The meaning of an errno value (positive), for the few that file operations give.
const char* error_text(int64_t number);

// Reads a whole small file into a buffer, NUL-terminated. Returns the number of bytes; 0 if it cannot be read.
size_t read_text(const char* path, char* buffer, size_t size);

// A number in /proc/self/stat; 0 if that cannot be read.
enum ProcessField : uint8_t { kThreadCount = 20, kStartTime = 22 };
uint64_t field_of_process(ProcessField wanted);

// A file, record by record; a record ends at the separator. Only the first 4 KiB of each are returned.
class LineReader {
 public:
  explicit LineReader(const char* path, char separator = '\n');
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  ~LineReader();
  bool is_open() const { return fd_ >= 0; }
  const char* next();  // null at the end; valid until the next call

 private:
  int64_t fd_;
  char separator_;
  bool at_end_ = false;
  size_t used_ = 0, size_ = 0;  // in buffer_
  char buffer_[1024];
  char line_[4096];
};

}  // namespace libprof

#endif
