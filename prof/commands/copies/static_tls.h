// Room for thread-local variables of libraries that a program is started with: see static_tls.cc.

#ifndef PROF_COMMANDS_COPIES_STATIC_TLS_H
#define PROF_COMMANDS_COPIES_STATIC_TLS_H

#include <string>
#include <vector>

namespace prof {

// What the environment variable GLIBC_TUNABLES, which is `present` now ("" if it is not there), has to be for a program that
// is audited (DT_AUDIT) and loads these libraries (paths). "" if it need not change.
std::string tunables_for(const std::vector<std::string>& libraries, const std::string& present);

}  // namespace prof

#endif
