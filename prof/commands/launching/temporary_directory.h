// A new directory for files that are not to stay.

#ifndef PROF_COMMANDS_LAUNCHING_TEMPORARY_DIRECTORY_H
#define PROF_COMMANDS_LAUNCHING_TEMPORARY_DIRECTORY_H

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "prof/read/error.h"

namespace prof {

class TemporaryDirectory {
 public:
  // Throws Error if none can be made.
  TemporaryDirectory() {
    const char* where = std::getenv("TMPDIR");
    path_ = std::string(where && *where ? where : "/tmp") + "/prof-XXXXXX";
    if (!mkdtemp(path_.data())) throw Error(path_ + ": " + system_error(errno));
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  // Removes it with all that is in it.
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace prof

#endif
