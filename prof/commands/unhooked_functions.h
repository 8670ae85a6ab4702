// Functions of libraries that have no hooks of their own: so the files that call them get hooks at the calls. These are all
// of libraries that are not rewritten, and of the others those that they choose when they are loaded, by IFUNC resolvers
// (strlen, memcpy, sin): profld leaves them out.

#ifndef PROF_COMMANDS_UNHOOKED_FUNCTIONS_H
#define PROF_COMMANDS_UNHOOKED_FUNCTIONS_H

#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace prof {

class UnhookedFunctions {
 public:
  // `libraries`: files that are read when something is asked for the first time. `globs`: which of them are rewritten, but
  // for `original`, which is not.
  UnhookedFunctions(std::vector<std::string> libraries, std::vector<std::string> globs, std::string original = "")
      : libraries_(std::move(libraries)), globs_(std::move(globs)), original_(std::move(original)) {}

  // profld's option for a file: which imports it shall profile. Any thread may call it.
  std::string imports_option(const std::string& file);

 private:
  const std::vector<std::string> libraries_, globs_;
  const std::string original_;
  std::once_flag are_read_;
  std::set<std::string> names_;
};

}  // namespace prof

#endif
