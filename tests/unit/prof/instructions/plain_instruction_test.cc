// What proftarget runs by itself is what Zydis says it is: all prefixes, opcodes and ModRM bytes there are, and what follows them.

#include "prof/instructions/target/plain_instruction.h"

#include <Zydis/Zydis.h>
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "linker-rewrite/x86/decoder.h"

using prof::target::decode_plain;
using prof::target::kNoRegister;
using prof::target::PlainInstruction;
using prof::target::PlainMemory;
using Kind = PlainInstruction::Kind;

namespace {

struct Decoded {
  ZydisDecodedInstruction in;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  bool is_valid = false;

  explicit Decoded(std::string_view code) {
    is_valid = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&profld::decoder(), code.data(), code.size(), &in, operands.data()));
  }
  const ZydisDecodedOperand* memory() const {
    for (unsigned i = 0; i < in.operand_count; ++i) {
      if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[i].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
        return &operands[i];
    }
    return nullptr;
  }
};

std::string text_of(std::string_view code) {
  std::string text;
  for (const char byte : code) {
    const char* const digits = "0123456789abcdef";
    text += {digits[uint8_t(byte) >> 4], digits[byte & 15], ' '};
  }
  return text;
}

// The number of a general register of any width; kNoRegister for others.
uint8_t number_of(ZydisRegister reg) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ? uint8_t(whole - ZYDIS_REGISTER_RAX) : kNoRegister;
}

bool is_ours(ZydisRegister reg) {
  return number_of(reg) != kNoRegister || reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_RFLAGS;
}

// Empty if it is what Zydis says; else what is not so.
std::string difference_of_memory(const PlainMemory& ours, const ZydisDecodedOperand& operand, unsigned address_width) {
  const auto& theirs = operand.mem;
  const bool is_relative = theirs.base == ZYDIS_REGISTER_RIP || theirs.base == ZYDIS_REGISTER_EIP;
  if (ours.is_relative != is_relative) return "relative";
  if (!is_relative && ours.base != (theirs.base ? number_of(theirs.base) : kNoRegister)) return "base";
  if (ours.index != (theirs.index ? number_of(theirs.index) : kNoRegister)) return "index";
  if (theirs.index && theirs.scale != 1u << ours.shift) return "scale";
  if (ours.displacement != (theirs.disp.has_displacement ? theirs.disp.value : 0)) return "displacement";
  if (ours.is_short != (address_width == 32)) return "address width";
  const auto segment = ours.segment == PlainMemory::Segment::fs   ? ZYDIS_REGISTER_FS
                       : ours.segment == PlainMemory::Segment::gs ? ZYDIS_REGISTER_GS
                                                                  : ZYDIS_REGISTER_NONE;
  const bool is_based = theirs.segment == ZYDIS_REGISTER_FS || theirs.segment == ZYDIS_REGISTER_GS;
  if (operand.mem.type == ZYDIS_MEMOP_TYPE_MEM && segment != (is_based ? theirs.segment : ZYDIS_REGISTER_NONE))
    return "segment";
  return "";
}

