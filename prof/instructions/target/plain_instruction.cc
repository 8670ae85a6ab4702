#include "plain_instruction.h"

namespace prof::target {

namespace {

using Kind = PlainInstruction::Kind;

constexpr size_t kLongest = 15;
constexpr uint8_t kRexW = 8, kRexR = 4, kRexX = 2, kRexB = 1;

// What an opcode with a ModRM byte does with its operands.
enum Access : uint8_t { access_none = 0, access_read = 1, access_write = 2, access_both = 3 };

struct Form {
  Access access = access_none;    // of the operand that can be memory
  bool is_byte = false;           // that operand has 8 bits
  bool is_byte_register = false;  // and so has the other one
  bool is_extension = false;      // the other one is part of the opcode
  bool needs_register = false;    // memory would be something else
  uint8_t immediate = 0;          // bytes
  uint8_t memory_width = 0;       // of the operand in memory, if that does not follow from prefixes
};

class Decoder {
 public:
  explicit Decoder(std::string_view code) : code_(code.substr(0, kLongest)) {}

  std::optional<PlainInstruction> decode() {
    if (!prefixes()) return std::nullopt;
    opcode_ = byte();
    const bool is_plain = opcode_ == 0x0f ? two_bytes(byte()) : one_byte();
    if (!is_plain || is_bad_) return std::nullopt;
    out_.size = uint8_t(at_);
    return out_;
  }

 private:
  uint8_t byte() {
    if (at_ < code_.size()) return uint8_t(code_[at_++]);
    is_bad_ = true;
    return 0;
  }
  // Of 1, 2, 4 or 8 bytes.
  int64_t number(unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= uint64_t(byte()) << 8 * i;
    const unsigned unused = 64 - 8 * size;
    return int64_t(value << unused) >> unused;
  }

  bool prefixes() {
    for (;;) {
      const uint8_t next = byte();
      switch (next) {
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:  // segments that begin at 0, or hints
          has_flat_segment_ = true;
          continue;
        case 0x64:
        case 0x65:
          if (out_.memory.segment != PlainMemory::Segment::none) return false;
          out_.memory.segment = next == 0x64 ? PlainMemory::Segment::fs : PlainMemory::Segment::gs;
          continue;
        case 0x66:
          is_16_bit_ = true;
          continue;
        case 0x67:
          out_.memory.is_short = true;
          continue;
        case 0xf3:
          if (has_f3_) return false;
          has_f3_ = true;
          continue;
        case 0xf0:
        case 0xf2:
          return false;
        default:
          break;
      }
      if (next >= 0x40 && next <= 0x4f)
        rex_ = next;
      else
        --at_;
      // Which of two segments counts is nothing to rely upon.
      return !is_bad_ && !(has_flat_segment_ && out_.memory.segment != PlainMemory::Segment::none);
    }
  }

  unsigned operand_width() const { return rex_ & kRexW ? 8 : is_16_bit_ ? 2 : 4; }
  unsigned immediate_width() const { return is_16_bit_ && !(rex_ & kRexW) ? 2 : 4; }
  // For those that have 64 bits without a prefix, or whose prefixes would mean something else.
  bool has_odd_prefix() const { return is_16_bit_ || has_f3_; }

