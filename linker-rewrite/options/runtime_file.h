// Where the runtime is that belongs to a profld: the default of --libprof.

#ifndef OPTIONS_RUNTIME_FILE_H
#define OPTIONS_RUNTIME_FILE_H

#include <unistd.h>

#include <string>

namespace prof_options {

// The file called `name` of the runtime, for a profld in the folder `bin`. Installed it lies in ../lib/profld, a folder
// of its own: it is nothing to link with, and in lib/ the dynamic linker's cache would offer it to everyone. Built it
// lies in ../lib.
inline std::string runtime_file(const std::string& bin, const std::string& name) {
  const std::string installed = bin + "/../lib/profld/" + name;
  return access(installed.c_str(), F_OK) == 0 ? installed : bin + "/../lib/" + name;
}

}  // namespace prof_options

#endif
