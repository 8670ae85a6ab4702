#include "output.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

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

void write_file(const std::string& path, const std::function<void(Output&)>& write) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (!file) throw Error(path + ": " + system_error(errno));
  Output out(file, path);
  try {
    write(out);
    out.finish();
  } catch (...) {
    std::fclose(file);
    if (std::error_code e; std::filesystem::is_regular_file(path, e)) std::remove(path.c_str());
    throw;
  }
  if (std::fclose(file) != 0) throw Error(path + ": " + system_error(errno));
}

}  // namespace prof