  bool one_byte() {
    const uint8_t op = opcode_;
    if (has_f3_ && op != 0xc3 && op != 0xa4 && op != 0xa5 && op != 0xaa && op != 0xab) return false;
    if (op < 0x40) return arithmetic();
    if (op >= 0x50 && op <= 0x5f) {
      if (is_16_bit_) return false;
      out_.kind = op < 0x58 ? Kind::push : Kind::pop;
      out_.width = 8;
      out_.reg = uint8_t((op & 7) | (rex_ & kRexB ? 8 : 0));
      return true;
    }
    if (op >= 0x70 && op <= 0x7f) return branch(1);
    if (op >= 0x90 && op <= 0x97) return exchange();
    if (op >= 0xb0 && op <= 0xbf) return load_immediate();
    const bool is_byte = !(op & 1);
    switch (op) {
      case 0x63:
        return (rex_ & kRexW) && operands({.access = access_read, .memory_width = 4});
      case 0x68:
      case 0x6a:
        if (is_16_bit_) return false;
        out_.kind = Kind::push;
        out_.width = 8;
        out_.has_immediate = true;
        out_.immediate = number(op == 0x68 ? 4 : 1);
        return true;
      case 0x69:
        return operands({.access = access_read, .immediate = uint8_t(immediate_width())});
      case 0x6b:
        return operands({.access = access_read, .immediate = 1});
      case 0x80:
      case 0x81:
      case 0x83:
        return operands({.access = extension() == 7 ? access_read : access_both,
                         .is_byte = is_byte,
                         .is_extension = true,
                         .immediate = uint8_t(op == 0x81 ? immediate_width() : 1)});
      case 0x84:
      case 0x85:
        return operands({.access = access_read, .is_byte = is_byte, .is_byte_register = is_byte});
      case 0x86:
      case 0x87:
        return operands({.is_byte = is_byte, .is_byte_register = is_byte, .needs_register = true});
      case 0x88:
      case 0x89:
        return operands({.access = access_write, .is_byte = is_byte, .is_byte_register = is_byte});
      case 0x8a:
      case 0x8b:
        return operands({.access = access_read, .is_byte = is_byte, .is_byte_register = is_byte});
      case 0x8d:
        return load_address();
      case 0x98:
      case 0x99:
      case 0xf5:
      case 0xf8:
      case 0xf9:
        return computes_alone(0);
      case 0x9c:
      case 0x9d:
        if (is_16_bit_) return false;
        out_.kind = op == 0x9c ? Kind::push_flags : Kind::pop_flags;
        return true;
      case 0xa4:
      case 0xa5:
      case 0xaa:
      case 0xab:
        if (out_.memory.is_short || out_.memory.segment != PlainMemory::Segment::none) return false;
        out_.kind = op < 0xa8 ? Kind::move : Kind::store;
        out_.width = uint8_t(is_byte ? 1 : operand_width());
        out_.is_repeated = has_f3_;
        return true;
      case 0xa8:
        return computes_alone(1);
      case 0xa9:
        return computes_alone(immediate_width());
      case 0xc0:
      case 0xc1:
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return extension() != 6 && operands({.access = access_both,
                                             .is_byte = is_byte,
                                             .is_extension = true,
                                             .immediate = uint8_t(op < 0xd0 ? 1 : 0)});
      case 0xc2:
      case 0xc3:
        if (is_16_bit_) return false;
        out_.kind = Kind::comes_back;
        if (op == 0xc2) out_.immediate = number(2) & 0xffff;
        return true;
      case 0xc6:
      case 0xc7:
        return extension() == 0 && operands({.access = access_write,
                                             .is_byte = is_byte,
                                             .is_extension = true,
                                             .immediate = uint8_t(is_byte ? 1 : immediate_width())});
      case 0xc9:
        if (is_16_bit_) return false;
        out_.kind = Kind::leave;
        return true;
      case 0xe8:
      case 0xe9:
      case 0xeb:
        if (is_16_bit_) return false;
        out_.kind = op == 0xe8 ? Kind::call : Kind::jump;
        out_.immediate = number(op == 0xeb ? 1 : 4);
        return true;
      case 0xf6:
      case 0xf7:
        return unary(is_byte);
      case 0xfc:
      case 0xfd:
        out_.kind = Kind::direction;
        out_.immediate = op == 0xfd;
        return true;
      case 0xfe:
        return extension() <= 1 && operands({.access = access_both, .is_byte = true, .is_extension = true});
      case 0xff:
        if (extension() <= 1) return operands({.access = access_both, .is_extension = true});
        return through_operand();
      default:
        return false;
    }
  }

  bool two_bytes(uint8_t op) {
    second_ = op;
    is_two_bytes_ = true;
    if (has_f3_) {
      if (op == 0x1e && !is_16_bit_ && byte() == 0xfa) return true;  // endbr64
      // popcnt; tzcnt and lzcnt, which processors that have neither run as bsf and bsr: so does this one.
      static const bool has_popcnt = __builtin_cpu_supports("popcnt");
      return ((op == 0xb8 && has_popcnt) || op == 0xbc || op == 0xbd) && operands({.access = access_read});
    }
    if (op >= 0x40 && op <= 0x4f) return operands({.access = access_read});
    if (op >= 0x80 && op <= 0x8f) return branch(4);
    if (op >= 0x90 && op <= 0x9f)
      return extension() == 0 && operands({.access = access_write, .is_byte = true, .is_extension = true});
    if (op >= 0xc8 && op <= 0xcf) {
      if (is_16_bit_ || is_stack_pointer(op & 7, rex_ & kRexB, false)) return false;
      return computes_alone(0);
    }
    switch (op) {
      case 0x1f:
        return extension() == 0 && operands({}) && is_nothing();
      case 0xa3:
      case 0xab:
      case 0xb3:
      case 0xbb:  // in memory, the bit may be far away
        return operands({.needs_register = true});
      case 0xa4:
      case 0xac:
        return operands({.access = access_both, .immediate = 1});
      case 0xa5:
      case 0xad:
        return operands({.access = access_both});
      case 0xaf:
      case 0xbc:
      case 0xbd:
        return operands({.access = access_read});
      case 0xb6:
      case 0xbe:
        return operands({.access = access_read, .is_byte = true});
      case 0xb7:
      case 0xbf:
        return operands({.access = access_read, .memory_width = 2});
      case 0xba:
        return extension() >= 4 &&
               operands({.access = extension() == 4 ? access_read : access_both, .is_extension = true, .immediate = 1});
      default:
        return false;
    }
  }

