#include "segment_registers.h"

#include <sys/syscall.h>

#include <algorithm>
#include <atomic>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"
#include "made_system_calls.h"

namespace profld {

namespace {

// Whether a function of the program, of those whose code is known, has an instruction that `is_wanted` says so of. It gets
// a CachedInsn, and is called by several threads at once.
template <class IsWanted>
bool any_instruction(const Program& program, IsWanted is_wanted) {
  std::atomic<bool> found = false;
  parallel_for(program.groups.size(), [&](size_t g) {
    if (found) return;
    for (const Code& code : program.groups[g].code.parts) {
      const auto has_it = [&](const Insn& insn) {
        const CachedInsn* cached = DecodeCache::of_this_thread().find(code.bytes_of(insn));
        return cached && is_wanted(*cached);
      };
      if (std::ranges::any_of(code.insns, has_it)) found = true;
    }
  });
  return found;
}

constexpr const char* kSetter = "arch_prctl";

}  // namespace

bool uses_gs(const Program& program) {
  return any_instruction(program, [](const CachedInsn& in) { return in.flags.uses_gs; }) ||
         std::ranges::any_of(program.image->dynamic_symbols(),
                             [](const Symbol& s) { return s.section == SHN_UNDEF && s.name == kSetter; });
}

// The runtime of a static program keeps a word of each thread among its thread-local variables (write/tls.cc): the program
// header PT_TLS asks the C library for room in front of where the register fs points. A static program without a C
// library may set fs to memory of its own, without a look at the headers, and then there is no such room.
//
// A program that has PT_TLS itself, or that nothing but the kernel and the runtime set fs for, is safe. All others may do
// either: musl, without thread-local variables, has no PT_TLS in its programs but looks for it. So the runtime has
// to look, when such a program runs (libprof/life/thread_pointer.cc); hooks are slower until then.
//
// What sets fs is the system call arch_prctl, clone and clone3 for a new thread, and the instruction wrfsbase.

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
