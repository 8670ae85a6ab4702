#include "cfa.h"

#include <dwarf.h>

#include <limits>

namespace profld {

bool ExpressionOperation::is_jump() const { return opcode == DW_OP_skip || opcode == DW_OP_bra; }

// Long because it names all operations of expressions.
bool read_operation(ByteView expression, Reader& r, ExpressionOperation& out) {
  const size_t begin = r.position();
  out = {};
  out.opcode = r.u8();
  if (out.opcode >= DW_OP_reg0 && out.opcode <= DW_OP_reg31) {
    out.reg = out.opcode - DW_OP_reg0;
  } else if (out.opcode >= DW_OP_breg0 && out.opcode <= DW_OP_breg31) {
    out.reg = out.opcode - DW_OP_breg0;
    out.offset = r.sleb();
  } else if (out.opcode < DW_OP_lit0 || out.opcode > DW_OP_lit31) {
    switch (out.opcode) {
      case DW_OP_const1u:
      case DW_OP_const1s:
      case DW_OP_pick:
      case DW_OP_deref_size:
        r.skip(1);
        break;
      case DW_OP_const2u:
      case DW_OP_const2s:
      case DW_OP_skip:
      case DW_OP_bra:
        r.skip(2);
        break;
      case DW_OP_const4u:
      case DW_OP_const4s:
        r.skip(4);
        break;
      case DW_OP_addr:
      case DW_OP_const8u:
      case DW_OP_const8s:
        r.skip(8);
        break;
      case DW_OP_constu:
      case DW_OP_plus_uconst:
        r.uleb();
        break;
      case DW_OP_consts:
        r.sleb();
        break;
      case DW_OP_regx:
        out.reg = r.uleb();
        break;
      case DW_OP_bregx:
        out.reg = r.uleb();
        out.offset = r.sleb();
        break;
      case DW_OP_deref:
      case DW_OP_dup:
      case DW_OP_drop:
      case DW_OP_over:
      case DW_OP_swap:
      case DW_OP_rot:
      case DW_OP_abs:
      case DW_OP_and:
      case DW_OP_div:
      case DW_OP_minus:
      case DW_OP_mod:
      case DW_OP_mul:
      case DW_OP_neg:
      case DW_OP_not:
      case DW_OP_or:
      case DW_OP_plus:
      case DW_OP_shl:
      case DW_OP_shr:
      case DW_OP_shra:
      case DW_OP_xor:
      case DW_OP_eq:
      case DW_OP_ge:
      case DW_OP_gt:
      case DW_OP_le:
      case DW_OP_lt:
      case DW_OP_ne:
      case DW_OP_nop:
        break;
      default:
        return false;
    }
  }
  out.bytes = expression.subspan(begin, r.position() - begin);
  out.operands = out.bytes.subspan(1);
  return true;
}

namespace {

constexpr uint8_t kHighBits = 0xc0;
constexpr ReasonCode kNotUnderstood = ReasonCode::unwind_not_understood;
constexpr ReasonCode kUsesPc = ReasonCode::unwind_program_counter;

}  // namespace

CfaReader::CfaReader(const EhFrame& frames, const Cie& cie, OldAddr start)
    : frames_(frames),
      cie_(cie),
      reader_(cie.instructions, ".eh_frame"),
      program_(cie.instructions),
      program_at_(cie.instructions_at),
      location_(start),
      initial_(true) {}

CfaReader::CfaReader(const EhFrame& frames, const Fde& fde)
    : frames_(frames),
      cie_(frames.cies[fde.cie]),
      reader_(fde.instructions, ".eh_frame"),
      program_(fde.instructions),
      program_at_(fde.instructions_at),
      location_(fde.range.start),
      initial_(false) {}

bool CfaReader::next(CfaInstruction& out) {
  if (why_) return false;
  try {
    return read(out);
  } catch (const Error&) {  // an instruction is cut off
    why_ = kNotUnderstood;
    return false;
  }
}

bool CfaReader::advance_to(uint64_t location) {
  // Rows ascend; a CIE describes the state before the first row and has no locations.
  if (initial_ || location < location_.value) {
    why_ = kNotUnderstood;
    return false;
  }
  location_ = OldAddr(location);
  return true;
}

// Long because it has a case for each form of operands that an instruction can have.
bool CfaReader::read(CfaInstruction& out) {
  const auto signed_factor = [&](uint64_t n) { return n * uint64_t(cie_.data_alignment); };
  while (!reader_.at_end()) {
    const size_t begin = reader_.position();
    const uint8_t byte = reader_.u8();
    out = {};
    out.opcode = byte & kHighBits ? byte & kHighBits : byte;
    switch (out.opcode) {
      case DW_CFA_nop:
        continue;
      case DW_CFA_advance_loc:
        if (!advance_to(location_.value + (byte & ~kHighBits) * cie_.code_alignment)) return false;
        continue;
      case DW_CFA_advance_loc1:
        if (!advance_to(location_.value + reader_.u8() * cie_.code_alignment)) return false;
        continue;
      case DW_CFA_advance_loc2:
        if (!advance_to(location_.value + reader_.u16() * cie_.code_alignment)) return false;
        continue;
      case DW_CFA_advance_loc4:
        if (!advance_to(location_.value + reader_.u32() * cie_.code_alignment)) return false;
        continue;
      case DW_CFA_MIPS_advance_loc8:
        if (!advance_to(location_.value + reader_.u64() * cie_.code_alignment)) return false;
        continue;
      case DW_CFA_set_loc: {
        auto target = read_encoded_pointer(reader_, program_at_, cie_.fde_encoding, frames_.relocated);
        if (!target || !target->value || target->indirect) {
          why_ = kNotUnderstood;
          return false;
        }
        if (!advance_to(*target->value)) return false;
        continue;
      }

      case DW_CFA_remember_state:
      case DW_CFA_restore_state:
        break;
      case DW_CFA_offset:
        out.reg = byte & ~kHighBits;
        out.operand = signed_factor(reader_.uleb());
        break;
      case DW_CFA_restore:
        out.reg = byte & ~kHighBits;
        break;
      case DW_CFA_offset_extended:
      case DW_CFA_val_offset:
        out.reg = reader_.uleb();
        out.operand = signed_factor(reader_.uleb());
        break;
      case DW_CFA_offset_extended_sf:
      case DW_CFA_val_offset_sf:
        out.reg = reader_.uleb();
        out.operand = signed_factor(uint64_t(reader_.sleb()));
        break;
      case DW_CFA_GNU_negative_offset_extended:
        out.reg = reader_.uleb();
        out.operand = 0 - signed_factor(reader_.uleb());
        break;
      case DW_CFA_restore_extended:
      case DW_CFA_undefined:
      case DW_CFA_same_value:
      case DW_CFA_def_cfa_register:
        out.reg = reader_.uleb();
        break;
      case DW_CFA_register:
      case DW_CFA_def_cfa:
        out.reg = reader_.uleb();
        out.operand = reader_.uleb();
        break;
      case DW_CFA_def_cfa_sf:
        out.reg = reader_.uleb();
        out.operand = signed_factor(uint64_t(reader_.sleb()));
        break;
      case DW_CFA_def_cfa_offset:
      case DW_CFA_GNU_args_size:
        out.operand = reader_.uleb();
        break;
      case DW_CFA_def_cfa_offset_sf:
        out.operand = signed_factor(uint64_t(reader_.sleb()));
        break;
      case DW_CFA_def_cfa_expression:
        out.expression = reader_.take(reader_.uleb());
        break;
      case DW_CFA_expression:
      case DW_CFA_val_expression:
        out.reg = reader_.uleb();
        out.expression = reader_.take(reader_.uleb());
        break;
      default:
        why_ = kNotUnderstood;
        return false;
    }
    out.location = location_;
    out.bytes = program_.subspan(begin, reader_.position() - begin);
    return true;
  }
  return false;
}

CfaState::CfaState(const EhFrame& frames, const Fde& fde) {
  const Cie& cie = frames.cies[fde.cie];
  CfaReader reader(frames, cie, fde.range.start);
  for (CfaInstruction i; reader.next(i);) apply(i);
  if (reader.why() || cie.unsupported) understood_ = false;
  initial_ = row_;
  had_frame_ = false;
}

bool CfaState::apply(const CfaInstruction& i) {
  // Notes what the instruction says about a register other than the CFA's.
  const auto rule = [&](bool saved, bool undefined = false) {
    if (i.reg == kRegisterRip) row_.return_address_undefined = undefined;
    if (i.reg >= kRegisterRip || i.reg == kRegisterRsp) return;
    const uint32_t bit = uint32_t(1) << i.reg;
    row_.saved = saved ? row_.saved | bit : row_.saved & ~bit;
  };
  switch (i.opcode) {
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
      row_.cfa_is_register = true;
      row_.cfa_register = i.reg;
      row_.cfa_offset = i.operand;
      break;
    case DW_CFA_def_cfa_register:
      row_.cfa_register = i.reg;
      break;
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
      row_.cfa_offset = i.operand;
      break;
    case DW_CFA_def_cfa_expression:
      row_.cfa_is_register = false;
      break;
    case DW_CFA_remember_state:
      remembered_.push_back(row_);
      break;
    case DW_CFA_restore_state:
      if (remembered_.empty()) return understood_ = false;
      row_ = remembered_.back();
      remembered_.pop_back();
      break;
    case DW_CFA_offset:
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_GNU_negative_offset_extended:
      rule(int64_t(i.operand) < -8);
      break;
    case DW_CFA_expression:
      rule(true);
      break;
    case DW_CFA_restore:
    case DW_CFA_restore_extended:
      rule(i.reg < kRegisterRip && (initial_.saved >> i.reg & 1), initial_.return_address_undefined);
      break;
    case DW_CFA_GNU_args_size:
      break;
    default:
      rule(false, i.opcode == DW_CFA_undefined);
  }
  had_frame_ = had_frame_ || !row_.is_empty_frame();
  return understood_;
}

std::optional<CfaRow> row_at(const EhFrame& frames, const Fde& fde, OldAddr address) {
  CfaState state(frames, fde);
  CfaReader reader(frames, fde);
  for (CfaInstruction i; state.understood() && reader.next(i);) {
    if (i.location > address) return state.row();
    state.apply(i);
  }
  if (reader.why() || !state.understood()) return std::nullopt;
  return state.row();
}

namespace {

// The same for one expression, whose first byte lies at `at`. Jumps are relative within the expression, which is copied
// whole.
std::optional<Reason> why_not_movable(const Image& image, const EhFrame& frames, ByteView expression, OldAddr at,
                                      bool code_moves) {
  Reader r(expression, ".eh_frame");
  while (!r.at_end()) {
    ExpressionOperation o;
    if (!read_operation(expression, r, o)) return kNotUnderstood;
    if (o.reg == kRegisterRip && code_moves) return kUsesPc;
    if (o.opcode != DW_OP_addr) continue;
    // The address of data, which stays where it is. But if the dynamic linker relocates the word, it would not relocate
    // the copy of the word.
    const OldAddr word = at + (r.position() - o.operands.size());
    const OldAddr address(Reader(o.operands, ".eh_frame").u64());
    if (image.is_position_independent() || frames.relocated.any(word, 8) || (code_moves && image.is_code(address)))
      return ReasonCode::unwind_address;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Reason> why_not_movable(const Image& image, const EhFrame& frames, const Fde& fde, bool code_moves) {
  const Cie& cie = frames.cies[fde.cie];
  CfaReader of_cie(frames, cie, fde.range.start), of_fde(frames, fde);
  for (CfaReader* program : {&of_cie, &of_fde}) {
    const OldAddr program_at = program == &of_cie ? cie.instructions_at : fde.instructions_at;
    const uint8_t* program_begin = program == &of_cie ? cie.instructions.data() : fde.instructions.data();
    CfaInstruction i;
    while (program->next(i)) {
      if (i.expression.empty()) continue;
      try {
        OldAddr at = program_at + uint64_t(i.expression.data() - program_begin);
        if (const auto why = why_not_movable(image, frames, i.expression, at, code_moves)) return why;
      } catch (const Error&) {
        return kNotUnderstood;
      }
    }
    if (program->why()) return program->why();
  }
  return std::nullopt;
}

void append_advance(Bytes& out, uint64_t delta) {
  while (delta > std::numeric_limits<uint32_t>::max()) {
    append<uint8_t>(out, DW_CFA_advance_loc4);
    append<uint32_t>(out, std::numeric_limits<uint32_t>::max());
    delta -= std::numeric_limits<uint32_t>::max();
  }
  if (delta == 0) return;
  if (delta < 0x40) {
    append(out, uint8_t(DW_CFA_advance_loc | delta));
  } else if (delta <= 0xff) {
    append<uint8_t>(out, DW_CFA_advance_loc1);
    append(out, uint8_t(delta));
  } else if (delta <= 0xffff) {
    append<uint8_t>(out, DW_CFA_advance_loc2);
    append(out, uint16_t(delta));
  } else {
    append<uint8_t>(out, DW_CFA_advance_loc4);
    append(out, uint32_t(delta));
  }
}

}  // namespace profld
