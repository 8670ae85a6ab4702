// A function of the usual calling convention gets its arguments in rdi, rsi, rdx, rcx, r8, r9 and on the stack, and keeps rbx,
// rbp and r12 to r15 for its caller (System V ABI for AMD64, section 3.2.1). It may save these six; what is in them is nothing
// that it could use. Code that uses one of them as an address before it has set it belongs to a system of its own, which
// keeps something there for all of its code: V8 its roots in r13, Haskell's programs their registers in r13 and their stack in rbp.
//
// Such a system often has tables of its own, by which it finds, with a return address, what belongs to a frame: V8's
// collector and exceptions do. It knows nothing of copies. If unwind tables or symbols tell of a function, they are how its
// authors want it to be seen; of a function that was discovered nothing of the kind is known, and it stays. So does what such
// a function calls directly, or what calls it: it may be of the same system, and not use the register itself.
//
// Only what runs before the first calls is looked at: behind a call it would have to be known whether that returns.

#include "inherited_registers.h"

#include <vector>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

namespace {

using RegisterSet = uint16_t;  // by the numbers in semantics.h

constexpr RegisterSet bit(uint8_t reg) { return reg < kRegisters ? RegisterSet(1u << reg) : RegisterSet(0); }
constexpr RegisterSet kKept = bit(3) | bit(kRbp) | bit(12) | bit(13) | bit(14) | bit(15);  // 3: rbx

bool is_discovered(const CodeRange& r) { return r.fde && r.fde->made && r.names.empty() && !r.fragment; }

// Whether the code, entered at its start, uses one of these registers as an address before it has set it.
bool inherits_registers(const Code& code) {
  std::vector<RegisterSet> as_left(code.insns.size());  // by the caller, when control is there; 0: it was not there yet
  std::vector<size_t> to_do;
  const auto reach = [&](size_t insn, RegisterSet registers) {
    if (insn >= code.insns.size() || (as_left[insn] | registers) == as_left[insn]) return;
    as_left[insn] |= registers;
    to_do.push_back(insn);
  };
  reach(0, kKept);
  while (!to_do.empty()) {
    const size_t at = to_do.back();
    to_do.pop_back();
    const Insn& insn = code.insns[at];
    const Semantics op = semantics_of(code, insn);
    if (op.action != Action::lea && (as_left[at] & (bit(op.memory.base) | bit(op.memory.index)))) return true;
    const RegisterSet behind = as_left[at] & RegisterSet(~op.writes);
    if (insn.flow == Flow::next || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short)
      reach(at + 1, behind);
    if (insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short) {
      if (const auto target = code.index(code.target(insn))) reach(*target, behind);
    }
  }
  return false;
}

}  // namespace

void keep_what_inherits_registers(Program& program) {
  const auto inheriting = parallel_collect<size_t>(program.ranges.size(), [&](size_t i, std::vector<size_t>& out) {
    const CodeRange& r = program.ranges[i];
    if (is_discovered(r) && inherits_registers(program.code(r))) out.push_back(i);
  });
  if (inheriting.empty()) return;
  std::vector<bool> is_inheriting(program.groups.size());
  for (size_t i : inheriting) is_inheriting[program.ranges[i].group] = true;

  struct Neighbour {
    size_t range;  // discovered; it calls, or is called by, what inherits registers
    OldAddr other;
  };
  const auto neighbours =
      parallel_collect<Neighbour>(program.ranges.size(), [&](size_t i, std::vector<Neighbour>& out) {
        const CodeRange& r = program.ranges[i];
        const Code& code = program.code(r);
        for (const Insn& insn : code.insns) {
          if (insn.flow != Flow::call && insn.flow != Flow::jump && insn.flow != Flow::jump_if) continue;
          const ptrdiff_t to = program.range_of(code.target(insn));
          if (to < 0) continue;
          const CodeRange& callee = program.ranges[size_t(to)];
          if (is_inheriting[r.group] && is_discovered(callee)) out.push_back({size_t(to), r.range.start});
          if (is_inheriting[callee.group] && is_discovered(r)) out.push_back({i, callee.range.start});
        }
      });
  for (size_t i : inheriting) program.groups[program.ranges[i].group].stay(ReasonCode::inherits_register);
  for (const Neighbour& n : neighbours)
    program.groups[program.ranges[n.range].group].stay({ReasonCode::beside_inheriting, n.other});
}

}  // namespace profld
