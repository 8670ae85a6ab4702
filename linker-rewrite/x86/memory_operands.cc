#include "memory_operands.h"

#include <algorithm>

#include "decoder.h"

namespace profld {

namespace {

constexpr int8_t kNone = MemoryOperand::kNone, kRaxNumber = 0, kRspNumber = 4, kRbpNumber = 5;

struct Decoded {
  ZydisDecodedInstruction in;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

// The number of a general register of any width; kNone for all others.
int8_t general_register(ZydisRegister reg) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ? int8_t(whole - ZYDIS_REGISTER_RAX) : kNone;
}

// Instructions with an operand in memory that they do not touch.
bool touches_nothing(const ZydisDecodedInstruction& in) {
  switch (in.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
      return true;
    default:
      break;
  }
  switch (in.mnemonic) {
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_CLDEMOTE:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_INVLPG:
      return true;
    default:
      return false;
  }
}

// Whether a vector register chooses what is accessed, in the highest bit of each element.
bool is_masked_by_vector(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
      return true;
    default:
      return false;
  }
}

// Whether the indices of a gather or scatter have 8 bytes.
bool has_wide_indices(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_VGATHERQPS:
    case ZYDIS_MNEMONIC_VGATHERQPD:
    case ZYDIS_MNEMONIC_VPGATHERQD:
    case ZYDIS_MNEMONIC_VPGATHERQQ:
    case ZYDIS_MNEMONIC_VSCATTERQPS:
    case ZYDIS_MNEMONIC_VSCATTERQPD:
    case ZYDIS_MNEMONIC_VPSCATTERQD:
    case ZYDIS_MNEMONIC_VPSCATTERQQ:
      return true;
    default:
      return false;
  }
}

uint8_t vector_number(ZydisRegister reg) { return uint8_t(ZydisRegisterGetId(reg)); }

// The mask register of AVX-512, or the vector of AVX, that chooses elements of the operand.
void set_mask(MemoryOperand& to, const Decoded& decoded, const ZydisDecodedOperand& operand) {
  const ZydisDecodedInstruction& in = decoded.in;
  const bool has_register = in.avx.mask.mode != ZYDIS_MASK_MODE_INVALID && in.avx.mask.mode != ZYDIS_MASK_MODE_DISABLED;
  to.element = uint8_t(operand.element_size / 8);
  to.elements = uint8_t(operand.element_count);
  if (has_register && in.avx.mask.reg != ZYDIS_REGISTER_K0 && in.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
    to.mask = MemoryOperand::Mask::register_;
    to.mask_number = vector_number(in.avx.mask.reg);
    to.is_packed = in.meta.category == ZYDIS_CATEGORY_COMPRESS || in.meta.category == ZYDIS_CATEGORY_EXPAND ||
                   in.mnemonic == ZYDIS_MNEMONIC_VPCOMPRESSB || in.mnemonic == ZYDIS_MNEMONIC_VPCOMPRESSW ||
                   in.mnemonic == ZYDIS_MNEMONIC_VPEXPANDB || in.mnemonic == ZYDIS_MNEMONIC_VPEXPANDW;
    if (in.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID) {
      to.is_one = true;
      to.elements = uint8_t(std::max<unsigned>(in.avx.vector_length / std::max<unsigned>(operand.size, 8), 1));
    }
    return;
  }
  if (is_masked_by_vector(in.mnemonic)) {
    to.mask = MemoryOperand::Mask::vector;
    to.mask_number = vector_number(decoded.operands[1].reg.value);
    if (in.mnemonic == ZYDIS_MNEMONIC_MASKMOVDQU || in.mnemonic == ZYDIS_MNEMONIC_VMASKMOVDQU) {
      to.element = 1;
      to.elements = 16;
    }
  }
}

void set_vector_index(MemoryOperand& to, const Decoded& decoded, const ZydisDecodedOperand& operand) {
  to.is_vector_index = true;
  to.index = int8_t(vector_number(operand.mem.index));
  to.index_element = has_wide_indices(decoded.in.mnemonic) ? 8 : 4;
  to.element = uint8_t(operand.size / 8);
  const unsigned index_bytes =
      ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, operand.mem.index) / 8 / to.index_element;
  unsigned values = 64;  // elements of the vector register that is read or written
  for (unsigned i = 0; i < decoded.in.operand_count_visible; ++i) {
    const ZydisDecodedOperand& other = decoded.operands[i];
    if (other.type == ZYDIS_OPERAND_TYPE_REGISTER && ZydisRegisterGetClass(other.reg.value) != ZYDIS_REGCLASS_MASK &&
        to.element != 0)
      values = std::min(values, other.size / 8u / to.element);
  }
  to.elements = uint8_t(std::min(index_bytes, values));
  if (to.mask == MemoryOperand::Mask::none && decoded.in.operand_count > 2 &&
      decoded.operands[2].type == ZYDIS_OPERAND_TYPE_REGISTER) {
    to.mask = MemoryOperand::Mask::vector;
    to.mask_number = vector_number(decoded.operands[2].reg.value);
  }
}

