// The depth of the stack, in bytes from the return address, is followed from one instruction to the next and along
// jumps forward. After a jump, where no way is known to lead, it is the greatest so far: that of the function's body.
//
// Only a few functions of thousands do anything else with that word than to return. To follow the address through all
// of them would take longer than all the rest of the analysis, so WordSearch finds those few by looking at bytes, once.
// It errs only towards finding too many.

#include "return_slot.h"

#include <algorithm>
#include <array>

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
  ByteView rest;  // after ModRM

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
    ByteView after = rest;
    if (rm() == kStackPointer) {
      if (after.empty() || after[0] != kSibOfRsp) return m;
      after = after.subspan(1);
    } else if (rm() != kFramePointer || mod() == 0) {
      return m;
    }
    m.base = uint8_t(rm());
    m.displacement = number(after, mod() == 1 ? 1 : mod() == 2 ? 4 : 0);
    return m;
  }
};

// A number for each byte of the code that jumps forward lead to. The memory is used again and again, as this is about
// millions of jumps.
class ByOffset {
 public:
  explicit ByOffset(const Code& code) : code_(code), numbers_(of_this_thread()) {
    if (numbers_.size() < code.bytes.size()) numbers_.resize(code.bytes.size(), kUnknown);
  }
  ~ByOffset() {
    for (uint32_t offset : set_) numbers_[offset] = kUnknown;
  }
  ByOffset(const ByOffset&) = delete;
  ByOffset& operator=(const ByOffset&) = delete;

  void set(const Insn& jump, int32_t n) {
    const OldAddr target = code_.target(jump);
    if (target >= code_.range.end || target < code_.next(jump)) return;
    set_.push_back(uint32_t(target - code_.range.start));
    numbers_[set_.back()] = n;
  }
  int32_t at(uint32_t offset, int32_t otherwise) const {
    const int32_t n = numbers_[offset];
    return n != kUnknown ? n : otherwise;
  }

 private:
  static std::vector<int32_t>& of_this_thread() {
    thread_local std::vector<int32_t> numbers;
    return numbers;
  }
  const Code& code_;
  std::vector<int32_t>& numbers_;
  std::vector<uint32_t> set_;
};

class Scan {
 public:
  bool reads(const Code& code) {
    ByOffset known(code);
    for (const Insn& insn : code.insns) {
      if (depth_ == kUnknown) depth_ = known.at(insn.offset, deepest_);
      if (insn.names_stack_pointer || (insn.names_frame_pointer && has_frame_)) {
        if (step(code.bytes_of(insn))) return true;
        deepest_ = std::max(deepest_, depth_);
      }
      if (insn.flow == Flow::next) continue;
      if (insn.flow == Flow::jump || insn.flow == Flow::jump_if) known.set(insn, depth_);
      if (insn.flow == Flow::jump || insn.flow == Flow::ret || insn.flow == Flow::jump_indirect ||
          insn.flow == Flow::stop)
        depth_ = kUnknown;
    }
    depth_ = kUnknown;
    return false;
  }

 private:
  static constexpr std::array<bool, 256> kLookedAt = [] {
    std::array<bool, 256> looked_at{};
    for (int o = 0x50; o < 0x60; ++o) looked_at[size_t(o)] = true;
    for (uint8_t o : std::initializer_list<uint8_t>{0x03, 0x2b, 0x68, 0x6a, 0x81, 0x83, 0xc9, 0xff})
      looked_at[o] = true;
    for (uint8_t o : {opcode::kStore, opcode::kLoad, opcode::kCompare, opcode::kCompareWith, opcode::kLea})
      looked_at[o] = true;
    return looked_at;
  }();

