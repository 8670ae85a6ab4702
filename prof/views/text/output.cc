#include "output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "prof/read/error.h"

namespace prof {

void Output::flush() {
  if (error_ == 0) {
    errno = 0;
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) error_ = errno ? errno : EIO;
  }
  buffer_.clear();
}

void Output::finish() {
  flush();
  if (error_ == 0 && std::fflush(file_) != 0) error_ = errno;
  if (error_ != 0 && error_ != EPIPE) throw Error(name_ + ": " + system_error(error_));
}

namespace {

std::FILE* open_new(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (!file) throw Error(path + ": " + system_error(errno));
  return file;
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : file_(open_new(path)), out_(file_, path) {}

OutputFile::~OutputFile() {
  if (!file_) return;
  std::fclose(file_);
  if (std::error_code e; std::filesystem::is_regular_file(out_.name(), e)) std::remove(out_.name().c_str());
}

void OutputFile::finish() {
  out_.finish();
  if (std::fclose(std::exchange(file_, nullptr)) != 0) throw Error(out_.name() + ": " + system_error(errno));
}

void write_file(const std::string& path, const std::function<void(Output&)>& write) {
  OutputFile file(path);
  write(file.out());
  file.finish();
}

namespace {

// COLUMNS; 0 if it is no number.
size_t columns_of_environment() {
  const char* const text = std::getenv("COLUMNS");
  if (!text) return 0;
  const std::string_view digits = text;
  size_t columns = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  return error == std::errc() && end == digits.data() + digits.size() ? columns : 0;
}

}  // namespace

std::optional<TerminalSize> terminal_size(int descriptor) {
  if (!isatty(descriptor)) return {};
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) size = {};
  const size_t columns = columns_of_environment();
  return TerminalSize{size.ws_row > 0 ? size.ws_row : size_t(24), columns > 0       ? columns
                                                                  : size.ws_col > 0 ? size.ws_col
                                                                                    : size_t(80)};
}

}  // namespace prof
