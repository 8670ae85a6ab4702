#include "output.h"

#include <cerrno>

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

}  // namespace prof