  // add, or, adc, sbb, and, sub, xor, cmp.
  bool arithmetic() {
    const bool is_comparison = opcode_ >= 0x38;
    const unsigned form = opcode_ & 7;
    const bool is_byte = !(form & 1);
    if (form < 2)
      return operands(
          {.access = is_comparison ? access_read : access_both, .is_byte = is_byte, .is_byte_register = is_byte});
    if (form < 4) return operands({.access = access_read, .is_byte = is_byte, .is_byte_register = is_byte});
    return form < 6 && computes_alone(is_byte ? 1 : immediate_width());
  }

  bool branch(unsigned size) {
    if (has_odd_prefix()) return false;
    out_.kind = Kind::branch;
    out_.condition = (is_two_bytes_ ? second_ : opcode_) & 15;
    out_.immediate = number(size);
    return true;
  }

  bool exchange() {
    if (opcode_ == 0x90 && !(rex_ & kRexB)) return is_nothing();
    if (is_stack_pointer(opcode_ & 7, rex_ & kRexB, false)) return false;
    return computes_alone(0);
  }

  bool load_immediate() {
    const bool is_byte = opcode_ < 0xb8;
    if (is_stack_pointer(opcode_ & 7, rex_ & kRexB, is_byte)) return false;
    return computes_alone(is_byte ? 1 : operand_width());
  }

  bool load_address() {
    if (!modrm() || mod_ == 3) return false;
    out_.kind = Kind::address;
    out_.width = uint8_t(operand_width());
    out_.reg = uint8_t(reg_ | (rex_ & kRexR ? 8 : 0));
    return true;
  }

  // test, not, neg, mul, imul, div, idiv.
  bool unary(bool is_byte) {
    const unsigned which = extension();
    if (which == 1) return false;
    if (which >= 6 && is_byte) return false;
    const uint8_t immediate = uint8_t(which != 0 ? 0 : is_byte ? 1 : immediate_width());
    if (!operands({.access = which == 2 || which == 3 ? access_both : access_read,
                   .is_byte = is_byte,
                   .is_extension = true,
                   .immediate = immediate}))
      return false;
    if (which >= 6) {
      out_.kind = Kind::divides;
      out_.is_signed = which == 7;
      if (mod_ == 3) out_.reg = uint8_t(rm_ | (rex_ & kRexB ? 8 : 0));
    }
    return true;
  }

  // call, jmp and push, of an operand of 64 bits.
  bool through_operand() {
    const unsigned which = extension();
    if ((which != 2 && which != 4 && which != 6) || has_odd_prefix() || !modrm()) return false;
    out_.kind = which == 2 ? Kind::call_to : which == 4 ? Kind::jump_to : Kind::push;
    out_.width = 8;
    out_.has_memory = out_.reads = mod_ != 3;
    if (mod_ == 3) out_.reg = uint8_t(rm_ | (rex_ & kRexB ? 8 : 0));
    return true;
  }

  bool is_nothing() {
    out_ = PlainInstruction();
    return true;
  }

  // The middle of the ModRM byte that comes next.
  unsigned extension() const { return at_ < code_.size() ? uint8_t(code_[at_]) >> 3 & 7 : 8; }

