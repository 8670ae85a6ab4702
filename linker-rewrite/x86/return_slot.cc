// The depth of the stack, in bytes from the return address, is followed from one instruction to the next and along jumps
// forward. Behind a jump, where no way is known to lead, it is the greatest so far: that of the function's body.

#include "return_slot.h"

#include <algorithm>

#include "encoding.h"

namespace profld {

namespace {

constexpr int32_t kUnknown = INT32_MIN, kWord = 8;
constexpr uint8_t kStackPointer = 4, kFramePointer = 5;

struct Operand {
  uint8_t base = 0xff;  // rsp, rbp, or another that does not matter
  int32_t displacement = 0;
};

// Opcode, ModRM and what follows it, of the one-byte opcodes that matter here.
struct Bytes3 {
  bool wide = false, extended_base = false, extended_register = false;
  uint8_t opcode = 0, modrm = 0;
  ByteView rest;  // behind ModRM

  explicit Bytes3(ByteView insn) {
    size_t at = 0;
    if (opcode::is_rex(insn[0]) && insn.size() > 1) {
      wide = opcode::is_rex_w(insn[0]);
      extended_base = insn[0] & 1;
      extended_register = insn[0] & 4;
      at = 1;
    }
    opcode = insn[at];
    if (insn.size() > at + 1) modrm = insn[at + 1], rest = insn.subspan(at + 2);
  }
  unsigned mod() const { return modrm >> 6; }
  unsigned reg() const { return modrm >> 3 & 7; }
  unsigned rm() const { return modrm & 7; }
  bool is_register(uint8_t r) const { return mod() == 3 && rm() == r && !extended_base; }

  int32_t number(ByteView at, size_t size) const {
    int32_t n = 0;
    if (size == 1 && !at.empty()) n = int8_t(at[0]);
    if (size == 4 && at.size() >= 4) std::memcpy(&n, at.data(), 4);
    return n;
  }
  // Of an operand in memory without an index.
  Operand memory() const {
    constexpr uint8_t kSibOfRsp = 0x24;
    Operand m;
    if (mod() == 3 || extended_base) return m;
    ByteView behind = rest;
    if (rm() == kStackPointer) {
      if (behind.empty() || behind[0] != kSibOfRsp) return m;
      behind = behind.subspan(1);
    } else if (rm() != kFramePointer || mod() == 0) {
      return m;
    }
    m.base = uint8_t(rm());
    m.displacement = number(behind, mod() == 1 ? 1 : mod() == 2 ? 4 : 0);
    return m;
  }
};

class Scan {
 public:
  bool reads(const Code& code) {
    std::vector<int32_t> known(code.insns.size(), kUnknown);
    for (size_t i = 0; i < code.insns.size(); ++i) {
      const Insn& insn = code.insns[i];
      if (depth_ == kUnknown) depth_ = known[i] != kUnknown ? known[i] : deepest_;
      if (step(code.bytes_of(insn))) return true;
      deepest_ = std::max(deepest_, depth_);
      if (insn.flow == Flow::jump || insn.flow == Flow::jump_if)
        if (const auto to = code.range.contains(code.target(insn)) ? code.index(code.target(insn)) : std::nullopt)
          known[*to] = depth_;
      if (insn.flow == Flow::jump || insn.flow == Flow::ret || insn.flow == Flow::jump_indirect ||
          insn.flow == Flow::stop)
        depth_ = kUnknown;
    }
    depth_ = kUnknown;
    return false;
  }

 private:
  // True if the instruction uses the word.
  bool step(ByteView bytes) {
    const Bytes3 insn(bytes);
    if ((insn.opcode & 0xf8) == 0x50 || insn.opcode == 0x68 || insn.opcode == 0x6a) depth_ += kWord;
    if ((insn.opcode & 0xf8) == 0x58) depth_ -= kWord;
    if (insn.opcode == 0xc9) depth_ = 0;  // leave
    const bool is_arithmetic = insn.wide && (insn.opcode == 0x81 || insn.opcode == 0x83);
    if (is_arithmetic && insn.is_register(kStackPointer)) {
      const int32_t n = insn.number(insn.rest, insn.opcode == 0x83 ? 1 : 4);
      if (insn.reg() == 0) depth_ -= n;
      if (insn.reg() == 5) depth_ += n;
      return false;
    }
    if (insn.wide && insn.modrm == 0xe5 && insn.opcode == opcode::kStore) has_frame_ = true;  // mov %rsp, %rbp
    if (insn.wide && insn.modrm == 0xec && insn.opcode == opcode::kLoad) has_frame_ = true;
    const bool is_push = insn.opcode == 0xff && insn.reg() == 6;
    const bool is_load = insn.wide && (insn.opcode == opcode::kLoad || insn.opcode == opcode::kCompare ||
                                       insn.opcode == opcode::kCompareWith || insn.opcode == 0x2b ||
                                       insn.opcode == 0x03 || (is_arithmetic && insn.reg() == 7));
    const bool is_lea = insn.wide && insn.opcode == opcode::kLea;
    if (!is_push && !is_load && !is_lea) return false;
    const Operand m = insn.memory();
    if (is_lea && m.base == kStackPointer && insn.reg() == kStackPointer && !insn.extended_register) {
      depth_ -= m.displacement;
      return false;
    }
    if (m.base == kStackPointer && m.displacement == depth_) return true;
    if (m.base == kFramePointer && m.displacement == kWord && has_frame_) return true;
    if (is_push) depth_ += kWord;
    return false;
  }

  int32_t depth_ = 0, deepest_ = 0;
  bool has_frame_ = false;
};

}  // namespace

bool may_read_return_slot(const std::vector<Code>& parts) {
  Scan scan;
  return std::ranges::any_of(parts, [&](const Code& code) { return scan.reads(code); });
}

}  // namespace profld
