#include "semantics.h"

#include "decode_cache.h"
#include "decoder.h"

namespace profld {

namespace {

uint8_t register_number(ZydisRegister r) {
  if (r == ZYDIS_REGISTER_NONE) return kNoRegister;
  const ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
  return full >= ZYDIS_REGISTER_RAX && full <= ZYDIS_REGISTER_R15 ? uint8_t(full - ZYDIS_REGISTER_RAX) : kNoRegister;
}

bool is_high_byte(ZydisRegister r) { return r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH; }

Operand operand_of(const ZydisDecodedOperand& o) {
  const uint8_t size = uint8_t(o.size / 8);
  switch (o.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER: {
      const uint8_t reg = register_number(o.reg.value);
      if (reg == kNoRegister || is_high_byte(o.reg.value)) return {};
      return {Operand::Type::reg, reg, size};
    }
    case ZYDIS_OPERAND_TYPE_MEMORY:
      return {Operand::Type::memory, kNoRegister, size};
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      return {Operand::Type::immediate, kNoRegister, size};
    default:
      return {};
  }
}

Memory memory_of(const ZydisDecodedInstruction& in, const ZydisDecodedOperandMem& m) {
  Memory r;
  r.understood = in.address_width == 64 && m.segment != ZYDIS_REGISTER_FS && m.segment != ZYDIS_REGISTER_GS &&
                 m.type != ZYDIS_MEMOP_TYPE_VSIB && m.type != ZYDIS_MEMOP_TYPE_MIB;
  r.thread_local_word =
      m.segment == ZYDIS_REGISTER_FS && m.base == ZYDIS_REGISTER_NONE && m.index == ZYDIS_REGISTER_NONE;
  if (in.raw.disp.size == 32) r.field = in.raw.disp.offset;
  if (m.base == ZYDIS_REGISTER_RIP) {
    r.rip_relative = true;
    return r;
  }
  r.base = register_number(m.base);
  r.index = register_number(m.index);
  r.scale = m.scale;
  r.displacement = m.disp.value;
  return r;
}

Action action_of(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_CDQE:
      return Action::move;
    case ZYDIS_MNEMONIC_LEA:
      return Action::lea;
    case ZYDIS_MNEMONIC_ADD:
      return Action::add;
    case ZYDIS_MNEMONIC_SUB:
      return Action::subtract;
    case ZYDIS_MNEMONIC_AND:
      return Action::mask;
    case ZYDIS_MNEMONIC_SHL:
      return Action::shift;
    case ZYDIS_MNEMONIC_XOR:
      return Action::zero;
    case ZYDIS_MNEMONIC_SBB:
    case ZYDIS_MNEMONIC_OR:
      return Action::forget;
    case ZYDIS_MNEMONIC_PUSH:
      return Action::push;
    case ZYDIS_MNEMONIC_POP:
      return Action::pop;
    case ZYDIS_MNEMONIC_LEAVE:
      return Action::leave;
    case ZYDIS_MNEMONIC_CALL:
      return Action::call;
    case ZYDIS_MNEMONIC_CMP:
      return Action::compare;
    case ZYDIS_MNEMONIC_XCHG:
      return Action::exchange;
    case ZYDIS_MNEMONIC_CMOVB:
    case ZYDIS_MNEMONIC_CMOVBE:
    case ZYDIS_MNEMONIC_CMOVL:
    case ZYDIS_MNEMONIC_CMOVLE:
    case ZYDIS_MNEMONIC_CMOVNB:
    case ZYDIS_MNEMONIC_CMOVNBE:
    case ZYDIS_MNEMONIC_CMOVNL:
    case ZYDIS_MNEMONIC_CMOVNLE:
    case ZYDIS_MNEMONIC_CMOVNO:
    case ZYDIS_MNEMONIC_CMOVNP:
    case ZYDIS_MNEMONIC_CMOVNS:
    case ZYDIS_MNEMONIC_CMOVNZ:
    case ZYDIS_MNEMONIC_CMOVO:
    case ZYDIS_MNEMONIC_CMOVP:
    case ZYDIS_MNEMONIC_CMOVS:
    case ZYDIS_MNEMONIC_CMOVZ:
      return Action::move_if;
    default:
      return Action::other;
  }
}

// The action, if its operands have the form that its description promises; else Action::other.
Action checked(const Semantics& op, const ZydisDecodedInstruction& in) {
  using Type = Operand::Type;
  const bool to_reg = op.to.type == Type::reg;
  const bool wide = op.to.size >= 4;
  switch (action_of(in.mnemonic)) {
    case Action::move:
      if (op.from.type == Type::none) return Action::other;
      return (to_reg && wide) || (op.to.type == Type::memory && !op.sign_extend) ? Action::move : Action::other;
    case Action::lea:
      return to_reg && wide ? Action::lea : Action::other;
    case Action::add:
      return to_reg && wide && op.from.type != Type::none ? Action::add : Action::other;
    case Action::subtract:
      return to_reg && wide && op.from.type != Type::none ? Action::subtract : Action::other;
    case Action::mask:
      return to_reg && wide && op.from.type == Type::immediate ? Action::mask : Action::other;
    case Action::shift:
      return to_reg && wide && op.from.type == Type::immediate ? Action::shift : Action::other;
    case Action::zero:
      if (to_reg && op.to.size == 8 && op.memory.thread_local_word) return Action::demangle;
      return to_reg && wide && op.from.type == Type::reg && op.from.reg == op.to.reg ? Action::zero : Action::other;
    case Action::forget:
      if (to_reg && in.mnemonic == ZYDIS_MNEMONIC_SBB && op.from.type == Type::reg && op.from.reg == op.to.reg)
        return Action::forget;
      return to_reg && in.mnemonic == ZYDIS_MNEMONIC_OR && op.from.type == Type::immediate ? Action::forget
                                                                                           : Action::other;
    case Action::compare:
      return op.to.type != Type::none ? Action::compare : Action::other;
    case Action::move_if:
      return to_reg && wide ? Action::move_if : Action::other;
    case Action::exchange:
      return to_reg && op.to.size == 8 && op.from.type == Type::reg ? Action::exchange : Action::other;
    case Action::push:
      return in.operand_width == 64 ? Action::push : Action::other;
    case Action::pop:
      return in.operand_width == 64 ? Action::pop : Action::other;
    default:
      return action_of(in.mnemonic);
  }
}

// Changes what depends on the value of the immediate.
void heed_immediate(Semantics& op) {
  if (op.from.type != Operand::Type::immediate) return;
  // Immediates are sign-extended to the operation's size.
  if (op.to.size == 4) op.immediate = int64_t(uint32_t(op.immediate));
  if (op.action == Action::forget && int32_t(op.immediate) != -1) op.action = Action::other;
}

}  // namespace

