// Which system calls the runtime may still make, after the program has given up its right to some. See sandbox.cc.

#ifndef LIBPROF_SANDBOX_H
#define LIBPROF_SANDBOX_H

#include <stdint.h>

namespace libprof {

// Whether there is anything to ask may_call about.
extern uint32_t is_sandboxed;

// Whether the kernel will carry out this system call when the runtime makes it, as far as we know.
bool may_call(int64_t number, const uint64_t (&arguments)[6]);

}  // namespace libprof

#endif
