#include "instruction_kinds.h"

#include "linker-rewrite/x86/decoder.h"

namespace prof {

namespace {

// Of those that the set of instructions that they came with says little of.
InstructionKind kind_by_set(const ZydisDecodedInstruction& in) {
  switch (in.meta.isa_ext) {
    case ZYDIS_ISA_EXT_X87:
      return InstructionKind::floating;
    case ZYDIS_ISA_EXT_AES:
    case ZYDIS_ISA_EXT_SHA:
    case ZYDIS_ISA_EXT_PCLMULQDQ:
    case ZYDIS_ISA_EXT_VAES:
    case ZYDIS_ISA_EXT_VPCLMULQDQ:
      return InstructionKind::crypto;
    case ZYDIS_ISA_EXT_BASE:
      return InstructionKind::other;
    default:
      break;
  }
  if (in.attributes & (ZYDIS_ATTRIB_HAS_VEX | ZYDIS_ATTRIB_HAS_EVEX)) return InstructionKind::vector;
  switch (in.meta.isa_ext) {
    case ZYDIS_ISA_EXT_SSE:
    case ZYDIS_ISA_EXT_SSE2:
    case ZYDIS_ISA_EXT_SSE3:
    case ZYDIS_ISA_EXT_SSSE3:
    case ZYDIS_ISA_EXT_SSE4:
    case ZYDIS_ISA_EXT_MMX:
      return InstructionKind::vector;
    default:
      return InstructionKind::other;
  }
}

InstructionKind kind_by_category(const ZydisDecodedInstruction& in) {
  switch (in.meta.category) {
    case ZYDIS_CATEGORY_DATAXFER:
      return in.meta.isa_ext == ZYDIS_ISA_EXT_BASE ? InstructionKind::move : kind_by_set(in);
    case ZYDIS_CATEGORY_BINARY:
    case ZYDIS_CATEGORY_DECIMAL:
    case ZYDIS_CATEGORY_ADOX_ADCX:
      return InstructionKind::arithmetic;
    case ZYDIS_CATEGORY_CONVERT:  // cdq and its like, and between numbers of vectors
      return in.meta.isa_ext == ZYDIS_ISA_EXT_BASE ? InstructionKind::arithmetic : kind_by_set(in);
    case ZYDIS_CATEGORY_MISC:
      return in.mnemonic == ZYDIS_MNEMONIC_LEA ? InstructionKind::arithmetic : kind_by_set(in);
    case ZYDIS_CATEGORY_LOGICAL:
      return in.meta.isa_ext == ZYDIS_ISA_EXT_BASE ? InstructionKind::logic : kind_by_set(in);
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_BMI1:
    case ZYDIS_CATEGORY_BMI2:
    case ZYDIS_CATEGORY_LZCNT:
      return InstructionKind::logic;
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_ROTATE:
      return InstructionKind::shift;
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
      return InstructionKind::stack;
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_SETCC:
    case ZYDIS_CATEGORY_FLAGOP:
      return InstructionKind::condition;
    case ZYDIS_CATEGORY_COND_BR:
      return InstructionKind::branch;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return InstructionKind::jump;
    case ZYDIS_CATEGORY_CALL:
      return InstructionKind::call;
    case ZYDIS_CATEGORY_RET:
      return InstructionKind::ret;
    case ZYDIS_CATEGORY_STRINGOP:
      return InstructionKind::string;
    case ZYDIS_CATEGORY_X87_ALU:
    case ZYDIS_CATEGORY_FCMOV:
      return InstructionKind::floating;
    case ZYDIS_CATEGORY_SEMAPHORE:
      return InstructionKind::atomic;
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_PREFETCH:
      return InstructionKind::nop;
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_RDWRFSGS:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
      return InstructionKind::system;
    default:
      return kind_by_set(in);
  }
}

}  // namespace

InstructionKind kind_of_instruction(std::string_view code) {
  ZydisDecodedInstruction in;
  ZydisDecoderContext context;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&profld::decoder(), &context, code.data(), code.size(), &in)))
    return InstructionKind::unknown;
  if (in.attributes & ZYDIS_ATTRIB_HAS_LOCK) return InstructionKind::atomic;
  return kind_by_category(in);
}

const char* name_of(InstructionKind kind) {
  static constexpr const char* kNames[kInstructionKinds] = {"moves of data",
                                                            "integer arithmetic",
                                                            "logic and bits",
                                                            "shifts and rotations",
                                                            "push and pop",
                                                            "conditions",
                                                            "branches",
                                                            "jumps",
                                                            "calls",
                                                            "returns",
                                                            "strings",
                                                            "x87 floating point",
                                                            "SSE, AVX and the like",
                                                            "cryptography",
                                                            "atomic",
                                                            "no operation, hints",
                                                            "system",
                                                            "others",
                                                            "unknown"};
  return kNames[size_t(kind)];
}

}  // namespace prof
