// Finds uses of `ret` that are no returns: code that puts an address of its own where `ret` reads it. Only the
// instructions right before a `ret` matter, because compilers' own code restores the stack pointer there.

#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"
#include "tables.h"

namespace profld {

namespace {

constexpr uint16_t kRspSet = 1u << kRsp;

bool returns_elsewhere(const Code& code, size_t ret) {
  constexpr size_t kWindow = 12;
  for (size_t back = 1; back <= kWindow && back <= ret; ++back) {
    const Insn& insn = code.insns[ret - back];
    if (insn.flow == Flow::jump_if) continue;  // not taken
    if (insn.flow != Flow::next) return false;
    if (writes_top_of_stack(code.bytes_of(insn))) return true;
    const Semantics op = semantics_of(code, insn);
    if (op.action == Action::push) return true;
    if (op.writes & kRspSet) return false;
  }
  return false;
}

}  // namespace

bool return_address_is_changed(const FunctionCode& function) {
  for (const Code& code : function.parts)
    for (size_t i = 0; i < code.insns.size(); ++i) {
      const Insn& insn = code.insns[i];
      if (insn.flow == Flow::call && code.target(insn) == code.next(insn) && code.next(insn) != code.range.end)
        return true;
      if (insn.flow == Flow::ret && returns_elsewhere(code, i)) return true;
    }
  return false;
}

}  // namespace profld
