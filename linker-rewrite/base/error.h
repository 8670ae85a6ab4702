// The one exception of the rewriter: its message is fit for a user ("what is wrong; what to do"), without the
// "profld: FILE: " that main puts before it.

#ifndef LINKER_REWRITE_BASE_ERROR_H
#define LINKER_REWRITE_BASE_ERROR_H

#include <stdexcept>
#include <string>

namespace profld {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  bool is_nothing_to_rewrite = false;  // nothing is wrong: nothing in the file can be rewritten, or was to be
};

}  // namespace profld

#endif
