#include "gs_use.h"

#include <algorithm>
#include <atomic>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/decode_cache.h"

namespace profld {

namespace {

constexpr const char* kSetter = "arch_prctl";

bool has_instruction(const Program& program) {
  std::atomic<bool> found = false;
  parallel_for(program.groups.size(), [&](size_t g) {
    if (found) return;
    for (const Code& code : program.groups[g].code.parts)
      for (const Insn& insn : code.insns) {
        const CachedInsn* cached = DecodeCache::of_this_thread().find(code.bytes_of(insn));
        if (cached && cached->flags.uses_gs) found = true;
      }
  });
  return found;
}

}  // namespace

bool uses_gs(const Program& program) {
  return has_instruction(program) || std::ranges::any_of(program.image->dynamic_symbols(), [](const Symbol& s) {
           return s.section == SHN_UNDEF && s.name == kSetter;
         });
}

}  // namespace profld
