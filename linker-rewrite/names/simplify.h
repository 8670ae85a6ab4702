// Names of functions as people write them.
//
// A demangler writes out what a compiler has made of `std::map<std::string, int>': the inline namespace of the library
// (std::__cxx11::), the template after std::string, and the arguments that nobody gave: the comparison and the
// allocator. Here these are left out, and so are ABI tags. An argument that is not the default one stays.

#ifndef NAMES_SIMPLIFY_H
#define NAMES_SIMPLIFY_H

#include <string>

namespace prof_names {

// A demangled name without what its author did not write. Names of other languages than C++ hardly change; a name whose
// brackets do not match stays as it is.
std::string simplified(const std::string& demangled);

}  // namespace prof_names

#endif
