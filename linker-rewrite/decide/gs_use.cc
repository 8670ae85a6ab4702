#include "gs_use.h"

#include <algorithm>

#include "any_instruction.h"

namespace profld {

namespace {

constexpr const char* kSetter = "arch_prctl";

}  // namespace

bool uses_gs(const Program& program) {
  return any_instruction(program, [](const CachedInsn& in) { return in.flags.uses_gs; }) ||
         std::ranges::any_of(program.image->dynamic_symbols(),
                             [](const Symbol& s) { return s.section == SHN_UNDEF && s.name == kSetter; });
}

}  // namespace profld
