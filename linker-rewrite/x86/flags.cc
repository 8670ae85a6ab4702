// A system call leaves the flags in r11. Nothing is known to look at them there.
//
// Two things are not believed of what the decoder says. A flag that is left undefined may be left as it was. And shifts
// and repeated string instructions leave all flags alone if their count is 0.

#include "flags.h"

namespace profld {

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
