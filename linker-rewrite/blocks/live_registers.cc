#include "live_registers.h"

#include "linker-rewrite/x86/semantics.h"

namespace profld {

namespace {

constexpr RegisterSet kAllRegisters = 0xffff;
constexpr uint8_t kClearsUpperHalf = 4;  // bytes: an operand that leaves no part of the register as it was

RegisterSet bit(uint8_t reg) { return reg < kRegisters ? RegisterSet(1u << reg) : RegisterSet(0); }

// What the instruction overwrites as a whole, whatever its operands are.
RegisterSet overwritten_by(const Semantics& op) {
  if (op.to.type != Operand::Type::reg || op.to.size < kClearsUpperHalf) return 0;
  switch (op.action) {
    case Action::move:
    case Action::lea:
    case Action::zero:
    case Action::pop:
      return bit(op.to.reg);
    default:
      return 0;
  }
}

RegisterSet read_by(const Semantics& op) {
  const RegisterSet reads = op.action == Action::zero ? RegisterSet(0) : op.reads;
  return RegisterSet(reads | op.addressing | bit(op.memory.base) | bit(op.memory.index));
}

}  // namespace

LiveRegisters::LiveRegisters(const Group& group, const FlowGraph& graph) : Liveness(graph), group_(group) { solve(); }

RegisterSet LiveRegisters::at_end(size_t block, RegisterSet of_successors) const {
  return graph_.blocks()[block].leaves ? kAllRegisters : of_successors;
}

RegisterSet LiveRegisters::before(const BasicBlock& b, uint32_t i, RegisterSet behind) const {
  const Code& code = group_.code.parts[b.part];
  const Semantics op = semantics_of(code, code.insns[i]);
  return RegisterSet((behind & ~overwritten_by(op)) | read_by(op));
}

}  // namespace profld
