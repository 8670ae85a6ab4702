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

// A system call leaves the flags in r11. Nothing is known to look at them there.
//
// Two things are not believed of what the decoder says. A flag that is left undefined may be left as it was. And shifts
// and repeated string instructions leave all flags alone if their count is 0.

namespace {

Flags flags_of(ZyanU32 set) {
  Flags flags = 0;
  if (set & ZYDIS_CPUFLAG_PF) flags |= kParity;
  if (set & ZYDIS_CPUFLAG_ZF) flags |= kZero;
  if (set & ZYDIS_CPUFLAG_SF) flags |= kSign;
  if (set & ZYDIS_CPUFLAG_OF) flags |= kOverflow;
  if (set & ZYDIS_CPUFLAG_CF) flags |= kCarry;
  return flags;
}

// Once: the form of which the count is in the opcode.
bool shifts_once(const ZydisDecodedInstruction& in, const ZydisDecodedOperand* operands) {
  return operands && in.raw.imm[0].size == 0 && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

bool shifts_by_immediate(const ZydisDecodedInstruction& in) { return in.raw.imm[0].size == 8; }

bool is_shift(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHRD:
      return true;
    default:
      return false;
  }
}

bool may_do_nothing(const ZydisDecodedInstruction& in) {
  switch (in.mnemonic) {
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
    case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR:
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHRD:
      return true;
    default:
      return in.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
  }
}

bool keeps_all_flags(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_LAHF:
      return true;
    default:
      return false;
  }
}

bool uses_gs(const ZydisDecodedInstruction& in, const ZydisDecodedOperand* operands) {
  switch (in.mnemonic) {
    case ZYDIS_MNEMONIC_RDGSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_LGS:
    case ZYDIS_MNEMONIC_SWAPGS:
      return true;
    default:
      break;
  }
  if (in.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS) return true;
  for (uint8_t i = 0; operands && i < in.operand_count; ++i)
    if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[i].reg.value == ZYDIS_REGISTER_GS) return true;
  return false;
}

bool compares_registers(const ZydisDecodedInstruction& in, const ZydisDecodedOperand* operands) {
  switch (in.mnemonic) {
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_TEST:
    case ZYDIS_MNEMONIC_UCOMISD:
    case ZYDIS_MNEMONIC_UCOMISS:
    case ZYDIS_MNEMONIC_COMISD:
    case ZYDIS_MNEMONIC_COMISS:
    case ZYDIS_MNEMONIC_VUCOMISD:
    case ZYDIS_MNEMONIC_VUCOMISS:
    case ZYDIS_MNEMONIC_VCOMISD:
    case ZYDIS_MNEMONIC_VCOMISS:
      break;
    default:
      return false;
  }
  for (uint8_t i = 0; operands && i < in.operand_count; ++i)
    if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY) return false;
  return operands != nullptr;
}

}  // namespace

FlagEffect flag_effect_of(const ZydisDecodedInstruction& in, const ZydisDecodedOperand* operands) {
  FlagEffect effect;
  effect.uses_gs = uses_gs(in, operands);
  effect.is_comparison = compares_registers(in, operands);
  const ZydisAccessedFlags* f = in.cpu_flags;
  if (f) effect.reads = flags_of(f->tested);
  if (keeps_all_flags(in.mnemonic)) effect.reads = kAllFlags;
  const Flags written = f ? flags_of(f->modified | f->set_0 | f->set_1) : Flags(0);
  if (!may_do_nothing(in) || (is_shift(in.mnemonic) && shifts_once(in, operands)))
    effect.overwrites = written;
  else if (is_shift(in.mnemonic) && shifts_by_immediate(in))
    // The overflow is defined for a shift by 1 only, the carry for one by less than the operand has bits.
    effect.overwrites_if_shift = Flags(written & ~(kOverflow | kCarry));
  return effect;
}

}  // namespace profld
