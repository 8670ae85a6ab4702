// Looks through the instructions of all functions for one of a kind.

#ifndef LINKER_REWRITE_DECIDE_ANY_INSTRUCTION_H
#define LINKER_REWRITE_DECIDE_ANY_INSTRUCTION_H

#include <algorithm>
#include <atomic>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/program/program.h"
#include "linker-rewrite/x86/decode_cache.h"

namespace profld {

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

}  // namespace profld

#endif
