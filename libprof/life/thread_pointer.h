// Whether the thread pointer, the base of the segment fs, leads to the runtime's word of the thread: see
// thread_pointer.cc.

#ifndef LIBPROF_THREAD_POINTER_H
#define LIBPROF_THREAD_POINTER_H

#include <stdint.h>

namespace libprof {

// In a static program: the runtime has set the thread pointer to `own`, and recording has begun. If profld asks for it,
// all hooks look from now on whether the program has set another.
void watch_thread_pointer(uint64_t own);

// False if the program has set one that leads to no room for the word: nothing may be recorded any more.
bool has_thread_word();

}  // namespace libprof

#endif