  // Reads the ModRM byte, and what says more of the operand.
  bool modrm() {
    const uint8_t value = byte();
    mod_ = value >> 6;
    reg_ = value >> 3 & 7;
    rm_ = value & 7;
    if (mod_ == 3) return !is_bad_;
    PlainMemory& memory = out_.memory;
    unsigned displacement = mod_ == 1 ? 1 : mod_ == 2 ? 4 : 0;
    if (rm_ == 4) {
      const uint8_t sib = byte();
      memory.shift = sib >> 6;
      const uint8_t index = uint8_t((sib >> 3 & 7) | (rex_ & kRexX ? 8 : 0));
      if (index != plain_rsp) memory.index = index;
      if ((sib & 7) == 5 && mod_ == 0) {
        displacement = 4;
        if (memory.is_short && (rex_ & kRexB)) return false;  // decoders do not agree on whether r13d is the base
      } else {
        memory.base = uint8_t((sib & 7) | (rex_ & kRexB ? 8 : 0));
      }
    } else if (rm_ == 5 && mod_ == 0) {
      memory.is_relative = true;
      displacement = 4;
    } else {
      memory.base = uint8_t(rm_ | (rex_ & kRexB ? 8 : 0));
    }
    memory.displacement = int32_t(displacement ? number(displacement) : 0);
    return !is_bad_;
  }

  bool is_stack_pointer(unsigned field, bool is_high, bool is_byte) const {
    return field == plain_rsp && !is_high && !(is_byte && rex_ == 0);  // without REX this would be ah
  }

  // An instruction with a ModRM byte that `native` does.
  bool operands(const Form& form) {
    if (!modrm()) return false;
    const bool is_memory = mod_ != 3;
    if (is_memory && form.needs_register) return false;
    uint8_t immediate[8] = {};
    for (unsigned i = 0; i < form.immediate; ++i) immediate[i] = byte();
    if (is_bad_) return false;
    out_.kind = Kind::computes;
    out_.width = uint8_t(form.is_byte ? 1 : is_memory && form.memory_width ? form.memory_width : operand_width());
    out_.has_memory = is_memory && form.access != access_none;
    out_.reads = is_memory && (form.access & access_read);
    out_.writes = is_memory && (form.access & access_write);

    unsigned reg = reg_, rm = rm_;
    const bool has_rsp_reg = !form.is_extension && is_stack_pointer(reg_, rex_ & kRexR, form.is_byte_register);
    const bool has_rsp_rm = !is_memory && is_stack_pointer(rm_, rex_ & kRexB, form.is_byte);
    if (has_rsp_reg || has_rsp_rm) {
      // A register that the instruction does not use. rbp, rsi and rdi are nowhere used without being named.
      uint8_t other = plain_rbp;
      while (other == reg_ || (!is_memory && other == rm_)) ++other;
      out_.stands_for_rsp = other;
      if (has_rsp_reg) reg = other;
      if (has_rsp_rm) rm = other;
    }
    begin_native(is_memory ? kRexW | kRexR : kRexW | kRexR | kRexB);
    add(uint8_t(is_memory ? reg << 3 | 5 : 0xc0 | reg << 3 | rm));
    if (is_memory) {
      out_.native.displacement_at = out_.native.size;
      for (int i = 0; i < 4; ++i) add(0);
    }
    for (unsigned i = 0; i < form.immediate; ++i) add(immediate[i]);
    return true;
  }

  // One without a ModRM byte.
  bool computes_alone(unsigned immediate) {
    out_.kind = Kind::computes;
    out_.width = uint8_t(operand_width());
    begin_native(kRexW | kRexR | kRexX | kRexB);
    for (unsigned i = 0; i < immediate; ++i) add(byte());
    return !is_bad_;
  }

  void begin_native(unsigned kept_rex) {
    if (is_16_bit_) add(0x66);
    if (has_f3_) add(0xf3);
    if (rex_ != 0) add(uint8_t(0x40 | (rex_ & kept_rex)));
    add(opcode_);
    if (is_two_bytes_) add(second_);
  }
  void add(uint8_t value) { out_.native.bytes[out_.native.size++] = value; }

  std::string_view code_;
  size_t at_ = 0;
  bool is_bad_ = false;  // it ends too early
  bool has_flat_segment_ = false, is_16_bit_ = false, has_f3_ = false, is_two_bytes_ = false;
  uint8_t rex_ = 0, opcode_ = 0, second_ = 0;
  uint8_t mod_ = 0, reg_ = 0, rm_ = 0;
  PlainInstruction out_;
};

}  // namespace

std::optional<PlainInstruction> decode_plain(std::string_view code) { return Decoder(code).decode(); }

}  // namespace prof::target
