// Whether a static program may set its thread pointer by rules of its own: see thread_pointer.cc.

#ifndef LINKER_REWRITE_DECIDE_THREAD_POINTER_H
#define LINKER_REWRITE_DECIDE_THREAD_POINTER_H

#include "linker-rewrite/program/program.h"

namespace profld {

bool is_thread_pointer_doubtful(const Program& program);

}  // namespace profld

#endif
