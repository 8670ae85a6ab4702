// Buffered text to a file, with errors kept: a full disk must be reported as one. And the terminal that it goes
// to, if it is one.

#ifndef PROF_VIEWS_TEXT_OUTPUT_H
#define PROF_VIEWS_TEXT_OUTPUT_H

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace prof {

class Output {
 public:
  // Writes to an open stream, which stays the caller's. `name` is what errors call it.
  Output(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {}

  const std::string& name() const { return name_; }

  void text(std::string_view s) {
    buffer_ += s;
    if (buffer_.size() >= kFull) flush();
  }
  void byte(char c) { text({&c, 1}); }
  void number(uint64_t n) {
    char digits[24];
    text({digits, size_t(std::to_chars(digits, digits + sizeof digits, n).ptr - digits)});
  }

  // Writes out what is left. Throws Error if anything could not be written, but not for a pipe that its reader closed:
  // that is how a reader says that it has seen enough.
  void finish();

 private:
  static constexpr size_t kFull = 1 << 16;
  void flush();

  std::FILE* file_;
  std::string name_;
  std::string buffer_;
  int error_ = 0;  // errno of the first failure
};

// A new file at a path, which is removed again unless it is finished.
class OutputFile {
 public:
  // Throws Error if it cannot be made.
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  Output& out() { return out_; }

  // To be called once, when all is written. Throws Error if anything could not be.
  void finish();

 private:
  std::FILE* file_;  // null once it is closed
  Output out_;
};

// Makes a new file at `path` and calls `write` with an Output to it. Throws Error if it cannot be written, and passes
// on what `write` throws; then no file is left.
void write_file(const std::string& path, const std::function<void(Output&)>& write);

// The terminal that something is printed on, if it is one.

struct TerminalSize {
  size_t rows, columns;

  // How many rows of a table are worth printing: so many that the lines around it are seen as well, and no more than
  // one reads.
  size_t rows_of_table() const {
    constexpr size_t kOthers = 8, kMin = 5, kMax = 25;
    return std::clamp(rows > kOthers ? rows - kOthers : 0, kMin, kMax);
  }
};

// The size of the terminal that a file descriptor is of; none if it is no terminal. The environment variable COLUMNS,
// where it is a number, goes before what the terminal says; 80 columns and 24 rows where neither is known.
std::optional<TerminalSize> terminal_size(int descriptor);

}  // namespace prof

#endif
