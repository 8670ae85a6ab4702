#include "decode.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "decoder.h"

namespace profld {

namespace {

Flow flow_of(const ZydisDecodedInstruction& in) {
  switch (in.meta.category) {
    case ZYDIS_CATEGORY_CALL:
      return in.raw.imm[0].is_relative ? Flow::call : Flow::call_indirect;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return in.raw.imm[0].is_relative ? Flow::jump : Flow::jump_indirect;
    case ZYDIS_CATEGORY_COND_BR:
      if (!in.raw.imm[0].is_relative) return Flow::next;  // xend, xabort
      switch (in.mnemonic) {
        case ZYDIS_MNEMONIC_LOOP:
        case ZYDIS_MNEMONIC_LOOPE:
        case ZYDIS_MNEMONIC_LOOPNE:
        case ZYDIS_MNEMONIC_JRCXZ:
        case ZYDIS_MNEMONIC_JECXZ:
          return Flow::jump_if_short;
        default:
          return Flow::jump_if;
      }
    case ZYDIS_CATEGORY_RET:
      return Flow::ret;
    default:
      break;
  }
  switch (in.mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_INT3:
      return Flow::stop;
    default:
      return Flow::next;
  }
}

std::string at(const char* what, OldAddr a) {
  char text[96];
  std::snprintf(text, sizeof text, "%s at 0x%llx", what, static_cast<unsigned long long>(a.value));
  return text;
}

}  // namespace

std::optional<size_t> Code::index(OldAddr a) const {
  if (!range.contains(a)) return std::nullopt;
  uint32_t offset = uint32_t(a - range.start);
  auto it = std::ranges::lower_bound(insns, offset, {}, &Insn::offset);
  if (it == insns.end() || it->offset != offset) return std::nullopt;
  return size_t(it - insns.begin());
}

size_t Code::covering(OldAddr a) const {
  auto after = std::ranges::upper_bound(insns, uint32_t(a - range.start), {}, &Insn::offset);
  return size_t(after - insns.begin()) - 1;
}

bool Code::is_target(OldAddr a) const {
  if (!range.contains(a) || insns.empty()) return false;
  const size_t i = covering(a);
  const uint64_t into = a - address(insns[i]);
  if (into == 0) return true;
  if (i == 0 || insns[i].flow != Flow::next) return false;
  ZydisDecodedInstruction in;
  return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder(), nullptr, bytes.data() + insns[i].offset,
                                                    insns[i].length, &in)) &&
         into <= in.raw.prefix_count;
}

std::optional<Code> decode(const Image& image, OldRange range, std::string* why) {
  auto bytes = image.bytes(range.start, range.size());
  if (!bytes || range.size() > (uint64_t(1) << 31)) {
    *why = "its bytes are not in the file";
    return std::nullopt;
  }
  Code code{range, *bytes, {}};
  code.insns.reserve(range.size() / 4 + 1);
  for (uint64_t offset = 0; offset < bytes->size();) {
    ZydisDecodedInstruction in;
    const OldAddr here = range.start + offset;
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeInstruction(&decoder(), nullptr, bytes->data() + offset, bytes->size() - offset, &in))) {
      *why = at("bytes that are no instruction", here);
      return std::nullopt;
    }
    Insn insn;
    insn.offset = uint32_t(offset);
    insn.length = in.length;
    insn.flow = flow_of(in);
    if (in.meta.category == ZYDIS_CATEGORY_RET && in.meta.branch_type != ZYDIS_BRANCH_TYPE_NEAR) {
      *why = at("far return", here);
      return std::nullopt;
    }
    if (in.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) {
      *why = at("far branch", here);
      return std::nullopt;
    }
    if ((in.attributes & ZYDIS_ATTRIB_HAS_MODRM) && in.raw.modrm.mod == 0 && in.raw.modrm.rm == 5) {
      insn.rip_relative = true;
      insn.field = in.raw.disp.offset;
      insn.field_size = 4;
      insn.target = here.value + in.length + uint64_t(in.raw.disp.value);
      if (in.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE) {
        *why = at("32-bit instruction-relative address", here);
        return std::nullopt;
      }
    } else if (in.raw.imm[0].is_relative) {
      insn.field = in.raw.imm[0].offset;
      insn.field_size = uint8_t(in.raw.imm[0].size / 8);
      insn.target = here.value + in.length + uint64_t(in.raw.imm[0].value.s);
      insn.prefixes = in.raw.prefix_count;
      // With a 16-bit operand size prefix the displacement means different things to different processors; xbegin's is
      // a branch that only an abort takes.
      bool known = insn.flow == Flow::call || insn.flow == Flow::jump || insn.flow == Flow::jump_if ||
                   insn.flow == Flow::jump_if_short;
      if ((insn.field_size != 1 && insn.field_size != 4) || !known) {
        *why = at("unusual branch", here);
        return std::nullopt;
      }
    }
    code.insns.push_back(insn);
    offset += in.length;
  }
  return code;
}

}  // namespace profld