// Nothing of it is believed to be there but what the decoder says.
MemoryOperand operand_of(const Decoded& decoded, const ZydisDecodedOperand& operand) {
  const ZydisDecodedInstruction& in = decoded.in;
  MemoryOperand to;
  to.size = operand.size / 8;
  to.scale = operand.mem.scale;
  to.displacement = operand.mem.disp.value;
  to.is_short = in.address_width == 32;
  to.is_relative = operand.mem.base == ZYDIS_REGISTER_RIP || operand.mem.base == ZYDIS_REGISTER_EIP;
  if (to.is_relative) to.displacement += in.length;
  to.base = to.is_relative ? kNone : general_register(operand.mem.base);
  if (operand.mem.segment == ZYDIS_REGISTER_FS) to.segment = MemoryOperand::Segment::fs;
  if (operand.mem.segment == ZYDIS_REGISTER_GS) to.segment = MemoryOperand::Segment::gs;
  set_mask(to, decoded, operand);
  if (operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB)
    set_vector_index(to, decoded, operand);
  else
    to.index = general_register(operand.mem.index);
  if (in.mnemonic == ZYDIS_MNEMONIC_XLAT) {
    to.index = kRaxNumber;
    to.scale = 1;
    to.is_byte_index = true;
  }
  const bool is_hidden_stack =
      operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && operand.mem.base == ZYDIS_REGISTER_RSP;
  if (is_hidden_stack && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) to.displacement -= to.size;
  // pop computes the address of what it writes with the stack pointer that it leaves.
  if (in.mnemonic == ZYDIS_MNEMONIC_POP && !is_hidden_stack && operand.mem.base == ZYDIS_REGISTER_RSP)
    to.displacement += to.size;
  return to;
}

DecodedInstruction::Direction direction_after(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_CLD:
      return DecodedInstruction::Direction::up;
    case ZYDIS_MNEMONIC_STD:
      return DecodedInstruction::Direction::down;
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFD:
    case ZYDIS_MNEMONIC_POPFQ:
      return DecodedInstruction::Direction::unknown;
    default:
      return DecodedInstruction::Direction::as_before;
  }
}

// bt and its like with a register: the bit may lie in any word beside that of the operand.
bool is_bit_string(const Decoded& decoded) {
  switch (decoded.in.mnemonic) {
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTC:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTS:
      return decoded.operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
    default:
      return false;
  }
}

}  // namespace

DecodedInstruction decode_memory(std::string_view code) {
  DecodedInstruction to;
  Decoded decoded;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code.data(), code.size(), &decoded.in,
                                           static_cast<ZydisDecodedOperand*>(decoded.operands))))
    return to;
  const ZydisDecodedInstruction& in = decoded.in;
  to.length = in.length;
  to.is_repeated = (in.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  to.ends_early = (in.attributes & (ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  to.direction = direction_after(in.mnemonic);
  to.is_system_call = in.mnemonic == ZYDIS_MNEMONIC_SYSCALL;
  const ZydisDecodedOperand& first = decoded.operands[0];
  to.holds_off_trap = (in.mnemonic == ZYDIS_MNEMONIC_MOV || in.mnemonic == ZYDIS_MNEMONIC_POP) &&
                      in.operand_count > 0 && first.type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      first.reg.value == ZYDIS_REGISTER_SS;
  if (touches_nothing(in)) return to;
  for (const ZydisOperandActions direction : {ZYDIS_OPERAND_ACTION_MASK_READ, ZYDIS_OPERAND_ACTION_MASK_WRITE}) {
    for (unsigned i = 0; i < in.operand_count; ++i) {
      const ZydisDecodedOperand& operand = decoded.operands[i];
      const bool is_memory = operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
                             (operand.mem.type == ZYDIS_MEMOP_TYPE_MEM || operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB);
      if (!is_memory || !(operand.actions & direction)) continue;
      MemoryOperand made = operand_of(decoded, operand);
      made.is_write = direction == ZYDIS_OPERAND_ACTION_MASK_WRITE;
      if (is_bit_string(decoded)) made.bit_register = general_register(decoded.operands[1].reg.value);
      to.needs_vectors |= made.is_vector_index || made.mask != MemoryOperand::Mask::none;
      for (const int8_t reg : {made.base, made.is_vector_index ? kNone : made.index, made.bit_register})
        to.needs_registers |= reg != kNone && reg != kRspNumber && reg != kRbpNumber;
      to.needs_registers |= made.segment != MemoryOperand::Segment::none;
      to.operands.push_back(made);
    }
  }
  to.needs_registers |= to.is_repeated || to.needs_vectors || to.is_system_call;
  return to;
}

}  // namespace profld
