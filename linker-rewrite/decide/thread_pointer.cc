// The runtime of a static program keeps a word of each thread among its thread-local variables (write/tls.cc): the program
// header PT_TLS asks the C library for room in front of where the register fs points. A static program without a C
// library may set fs to memory of its own, without a look at the headers, and then there is no such room.
//
// A program that has PT_TLS itself, or that nothing but the kernel and the runtime set fs for, is safe. All others may do
// either: musl, without thread-local variables, has no PT_TLS in its programs but looks for it. So the runtime has
// to look, when such a program runs (libprof/life/thread_pointer.cc); hooks are slower until then.
//
// What sets fs is the system call arch_prctl, clone and clone3 for a new thread, and the instruction wrfsbase.

#include "thread_pointer.h"

#include <sys/syscall.h>

#include "any_instruction.h"
#include "linker-rewrite/x86/encoding.h"
#include "made_system_calls.h"

namespace profld {

namespace {

bool has_wrfsbase(const Program& program) {
  return any_instruction(program, [](const CachedInsn& in) { return in.sets_thread_pointer(); }) ||
         any_code_outside_functions(program, may_end_wrfsbase);
}

}  // namespace

bool is_thread_pointer_doubtful(const Program& program) {
  constexpr int64_t kSetters[] = {SYS_arch_prctl, SYS_clone, SYS_clone3};
  if (!program.image->is_static() || program.image->segment(PT_TLS)) return false;
  return may_make_system_call(program, kSetters) || has_wrfsbase(program);
}

}  // namespace profld