  // True if the instruction uses the word.
  bool step(ByteView bytes) {
    if (!kLookedAt[opcode::is_rex(bytes[0]) && bytes.size() > 1 ? bytes[1] : bytes[0]]) return false;
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

// Where registers point to in the stack, as far as that is certain.
class StackPointers {
 public:
  bool is_followed(unsigned r) const { return set_ >> r & 1; }
  bool is_another_followed() const { return set_ & ~(1u << kStackPointer); }
  bool is_one_followed(unsigned registers) const { return set_ & registers; }
  // By the low three bits of their numbers.
  unsigned followed_by_low_bits() const { return (set_ | set_ >> 8) & ((1u << 8) - 1); }
  int32_t offset(unsigned r) const { return int32_t(offsets_[r]); }  // from the word with the return address
  void set(unsigned r, uint32_t offset) { set_ |= uint16_t(1u << r), offsets_[r] = offset; }
  void forget(unsigned r) { set_ &= uint16_t(~(1u << r)); }
  void forget_all(uint16_t registers) { set_ &= uint16_t(~registers); }
  void copy(unsigned to, unsigned from) { is_followed(from) ? set(to, offsets_[from]) : forget(to); }
  void add(unsigned r, int32_t n) { offsets_[r] += uint32_t(n); }
  bool is_at_word(unsigned r, int32_t displacement) const { return offsets_[r] + uint32_t(displacement) == 0; }

 private:
  uint16_t set_ = 1u << kStackPointer;
  std::array<uint32_t, 16> offsets_{};  // they wrap around: states are copied often
};

// An instruction's opcode and its operands, of any map of opcodes.
struct AnyBytes {
  enum class Map : uint8_t { one_byte, two_bytes, other };
  Map map = Map::one_byte;
  bool has_prefix = false, wide = false, is_evex = false, has_modrm = false;
  uint8_t opcode = 0, mod = 3, reg = 0, rm = 0;
  bool has_base = false, has_index = false;
  uint8_t base = 0;
  int32_t displacement = 0;
  const uint8_t* after;  // opcode, ModRM and displacement

  explicit AnyBytes(ByteView insn) : after(insn.data()) {
    const uint8_t* const end = insn.data() + insn.size();
    const auto next = [&] { return after < end ? *after++ : uint8_t(0); };
    uint8_t b = next(), rex = 0;
    for (; opcode::is_legacy_prefix(b); b = next()) has_prefix = true;
    if (opcode::is_rex(b)) rex = b, b = next();
    if (b == 0x0f) {
      map = Map::two_bytes;
      b = next();
      if (b == 0x38 || b == 0x3a) map = Map::other, b = next();
      has_modrm = after < end;
    } else if (b == 0xc5 || b == 0xc4 || b == 0x62) {  // VEX and EVEX have the bits of REX inverted
      map = Map::other;
      is_evex = b == 0x62;
      const uint8_t inverted = uint8_t(~next());
      rex = uint8_t(b == 0xc5 ? inverted >> 5 & 4 : inverted >> 5);
      for (int more = b == 0xc5 ? 0 : is_evex ? 2 : 1; more > 0; --more) next();
      b = next();
      has_modrm = after < end;
    } else {
      has_modrm = b < 0x40 ? (b & 7) < 4
                           : b == 0x63 || b == 0x69 || b == 0x6b || (b >= 0x80 && b < 0x90) || b == 0xc0 || b == 0xc1 ||
                                 b == 0xc6 || b == 0xc7 || (b >= 0xd0 && b < 0xd4) || (b >= 0xd8 && b < 0xe0) ||
                                 b == 0xf6 || b == 0xf7 || b >= 0xfe;
    }
    wide = rex & 8;
    opcode = b;
    if (!has_modrm) {
      rm = uint8_t((b & 7) | (rex & 1) << 3);
      return;
    }
    const uint8_t modrm = next();
    mod = modrm >> 6;
    reg = uint8_t((modrm >> 3 & 7) | (rex & 4) << 1);
    rm = uint8_t((modrm & 7) | (rex & 1) << 3);
    if (mod == 3) return;
    base = rm;
    if ((rm & 7) == 4) {
      const uint8_t sib = next();
      base = uint8_t((sib & 7) | (rex & 1) << 3);
      has_index = (sib & 0x38) != 0x20 || (rex & 2);
    }
    has_base = mod != 0 || (base & 7) != 5;
    if (mod == 1 && end - after >= 1) displacement = int8_t(*after), after += 1;
    if (mod == 2 && end - after >= 4) std::memcpy(&displacement, after, 4), after += 4;
  }
};

// Follows the stack pointer and its copies until an instruction uses the word of the return address. After a jump the
// state is that of one of the jumps that lead there: more is taken for certain than is, but nothing is missed.
class WordSearch {
 public:
  explicit WordSearch(const Code& code) : code_(code) {}

  bool finds() {
    ByOffset known(code_);  // which of states_
    bool is_known = true;
    for (const Insn& insn : code_.insns) {
      if (const int32_t s = is_known ? -1 : known.at(insn.offset, -1); s >= 0)
        now_ = states_[size_t(s)], is_known = changed_ = true;
      if (!is_known) continue;
      switch (insn.flow) {
        case Flow::next:
          if (!insn.names_stack_pointer && !now_.is_another_followed()) break;
          if (!does_nothing(code_.bytes_of(insn)) && uses_word(code_.bytes_of(insn))) return true;
          break;
        case Flow::call:
          if (code_.target(insn) == code_.next(insn)) {
            push();
            break;
          }
          [[fallthrough]];
        case Flow::call_indirect:
          changed_ |= now_.is_one_followed(kCallerSaved);
          now_.forget_all(kCallerSaved);
          break;
        case Flow::jump:
        case Flow::jump_if:
        case Flow::jump_if_short:
          if (changed_) states_.push_back(now_), changed_ = false;
          known.set(insn, int32_t(states_.size() - 1));
          break;
        case Flow::jump_indirect:
        case Flow::ret:
        case Flow::stop:
          break;
      }
      is_known = goes_on(insn.flow);
    }
    return false;
  }

 private:
  static constexpr uint16_t kCallerSaved = 0b0000'1111'1100'0111;  // rax, rcx, rdx, rsi, rdi, r8 to r11

  static bool goes_on(Flow flow) {
    return flow != Flow::jump && flow != Flow::jump_indirect && flow != Flow::ret && flow != Flow::stop;
  }
  void push() { changed_ = true, now_.add(kStackPointer, -kWord); }
  bool pops_word() {
    if (!now_.is_followed(kStackPointer)) return false;
    now_.add(kStackPointer, kWord);
    return now_.offset(kStackPointer) == kWord;
  }

  // Whether the first bytes show that the instruction has nothing to do with registers that point to the stack, as most
  // have not.
  bool does_nothing(ByteView bytes) const {
    size_t at = opcode::is_rex(bytes[0]) ? 1 : 0;
    if (bytes.size() < at + 2) return false;
    if (bytes[at] == 0x0f) {
      const uint8_t o = bytes[++at];
      const bool is_plain = (o & 0xf0) == 0x40 || (o & 0xf0) == 0x90 || (o & 0xf6) == 0xb6 || o == 0xaf;
      if (!is_plain || bytes.size() < at + 2) return false;
    } else if (!kHasPlainOperands[bytes[at]]) {
      return false;
    }
    const unsigned followed = now_.followed_by_low_bits() | 1u << kStackPointer;  // there may be a SIB byte
    return ((followed >> (bytes[at + 1] & 7) | followed >> (bytes[at + 1] >> 3 & 7)) & 1) == 0;
  }
  // Opcodes with ModRM that do no more than what their operands say.
  static constexpr std::array<bool, 256> kHasPlainOperands = [] {
    std::array<bool, 256> plain{};
    for (unsigned o = 0; o < 0x40; ++o) plain[o] = (o & 7) < 4;
    for (uint8_t o : std::initializer_list<uint8_t>{0x63, 0x69, 0x6b, 0xc0, 0xc1, 0xc6, 0xc7, 0xd1, 0xd3, 0xf6, 0xf7})
      plain[o] = true;
    for (unsigned o = 0x80; o < 0x8e; ++o) plain[o] = true;
    return plain;
  }();

  // What is not understood leaves the registers as they are, which is more than is certain.
  bool uses_word(ByteView bytes) {
    changed_ = true;
    const AnyBytes insn(bytes);
    const bool is_lea = insn.map == AnyBytes::Map::one_byte && insn.opcode == opcode::kLea;
    const bool in_stack = insn.has_base && !insn.has_index && now_.is_followed(insn.base);
    if (in_stack && !is_lea && (insn.is_evex || now_.is_at_word(insn.base, insn.displacement))) return true;
    if (insn.map == AnyBytes::Map::two_bytes) return step_two_bytes(insn);
    if (insn.map == AnyBytes::Map::other) return false;
    if (is_lea) {
      if (insn.has_prefix) return in_stack;
      if (in_stack && insn.wide)
        now_.set(insn.reg, uint32_t(now_.offset(insn.base)) + uint32_t(insn.displacement));
      else
        now_.forget(insn.reg);
      return false;
    }
    return step(insn, bytes);
  }

  bool step_two_bytes(const AnyBytes& insn) {
    const uint8_t o = insn.opcode;
    const bool is_push_or_pop = (o & 0xf6) == 0xa0;  // of segment registers
    const bool is_move_if = (o & 0xf0) == 0x40, is_extending_move = (o & 0xf6) == 0xb6;
    if ((is_move_if || is_extending_move) && !insn.has_prefix) now_.forget(insn.reg);
    return is_push_or_pop;
  }

  bool step(const AnyBytes& insn, ByteView bytes) {
    constexpr uint8_t kRax = 0;
    const uint8_t o = insn.opcode;
    const bool is_register = insn.mod == 3;
    if ((o & 0xf8) == 0x50 || o == 0x68 || o == 0x6a) {
      push();
      return insn.has_prefix;
    }
    if ((o & 0xf8) == 0x58) {
      now_.forget(insn.rm == kStackPointer ? kRax : insn.rm);
      return pops_word() || insn.has_prefix || insn.rm == kStackPointer;
    }
    if (o == 0x9c || o == 0x9d || o == 0xc8) return true;  // pushf, popf, enter
    if (o == 0xc9) {                                       // leave
      now_.copy(kStackPointer, kFramePointer);
      now_.forget(kFramePointer);
      return pops_word();
    }
    if ((o & 0xf8) == 0x90) return now_.is_one_followed(1u << kRax | 1u << insn.rm) && insn.rm != kRax;  // xchg
    if ((o & 0xf8) == 0xb8 && !insn.has_prefix) now_.forget(insn.rm);
    if (o == 0x05 || o == 0x2d) return now_.is_followed(kRax);
    if (!insn.has_modrm) return false;
    if (o == 0x8f) return pops_word() || is_register;
    if (o == 0xff && (insn.reg & 7) == 6) push();
    if (o == opcode::kStore && is_register) {
      if (insn.has_prefix) return now_.is_followed(insn.reg);
      insn.wide ? now_.copy(insn.rm, insn.reg) : now_.forget(insn.rm);
    } else if (o == opcode::kLoad) {
      if (insn.has_prefix) return is_register && now_.is_followed(insn.rm);
      insn.wide&& is_register ? now_.copy(insn.reg, insn.rm) : now_.forget(insn.reg);
    } else if ((o == 0x81 || o == 0x83) && is_register) {
      return step_arithmetic(insn, bytes);
    } else if (o == 0x87 && is_register) {
      return now_.is_one_followed(1u << insn.rm | 1u << insn.reg);
    } else if (insn.has_prefix) {
      return false;
    } else if (o < 0x38 && (o & 7) == 1) {  // arithmetic of registers
      if (is_register) now_.forget(insn.rm);
    } else if ((o < 0x38 && (o & 7) == 3) || o == 0x63) {
      now_.forget(insn.reg);
    } else if ((o == opcode::kMoveNumber || o == 0xc1 || o == 0xd1 || o == 0xd3) && is_register) {
      now_.forget(insn.rm);
    }
    return false;
  }

  bool step_arithmetic(const AnyBytes& insn, ByteView bytes) {
    const unsigned operation = insn.reg & 7;
    constexpr unsigned kAdd = 0, kSubtract = 5, kCompare = 7;
    if (operation == kCompare || !now_.is_followed(insn.rm)) return false;
    if (insn.has_prefix) return true;
    if (!insn.wide || (operation != kAdd && operation != kSubtract)) {
      now_.forget(insn.rm);
      return false;
    }
    int32_t n = 0;
    if (insn.opcode == 0x83)
      n = int8_t(bytes.back());
    else
      std::memcpy(&n, bytes.data() + bytes.size() - sizeof n, sizeof n);
    now_.add(insn.rm, operation == kAdd ? n : int32_t(0u - uint32_t(n)));
    return false;
  }

  const Code& code_;
  StackPointers now_;
  bool changed_ = true;                // since the last of states_
  std::vector<StackPointers> states_;  // at jumps
};

}  // namespace

bool may_use_return_address(const Code& code) { return WordSearch(code).finds(); }

bool may_read_return_slot(const std::vector<Code>& parts) {
  Scan scan;
  return std::ranges::any_of(parts, [&](const Code& code) { return scan.reads(code); });
}

}  // namespace profld
