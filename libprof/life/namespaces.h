// Several copies of libprof.so in one process. See namespaces.cc.

#ifndef LIBPROF_NAMESPACES_H
#define LIBPROF_NAMESPACES_H

#include <stdint.h>

namespace libprof {

// From here to the same place in the copy that was loaded first, in bytes; 0 in that copy.
extern int64_t distance_to_first;

// The same function in the copy that was loaded first.
template <class F>
F* in_first(F* f) {
  return reinterpret_cast<F*>(reinterpret_cast<char*>(f) + distance_to_first);
}

// To be called before this copy does anything else. True if another one has been there before: then the hooks of this
// one lead to those of the other.
bool find_first_copy();

// If nothing that started with the program needs libprof.so, makes sure that it is never unloaded.
void stay_loaded();

}  // namespace libprof

#endif
