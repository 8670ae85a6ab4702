// prof run --libs: a program with copies of the shared libraries that it runs with.

#ifndef PROF_COMMANDS_COPIES_LIBRARIES_H
#define PROF_COMMANDS_COPIES_LIBRARIES_H

#include <string>

#include "prof/commands/options/options.h"

namespace prof {

struct CopyWithLibraries {
  std::string program;      // path of the program's copy; "" if profld refused it
  std::string shadow_root;  // where it and those of the libraries are; "" if there are none of libraries
  bool is_audited = false;  // the dynamic linker is led there by the audit library, not by a search path
  std::string tunables;     // what GLIBC_TUNABLES has to be; "" if it need not change
};

// The copies of `program` and of those of its libraries that match one of options.libraries (all, if that is empty), made
// unless they are there from an earlier time. Says in one line each why there are none of the libraries, or not of one of
// them. Throws Error for other failures.
//
// Libraries that the program has loaded in earlier runs, while it ran, are among them. Copies are kept by what they were
// made of, so programs share them; each program has a shadow root of its own (shadow_root.h), since it depends on the
// options, too.
CopyWithLibraries copy_with_libraries(const std::string& program, const Options& options);

// After a run: which libraries the program has loaded that are wanted, and had no copies. "" if none.
std::string remark_on_missed_libraries(const CopyWithLibraries& copy, const Options& options);

}  // namespace prof

#endif
