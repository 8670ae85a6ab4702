// Decoding takes a thousand instructions for each one decoded. But what an instruction is depends on its prefixes,
// opcode, ModRM and SIB bytes alone, which differ far less than displacements and immediates do: gcc's compiler proper
// has five million instructions, and in their first bytes a few ten thousand variants. So a trie keeps these bytes,
// with what the decoder said about them, and the decoder is asked only about bytes that are not in the trie.
//
// The decoder also says where these bytes end. That follows from the bytes themselves, so no entry of the trie is the
// beginning of another, and nothing here has to know how instructions are encoded.

#include "decode_cache.h"

#include <algorithm>
#include <cstring>

#include "decoder.h"

namespace profld {

namespace {

constexpr size_t kMaxNodes = 1 << 14;  // of 512 bytes; a large compiler takes about a third

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

// Fills in all of an Insn that its first bytes tell. Returns why code that contains it cannot be moved; nullopt if it
// can.
std::optional<ReasonCode> describe(const ZydisDecodedInstruction& in, Insn& insn) {
  insn.length = in.length;
  insn.flow = flow_of(in);
  if (in.meta.category == ZYDIS_CATEGORY_RET && in.meta.branch_type != ZYDIS_BRANCH_TYPE_NEAR)
    return ReasonCode::far_return;
  if (in.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return ReasonCode::far_branch;
  if ((in.attributes & ZYDIS_ATTRIB_HAS_MODRM) && in.raw.modrm.mod == 0 && in.raw.modrm.rm == 5) {
    insn.rip_relative = true;
    insn.field = in.raw.disp.offset & 0xf;
    insn.field_size = 4;
    if (in.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE) return ReasonCode::short_address;
  } else if (in.raw.imm[0].is_relative) {
    insn.field = in.raw.imm[0].offset & 0xf;
    insn.field_size = (in.raw.imm[0].size / 8) & 7;
    insn.prefixes = in.raw.prefix_count & 0xf;
    // With a 16-bit operand size prefix the displacement means different things to different processors; xbegin's is
    // a branch that only an abort takes.
    const bool known = insn.flow == Flow::call || insn.flow == Flow::jump || insn.flow == Flow::jump_if ||
                       insn.flow == Flow::jump_if_short;
    if ((insn.field_size != 1 && insn.field_size != 4) || !known) return ReasonCode::unusual_branch;
  }
  return std::nullopt;
}

bool has_number(const ZydisDecodedInstruction& in, const Insn& insn) {
  const auto is_number = [](const auto& immediate) { return immediate.size >= 32 && !immediate.is_relative; };
  return (in.raw.disp.size >= 32 && !insn.rip_relative) || is_number(in.raw.imm[0]) || is_number(in.raw.imm[1]);
}

// Whether an operand, also one that its bytes do not show, is that register, or a part of it, or an address with it.
bool names(const ZydisDecodedInstruction& in, const ZydisDecodedOperand* operands, ZydisRegister full) {
  const auto is = [&](ZydisRegister r) {
    return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r) == full;
  };
  return std::any_of(operands, operands + in.operand_count, [&](const ZydisDecodedOperand& o) {
    return (o.type == ZYDIS_OPERAND_TYPE_REGISTER && is(o.reg.value)) ||
           (o.type == ZYDIS_OPERAND_TYPE_MEMORY && (is(o.mem.base) || is(o.mem.index)));
  });
}

// Length of these first bytes: all before the displacement and the immediates. 3DNow! has its opcode after them.
size_t length_of_head(const ZydisDecodedInstruction& in) {
  if (in.opcode_map == ZYDIS_OPCODE_MAP_0F0F) return in.length;
  if (in.raw.disp.size != 0) return in.raw.disp.offset;
  return in.raw.imm[0].size != 0 ? in.raw.imm[0].offset : in.length;
}

}  // namespace

int64_t NumberField::read(const uint8_t* insn) const {
  if (size == 0) return 0;
  uint64_t n = 0;
  std::memcpy(&n, insn + offset, size);  // little-endian, as the machine itself
  const unsigned unused = 64 - 8u * size;
  return is_signed ? int64_t(n << unused) >> unused : int64_t(n);
}

bool CachedInsn::is_no_operation() const { return mnemonic == ZYDIS_MNEMONIC_NOP || mnemonic == ZYDIS_MNEMONIC_INT3; }

bool CachedInsn::ends_control() const {
  return mnemonic == ZYDIS_MNEMONIC_JMP || mnemonic == ZYDIS_MNEMONIC_RET || mnemonic == ZYDIS_MNEMONIC_HLT ||
         mnemonic == ZYDIS_MNEMONIC_UD2;
}

bool CachedInsn::enters_kernel() const {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_INT:
      return true;
    default:
      return false;
  }
}