// `native` is the same computation.
std::string difference_of_native(const PlainInstruction& ours, const Decoded& theirs) {
  const std::string bytes(ours.native.bytes.begin(), ours.native.bytes.begin() + ours.native.size);
  const Decoded native(bytes);
  if (!native.is_valid || native.in.length != ours.native.size) return "native bytes";
  if (native.in.mnemonic != theirs.in.mnemonic) return "mnemonic";
  if (native.in.operand_count != theirs.in.operand_count) return "operands";
  const uint8_t other = ours.stands_for_rsp;
  for (unsigned i = 0; i < theirs.in.operand_count; ++i) {
    const ZydisDecodedOperand &a = theirs.operands[i], &b = native.operands[i];
    if (a.type != b.type || a.size != b.size || a.actions != b.actions) return "operand";
    if (a.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && a.imm.value.u != b.imm.value.u) return "immediate";
    if (a.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      if (ours.native.displacement_at == 0 || b.mem.base != ZYDIS_REGISTER_RIP || b.mem.disp.value != 0 ||
          b.mem.segment == ZYDIS_REGISTER_FS || b.mem.segment == ZYDIS_REGISTER_GS)
        return "operand in memory";
      if (native.in.raw.disp.offset != ours.native.displacement_at) return "place of the displacement";
    }
    if (a.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    if (!is_ours(a.reg.value)) return "register of another kind";
    if (number_of(b.reg.value) == 4) return "stack pointer";
    if (number_of(a.reg.value) != 4) {
      if (a.reg.value != b.reg.value) return "register";
      if (other != kNoRegister && number_of(a.reg.value) == other) return "register that is in use";
    } else if (number_of(b.reg.value) != other) {
      return "register for the stack pointer";
    }
  }
  return "";
}

// All that is possible of an instruction that computes.
std::string difference_of_computation(const PlainInstruction& ours, const Decoded& theirs, unsigned& checked_memory) {
  const ZydisDecodedOperand* const memory = theirs.memory();
  if (ours.has_memory != (memory != nullptr)) return "memory";
  for (unsigned i = 0; i < theirs.in.operand_count; ++i) {
    if (theirs.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY && &theirs.operands[i] != memory) return "more memory";
  }
  if (memory) {
    ++checked_memory;
    if (memory->size != 8u * ours.width) return "width";
    if (ours.reads != ((memory->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0)) return "reads";
    if (ours.writes != ((memory->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)) return "writes";
    const std::string found = difference_of_memory(ours.memory, *memory, theirs.in.address_width);
    if (!found.empty()) return found;
  }
  if (ours.kind == Kind::divides) {
    if (ours.width * 8 != theirs.operands[0].size || ours.is_signed != (theirs.in.mnemonic == ZYDIS_MNEMONIC_IDIV))
      return "division";
    if (!memory && ours.reg != number_of(theirs.operands[0].reg.value)) return "divisor";
  }
  return difference_of_native(ours, theirs);
}

const std::set<ZydisMnemonic> kComputations = {
    ZYDIS_MNEMONIC_ADC,     ZYDIS_MNEMONIC_ADD,    ZYDIS_MNEMONIC_AND,     ZYDIS_MNEMONIC_BSF,    ZYDIS_MNEMONIC_BSR,
    ZYDIS_MNEMONIC_BSWAP,   ZYDIS_MNEMONIC_BT,     ZYDIS_MNEMONIC_BTC,     ZYDIS_MNEMONIC_BTR,    ZYDIS_MNEMONIC_BTS,
    ZYDIS_MNEMONIC_CBW,     ZYDIS_MNEMONIC_CDQ,    ZYDIS_MNEMONIC_CDQE,    ZYDIS_MNEMONIC_CLC,    ZYDIS_MNEMONIC_CMC,
    ZYDIS_MNEMONIC_CMOVB,   ZYDIS_MNEMONIC_CMOVBE, ZYDIS_MNEMONIC_CMOVL,   ZYDIS_MNEMONIC_CMOVLE, ZYDIS_MNEMONIC_CMOVNB,
    ZYDIS_MNEMONIC_CMOVNBE, ZYDIS_MNEMONIC_CMOVNL, ZYDIS_MNEMONIC_CMOVNLE, ZYDIS_MNEMONIC_CMOVNO, ZYDIS_MNEMONIC_CMOVNP,
    ZYDIS_MNEMONIC_CMOVNS,  ZYDIS_MNEMONIC_CMOVNZ, ZYDIS_MNEMONIC_CMOVO,   ZYDIS_MNEMONIC_CMOVP,  ZYDIS_MNEMONIC_CMOVS,
    ZYDIS_MNEMONIC_CMOVZ,   ZYDIS_MNEMONIC_CMP,    ZYDIS_MNEMONIC_CQO,     ZYDIS_MNEMONIC_CWD,    ZYDIS_MNEMONIC_CWDE,
    ZYDIS_MNEMONIC_DEC,     ZYDIS_MNEMONIC_DIV,    ZYDIS_MNEMONIC_IDIV,    ZYDIS_MNEMONIC_IMUL,   ZYDIS_MNEMONIC_INC,
    ZYDIS_MNEMONIC_LZCNT,   ZYDIS_MNEMONIC_MOV,    ZYDIS_MNEMONIC_MOVSX,   ZYDIS_MNEMONIC_MOVSXD, ZYDIS_MNEMONIC_MOVZX,
    ZYDIS_MNEMONIC_MUL,     ZYDIS_MNEMONIC_NEG,    ZYDIS_MNEMONIC_NOT,     ZYDIS_MNEMONIC_OR,     ZYDIS_MNEMONIC_POPCNT,
    ZYDIS_MNEMONIC_RCL,     ZYDIS_MNEMONIC_RCR,    ZYDIS_MNEMONIC_ROL,     ZYDIS_MNEMONIC_ROR,    ZYDIS_MNEMONIC_SAR,
    ZYDIS_MNEMONIC_SBB,     ZYDIS_MNEMONIC_SETB,   ZYDIS_MNEMONIC_SETBE,   ZYDIS_MNEMONIC_SETL,   ZYDIS_MNEMONIC_SETLE,
    ZYDIS_MNEMONIC_SETNB,   ZYDIS_MNEMONIC_SETNBE, ZYDIS_MNEMONIC_SETNL,   ZYDIS_MNEMONIC_SETNLE, ZYDIS_MNEMONIC_SETNO,
    ZYDIS_MNEMONIC_SETNP,   ZYDIS_MNEMONIC_SETNS,  ZYDIS_MNEMONIC_SETNZ,   ZYDIS_MNEMONIC_SETO,   ZYDIS_MNEMONIC_SETP,
    ZYDIS_MNEMONIC_SETS,    ZYDIS_MNEMONIC_SETZ,   ZYDIS_MNEMONIC_SHL,     ZYDIS_MNEMONIC_SHLD,   ZYDIS_MNEMONIC_SHR,
    ZYDIS_MNEMONIC_SHRD,    ZYDIS_MNEMONIC_STC,    ZYDIS_MNEMONIC_SUB,     ZYDIS_MNEMONIC_TEST,   ZYDIS_MNEMONIC_TZCNT,
    ZYDIS_MNEMONIC_XCHG,    ZYDIS_MNEMONIC_XOR};

// What pushes, pops and jumps through an operand of 64 bits.
std::string difference_of_operand(const PlainInstruction& ours, const Decoded& theirs) {
  const ZydisDecodedOperand& operand = theirs.operands[0];
  if (ours.has_immediate != (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE)) return "immediate";
  if (ours.has_memory != (operand.type == ZYDIS_OPERAND_TYPE_MEMORY)) return "memory";
  if (ours.has_immediate) return ours.immediate == operand.imm.value.s ? "" : "value";
  if (operand.size != 64 || ours.width != 8) return "width";
  if (ours.has_memory) return difference_of_memory(ours.memory, operand, theirs.in.address_width);
  return ours.reg == number_of(operand.reg.value) ? "" : "register";
}

std::string difference(const PlainInstruction& ours, const Decoded& theirs, unsigned& checked_memory) {
  const auto& in = theirs.in;
  if (!theirs.is_valid) return "no instruction";
  if (ours.size != in.length) return "length";
  if (in.attributes & ZYDIS_ATTRIB_HAS_LOCK) return "lock";
  const auto is = [&](ZydisMnemonic mnemonic) { return in.mnemonic == mnemonic ? "" : "kind"; };
  switch (ours.kind) {
    case Kind::computes:
    case Kind::divides:
      if (!kComputations.contains(in.mnemonic)) return "not a computation";
      if ((ours.kind == Kind::divides) != (in.mnemonic == ZYDIS_MNEMONIC_DIV || in.mnemonic == ZYDIS_MNEMONIC_IDIV))
        return "division";
      return difference_of_computation(ours, theirs, checked_memory);
    case Kind::nothing:
      return in.mnemonic == ZYDIS_MNEMONIC_NOP || in.mnemonic == ZYDIS_MNEMONIC_ENDBR64 ? "" : "kind";
    case Kind::address:
      if (in.mnemonic != ZYDIS_MNEMONIC_LEA || theirs.operands[0].size != 8u * ours.width) return "kind";
      if (number_of(theirs.operands[0].reg.value) != ours.reg) return "register";
      return difference_of_memory(ours.memory, theirs.operands[1], in.address_width);
    case Kind::direction:
      return is(ours.immediate ? ZYDIS_MNEMONIC_STD : ZYDIS_MNEMONIC_CLD);
    case Kind::jump:
    case Kind::call:
      if (theirs.operands[0].imm.value.s != ours.immediate) return "target";
      return is(ours.kind == Kind::call ? ZYDIS_MNEMONIC_CALL : ZYDIS_MNEMONIC_JMP);
    case Kind::branch:
      if (theirs.operands[0].imm.value.s != ours.immediate) return "target";
      if (in.meta.category != ZYDIS_CATEGORY_COND_BR || (in.opcode & 15) != ours.condition) return "condition";
      return (in.opcode_map == ZYDIS_OPCODE_MAP_0F ? in.opcode >> 4 == 8 : in.opcode >> 4 == 7) ? "" : "kind";
    case Kind::jump_to:
    case Kind::call_to:
      if (in.meta.branch_type != ZYDIS_BRANCH_TYPE_NEAR) return "far";
      if (*is(ours.kind == Kind::call_to ? ZYDIS_MNEMONIC_CALL : ZYDIS_MNEMONIC_JMP)) return "kind";
      return difference_of_operand(ours, theirs);
    case Kind::comes_back:
      if (in.meta.branch_type != ZYDIS_BRANCH_TYPE_NEAR || in.operand_width != 64) return "far";
      if (ours.immediate !=
          (theirs.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? theirs.operands[0].imm.value.s : 0))
        return "bytes";
      return is(ZYDIS_MNEMONIC_RET);
    case Kind::push:
    case Kind::pop:
      if (*is(ours.kind == Kind::push ? ZYDIS_MNEMONIC_PUSH : ZYDIS_MNEMONIC_POP)) return "kind";
      if (in.operand_width != 64) return "width";
      return difference_of_operand(ours, theirs);
    case Kind::push_flags:
    case Kind::pop_flags:
      return is(ours.kind == Kind::push_flags ? ZYDIS_MNEMONIC_PUSHFQ : ZYDIS_MNEMONIC_POPFQ);
    case Kind::move:
    case Kind::store: {
      const bool is_move = ours.kind == Kind::move;
      const ZydisMnemonic of_width[] = {
          is_move ? ZYDIS_MNEMONIC_MOVSB : ZYDIS_MNEMONIC_STOSB, is_move ? ZYDIS_MNEMONIC_MOVSW : ZYDIS_MNEMONIC_STOSW,
          is_move ? ZYDIS_MNEMONIC_MOVSD : ZYDIS_MNEMONIC_STOSD, is_move ? ZYDIS_MNEMONIC_MOVSQ : ZYDIS_MNEMONIC_STOSQ};
      if (in.address_width != 64 || ours.is_repeated != ((in.attributes & ZYDIS_ATTRIB_HAS_REP) != 0)) return "prefix";
      if (in.attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS)) return "segment";
      return is(of_width[ours.width == 1 ? 0 : ours.width == 2 ? 1 : ours.width == 4 ? 2 : 3]);
    }
    case Kind::leave:
      return in.operand_width == 64 ? is(ZYDIS_MNEMONIC_LEAVE) : "width";
  }
  return "kind";
}

}  // namespace

TEST_CASE("instructions that proftarget runs by itself are what Zydis says") {
  const std::vector<std::string> prefixes = {
      "",     "\x66", "\x67",     "\x64",     "\x65",         "\x2e",     "\x3e",     "\xf0",
      "\xf2", "\xf3", "\x66\xf3", "\xf3\x66", "\x66\x66\x2e", "\x67\x64", "\x66\x67", "\x2e\x64"};
  std::mt19937 random(1);
  std::set<ZydisMnemonic> seen;
  unsigned checked = 0, checked_memory = 0, failed = 0;
  for (const std::string& prefix : prefixes) {
    for (const char rex : {'\0', '\x40', '\x41', '\x42', '\x44', '\x48', '\x4f'}) {
      if (prefix.size() > 1 && rex != 0 && rex != 0x48) continue;
      for (unsigned opcode = 0; opcode < 512; ++opcode) {
        for (unsigned modrm = 0; modrm < 256; ++modrm) {
          std::string code = prefix;
          if (rex != 0) code += rex;
          if (opcode >= 256) code += '\x0f';
          code += char(opcode);
          code += char(modrm);
          for (int i = 0; i < 12; ++i) code += char(random());
          const auto ours = decode_plain(code);
          if (!ours) continue;
          ++checked;
          const Decoded theirs(code);
          if (theirs.is_valid) seen.insert(theirs.in.mnemonic);
          const std::string found = difference(*ours, theirs, checked_memory);
          if (found.empty()) continue;
          if (++failed <= 10) MESSAGE(text_of(code) << ": " << found);
        }
      }
    }
  }
  CHECK(failed == 0);
  CHECK(checked_memory > 100000);
  for (const ZydisMnemonic mnemonic : kComputations)
    CHECK_MESSAGE(seen.contains(mnemonic), ZydisMnemonicGetString(mnemonic));
}

TEST_CASE("instructions that end too early are not run by proftarget itself") {
  const std::string code("\x66\x48\x81\x84\x8a\x01\x02\x03\x04\x05\x06\x07\x08",
                         13);  // add $0x8070605, 0x4030201(%rdx, %rcx, 4)
  REQUIRE(decode_plain(code));
  for (size_t size = 0; size < code.size(); ++size) CHECK_FALSE(decode_plain(std::string_view(code).substr(0, size)));
}
