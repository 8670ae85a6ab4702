// Rewritten libraries, which tell when they are loaded: see libraries.cc.

#ifndef LIBPROF_LIBRARIES_H
#define LIBPROF_LIBRARIES_H

namespace libprof {

// Counts the blocks of those that were initialized before libprof.so, as the linker's -z initfirst asks. For its
// constructor.
void count_libraries_loaded_before();

}  // namespace libprof

#endif