Semantics semantics_of(const ZydisDecodedInstruction& in, const ZydisDecodedOperand* operands, Flow flow) {
  Semantics op;
  if (in.mnemonic == ZYDIS_MNEMONIC_NOP) return op;
  for (uint8_t i = 0; i < in.operand_count; ++i) {
    const ZydisDecodedOperand& o = operands[i];
    if (o.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      const uint8_t reg = register_number(o.reg.value);
      if (reg == kNoRegister) continue;
      if (o.actions & ZYDIS_OPERAND_ACTION_MASK_READ) op.reads = uint16_t(op.reads | 1u << reg);
      if (o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) op.writes = uint16_t(op.writes | 1u << reg);
    } else if (o.type == ZYDIS_OPERAND_TYPE_MEMORY && i < in.operand_count_visible) {
      op.memory = memory_of(in, o.mem);
      op.memory_written = o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
      if (o.mem.type != ZYDIS_MEMOP_TYPE_AGEN) op.memory_size = uint8_t(std::min(o.size / 8, 255));
    } else if (o.type == ZYDIS_OPERAND_TYPE_MEMORY) {  // of a string instruction, or the stack
      for (ZydisRegister r : {o.mem.base, o.mem.index})
        if (const uint8_t reg = register_number(r); reg < kRegisters) {
          op.reads = uint16_t(op.reads | 1u << reg);
          op.addressing = uint16_t(op.addressing | 1u << reg);
        }
    } else if (o.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && i < in.operand_count_visible) {
      op.immediate = o.imm.is_signed ? o.imm.value.s : int64_t(o.imm.value.u);
      if (o.size == 32 || o.size == 64 || in.raw.imm[0].size >= 32) op.immediate_field = in.raw.imm[0].offset;
      if (in.raw.imm[0].size < 32) op.immediate_field = 0;
    }
  }
  if (const ZydisAccessedFlags* f = in.cpu_flags) op.writes_flags = f->modified | f->set_0 | f->set_1 | f->undefined;
  op.sign_extend =
      in.mnemonic == ZYDIS_MNEMONIC_MOVSX || in.mnemonic == ZYDIS_MNEMONIC_MOVSXD || in.mnemonic == ZYDIS_MNEMONIC_CDQE;
  if (in.mnemonic == ZYDIS_MNEMONIC_CDQE) {
    op.to = {Operand::Type::reg, kRax, 8};
    op.from = {Operand::Type::reg, kRax, 4};
  } else if (in.mnemonic == ZYDIS_MNEMONIC_PUSH || flow == Flow::jump_indirect || flow == Flow::call_indirect) {
    op.from = operand_of(operands[0]);
  } else {
    if (in.operand_count > 0) op.to = operand_of(operands[0]);
    if (in.operand_count > 1) op.from = operand_of(operands[1]);
  }
  op.condition = condition_of(in.opcode);
  op.action = flow == Flow::next || flow == Flow::call || flow == Flow::call_indirect ? checked(op, in) : Action::other;
  return op;
}

Semantics decoded_semantics_of(const Code& code, const Insn& insn) {
  ZydisDecodedInstruction in;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code.bytes.data() + insn.offset, insn.length, &in, operands))) {
    Semantics unknown;
    unknown.writes = unknown.reads = 0xffff;
    unknown.writes_flags = true;
    return unknown;
  }
  Semantics op = semantics_of(in, operands, insn.flow);
  if (op.memory.rip_relative) op.memory.displacement = int64_t(code.target(insn).value);
  heed_immediate(op);
  return op;
}

Semantics semantics_of(const Code& code, const Insn& insn) {
  const CachedInsn* cached = DecodeCache::of_this_thread().find(code.bytes_of(insn));
  return cached ? semantics_of(code, insn, *cached) : decoded_semantics_of(code, insn);
}

Semantics semantics_of(const Code& code, const Insn& insn, const CachedInsn& cached) {
  if (!cached.has_semantics) return decoded_semantics_of(code, insn);
  const ByteView bytes = code.bytes_of(insn);
  Semantics op = cached.semantics;
  if (cached.mnemonic == ZYDIS_MNEMONIC_NOP) return op;
  if (op.memory.rip_relative)
    op.memory.displacement = int64_t(code.target(insn).value);
  else if (cached.displacement.size != 0)
    op.memory.displacement = cached.displacement.read(bytes.data());
  if (cached.immediate.size != 0) op.immediate = cached.immediate.read(bytes.data());
  heed_immediate(op);
  return op;
}

}  // namespace profld
