// Names of functions from the separate debug file of a stripped program or library, for -F and -N. Nothing else is
// taken from there: what becomes of a program does not depend on what lies beside it.

#ifndef LINKER_REWRITE_ELF_DEBUG_NAMES_H
#define LINKER_REWRITE_ELF_DEBUG_NAMES_H

#include <map>
#include <string>
#include <vector>

#include "image.h"

namespace profld {

using DebugNames = std::map<OldAddr, std::vector<std::string>>;  // by the address of the function

// Empty if the image has symbols of its own, or nothing is found (debug_files.h says where). `path`: of the image.
// `folders`: those of the user, --debug-dir.
DebugNames read_debug_names(const Image& image, const std::string& path, const std::vector<std::string>& folders);

}  // namespace profld

#endif