bool CachedInsn::sets_thread_pointer() const { return mnemonic == ZYDIS_MNEMONIC_WRFSBASE; }

DecodeCache& DecodeCache::of_this_thread() {
  thread_local DecodeCache cache;
  return cache;
}

uint32_t DecodeCache::index_of(ByteView code) const {
  uint16_t node = 0;
  for (const uint8_t byte : code) {
    const uint16_t link = nodes_[node][byte];
    if (link & kLeaf) return link & ~kLeaf;
    if (link == 0) break;
    node = link;
  }
  return kNone;
}

const CachedInsn* DecodeCache::find(ByteView code) {
  const uint32_t index = index_of(code);
  if (index == kNone) return learn(code);
  return cached_[index].insn.length <= code.size() ? &cached_[index] : nullptr;
}

const Insn* DecodeCache::find_insn(ByteView code) {
  if (const uint32_t index = index_of(code); index != kNone) {
    const Insn& insn = insns_[index];
    return insn.length != 0 && insn.length <= code.size() ? &insn : nullptr;
  }
  const CachedInsn* cached = learn(code);
  return cached && !cached->unusable ? &cached->insn : nullptr;
}

const CachedInsn* DecodeCache::learn(ByteView code) {
  ZydisDecodedInstruction in;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  ZydisDecoderContext context;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder(), &context, code.data(), code.size(), &in))) return nullptr;
  CachedInsn s;
  s.unusable = describe(in, s.insn);
  s.mnemonic = in.mnemonic;
  s.prefixes = in.raw.prefix_count;
  s.displacement = {in.raw.disp.offset, uint8_t(in.raw.disp.size / 8), true};
  s.immediate = {in.raw.imm[0].offset, uint8_t(in.raw.imm[0].size / 8), in.raw.imm[0].is_signed != 0};
  s.is_relative = in.raw.imm[0].is_relative;
  const bool has_operands =
      ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder(), &context, &in, operands, in.operand_count));
  s.flags = flag_effect_of(in, has_operands ? operands : nullptr);
  s.insn.has_number = has_number(in, s.insn);
  s.insn.names_stack_pointer = !has_operands || names(in, operands, ZYDIS_REGISTER_RSP);
  s.insn.names_frame_pointer = !has_operands || names(in, operands, ZYDIS_REGISTER_RBP);
  // Other encodings scale displacements, and keep registers in immediates; the decoder leaves out some displacements
  // of 32-bit addresses.
  s.has_semantics = in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && in.address_width == 64 &&
                    in.raw.imm[1].size == 0 && has_operands;
  if (s.has_semantics) s.semantics = semantics_of(in, operands, s.insn.flow);

  const size_t head = length_of_head(in);
  if (nodes_.size() + head > kMaxNodes || cached_.size() == kLeaf) {
    not_kept_ = s;
    return &not_kept_;
  }
  uint16_t node = 0;
  for (size_t i = 0; i + 1 < head; ++i) {
    uint16_t link = nodes_[node][code[i]];
    if (link == 0) {
      nodes_[node][code[i]] = link = uint16_t(nodes_.size());
      nodes_.emplace_back();
    }
    node = link;
  }
  nodes_[node][code[head - 1]] = uint16_t(kLeaf | cached_.size());
  insns_.push_back(s.unusable ? Insn() : s.insn);
  cached_.push_back(s);
  return &cached_.back();
}

}  // namespace profld
