#include "instructions.h"

#include "linker-rewrite/x86/decoder.h"

namespace prof {

namespace {

Transfer transfer_of(const ZydisDecodedInstruction& in, bool is_direct) {
  switch (in.meta.category) {
    case ZYDIS_CATEGORY_CALL:
      return is_direct ? Transfer::call : Transfer::call_indirect;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return is_direct ? Transfer::jump : Transfer::jump_indirect;
    case ZYDIS_CATEGORY_COND_BR:
      return is_direct ? Transfer::branch : Transfer::none;
    case ZYDIS_CATEGORY_RET:
      return Transfer::ret;
    default:
      break;
  }
  const bool is_stop =
      in.mnemonic == ZYDIS_MNEMONIC_UD2 || in.mnemonic == ZYDIS_MNEMONIC_HLT || in.mnemonic == ZYDIS_MNEMONIC_INT3;
  return is_stop ? Transfer::stop : Transfer::none;
}

// Whether it can be one of those by which compilers end a function: pop, leave, ret, a register loaded or copied, the
// stack pointer moved.
bool can_end_function(const ZydisDecodedInstruction& in, const ZydisDecodedOperand* operands) {
  switch (in.mnemonic) {
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_LEAVE:
    case ZYDIS_MNEMONIC_RET:
    case ZYDIS_MNEMONIC_NOP:
      return true;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_LEA:
      return in.operand_count > 0 && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
             operands[0].reg.value == ZYDIS_REGISTER_RSP;
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVQ:
    case ZYDIS_MNEMONIC_MOVD:
    case ZYDIS_MNEMONIC_MOVSS:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVAPD:
      return in.operand_count > 1 && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
             operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
    default:
      return false;
  }
}

struct Decoded {
  ZydisDecodedInstruction in;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

// Whether anything is asked of its operands. To decode them takes as long as the rest, and a profile of a large program
// has millions of instructions.
bool needs_operands(const ZydisDecodedInstruction& in) {
  const bool may_be_relative =
      (in.attributes & ZYDIS_ATTRIB_HAS_MODRM) && in.raw.modrm.mod == 0 && in.raw.modrm.rm == 5;
  if (may_be_relative || in.raw.imm[0].is_relative || in.raw.imm[1].is_relative) return true;
  switch (in.mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVQ:
    case ZYDIS_MNEMONIC_MOVD:
    case ZYDIS_MNEMONIC_MOVSS:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVAPD:
      return true;
    default:
      return false;
  }
}

// All that is asked of an instruction: of its operands those that are seen, if any are needed.
bool decode_briefly(std::string_view code, Decoded& to) {
  ZydisDecoderContext context;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&profld::decoder(), &context, code.data(), code.size(), &to.in)))
    return false;
  to.in.operand_count = needs_operands(to.in) ? to.in.operand_count_visible : 0;
  return to.in.operand_count == 0 ||
         ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&profld::decoder(), &context, &to.in,
                                                 static_cast<ZydisDecodedOperand*>(to.operands), to.in.operand_count));
}

bool decode(std::string_view code, Decoded& to) {
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&profld::decoder(), code.data(), code.size(), &to.in,
                                             static_cast<ZydisDecodedOperand*>(to.operands)));
}

const ZydisFormatter& formatter() {
  static const ZydisFormatter f = [] {
    ZydisFormatter made;
    ZydisFormatterInit(&made, ZYDIS_FORMATTER_STYLE_ATT);
    ZydisFormatterSetProperty(&made, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
    ZydisFormatterSetProperty(&made, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    for (const ZydisFormatterProperty padding : {ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                                                 ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_FORMATTER_PROP_IMM_PADDING})
      ZydisFormatterSetProperty(&made, padding, ZYDIS_PADDING_DISABLED);
    return made;
  }();
  return f;
}

}  // namespace

std::vector<Instruction> decode_instructions(std::string_view code, uint64_t address) {
  std::vector<Instruction> found;
  found.reserve(code.size() / 4 + 1);  // the mean length of an instruction
  Decoded decoded;
  for (size_t at = 0; at < code.size();) {
    Instruction& instruction = found.emplace_back();
    instruction.address = address + at;
    instruction.is_known = decode_briefly(code.substr(at), decoded);
    if (instruction.is_known) {
      instruction.length = decoded.in.length;
      bool is_direct = false;
      for (unsigned i = 0; i < decoded.in.operand_count; ++i) {
        const ZydisDecodedOperand& operand = decoded.operands[i];
        ZyanU64 where = 0;
        const bool is_target = operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand.imm.is_relative;
        const bool is_memory = operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RIP;
        if ((!is_target && !is_memory) ||
            !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded.in, &operand, instruction.address, &where)))
          continue;
        is_direct |= is_target;
        (is_target ? instruction.target : instruction.memory) = where;
      }
      instruction.is_nop = decoded.in.mnemonic == ZYDIS_MNEMONIC_NOP;
      instruction.transfer = transfer_of(decoded.in, is_direct);
      instruction.only_moves = can_end_function(decoded.in, static_cast<const ZydisDecodedOperand*>(decoded.operands));
    }
    at += instruction.length;
  }
  return found;
}

std::string text_of(const Instruction& instruction, std::string_view code) {
  Decoded decoded;
  char text[256];
  if (!instruction.is_known || !decode(code, decoded) ||
      !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
          &formatter(), &decoded.in, static_cast<const ZydisDecodedOperand*>(decoded.operands),
          decoded.in.operand_count_visible, static_cast<char*>(text), sizeof text, instruction.address, nullptr)))
    return "(bad)";
  std::string written = static_cast<const char*>(text);
  // Zydis leaves out the mark of AT&T's for what a jump is to be read from.
  const bool is_indirect =
      instruction.transfer == Transfer::call_indirect || instruction.transfer == Transfer::jump_indirect;
  if (const size_t blank = written.rfind(' '); is_indirect && blank != std::string::npos)
    written.insert(blank + 1, 1, '*');
  return written;
}

}  // namespace prof
