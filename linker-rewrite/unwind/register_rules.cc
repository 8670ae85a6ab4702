#include "register_rules.h"

#include <algorithm>

#include "cfa.h"
#include "linker-rewrite/x86/record_code.h"

namespace profld {

namespace {

// By DWARF's numbers: those in instructions.
constexpr uint8_t kNumbersInInstructions[] = {0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};

template <class Visit>
void each_operation(ByteView expression, Visit visit) {
  Reader reader(expression, ".eh_frame");
  for (ExpressionOperation o; !reader.at_end() && read_operation(expression, reader, o);) visit(o);
}

bool uses_stack_pointer(ByteView expression) {
  bool uses = false;
  each_operation(expression, [&](const ExpressionOperation& o) { uses = uses || o.reg == kRegisterRsp; });
  return uses;
}

// The same expression, as it is where the stack pointer is lower. Numbers may become longer, so it must have no jumps.
Bytes lowered(ByteView expression, uint32_t depth) {
  Bytes out;
  each_operation(expression, [&](const ExpressionOperation& o) {
    if (o.reg != kRegisterRsp) return append_bytes(out, o.bytes);
    out.push_back(DW_OP_breg0 + kRegisterRsp);
    append_sleb(out, o.offset + depth);
  });
  return out;
}

bool can_be_lowered(ByteView expression) {
  if (!uses_stack_pointer(expression)) return true;
  bool can = true;
  each_operation(expression, [&](const ExpressionOperation& o) {
    const bool adds = (o.opcode >= DW_OP_breg0 && o.opcode <= DW_OP_breg31) || o.opcode == DW_OP_bregx;
    if (o.is_jump() || (o.reg == kRegisterRsp && !adds)) can = false;
  });
  return can;
}

void append_with_expression(Bytes& out, const CfaInstruction& i, uint32_t depth) {
  if (depth == 0) return append_bytes(out, i.bytes);
  const Bytes expression = lowered(i.expression, depth);
  append(out, i.opcode);
  if (i.opcode != DW_CFA_def_cfa_expression) append_uleb(out, i.reg);
  append_uleb(out, expression.size());
  append_bytes(out, expression);
}

uint32_t bit(uint64_t reg) { return reg < 32 && reg != kRegisterRsp ? uint32_t(1) << reg : 0; }

}  // namespace

RegisterRules::RegisterRules(const EhFrame& frames, const Fde& fde) {
  const Cie& cie = frames.cies[fde.cie];
  CfaReader reader(frames, cie, fde.range.start);
  for (CfaInstruction i; reader.next(i);) apply(i);
  initial_ = row_;
}

void RegisterRules::apply(const CfaInstruction& i) {
  switch (i.opcode) {
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
    case DW_CFA_def_cfa_expression:
      row_.cfa = i;
      break;
    case DW_CFA_def_cfa_register:
      row_.cfa.expression = {};
      row_.cfa.reg = i.reg;
      break;
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
      row_.cfa.operand = i.operand;
      break;
    case DW_CFA_remember_state:
      remembered_.push_back(row_);
      break;
    case DW_CFA_restore_state:
      if (remembered_.empty()) break;
      row_ = std::move(remembered_.back());
      remembered_.pop_back();
      break;
    case DW_CFA_restore:
    case DW_CFA_restore_extended:
      restore_rule(i.reg);
      break;
    case DW_CFA_GNU_args_size:
      arguments_size_ = i.operand;
      break;
    default:
      set_rule(i);
  }
}

void RegisterRules::set_rule(const CfaInstruction& i) {
  std::erase_if(row_.rules, [&](const CfaInstruction& rule) { return rule.reg == i.reg; });
  if (i.opcode == DW_CFA_expression || i.opcode == DW_CFA_val_expression || i.opcode == DW_CFA_register ||
      i.opcode == DW_CFA_same_value)
    row_.rules.push_back(i);
}

void RegisterRules::restore_rule(uint64_t reg) {
  std::erase_if(row_.rules, [&](const CfaInstruction& rule) { return rule.reg == reg; });
  for (const CfaInstruction& rule : initial_.rules)
    if (rule.reg == reg) row_.rules.push_back(rule);
}

template <class Visit>
void RegisterRules::each_expression(Visit visit) const {
  visit(row_.cfa.expression);
  for (const CfaInstruction& rule : row_.rules) visit(rule.expression);
}

uint32_t RegisterRules::used() const {
  uint32_t used = row_.cfa.opcode != 0 && row_.cfa.expression.empty() ? bit(row_.cfa.reg) : 0;
  for (const CfaInstruction& rule : row_.rules) {
    if (rule.opcode == DW_CFA_register) used |= bit(rule.operand);
    if (rule.opcode == DW_CFA_same_value) used |= bit(rule.reg);
  }
  each_expression([&](ByteView expression) {
    each_operation(expression, [&](const ExpressionOperation& o) { used |= o.reg ? bit(*o.reg) : 0; });
  });
  return used;
}

bool RegisterRules::uses_stack_pointer() const {
  bool uses = row_.cfa.expression.empty() && row_.cfa.reg == kRegisterRsp;
  each_expression([&](ByteView expression) { uses = uses || profld::uses_stack_pointer(expression); });
  return uses;
}

bool RegisterRules::can_be_lowered() const {
  bool can = !(row_.cfa.expression.empty() && row_.cfa.reg == kRegisterRsp && int64_t(row_.cfa.operand) < 0);
  each_expression([&](ByteView expression) { can = can && profld::can_be_lowered(expression); });
  for (const CfaInstruction& rule : row_.rules) {
    if (rule.opcode == DW_CFA_register && rule.operand == kRegisterRsp) can = false;
    if (rule.opcode == DW_CFA_same_value && rule.reg == kRegisterRsp) can = false;
  }
  return can;
}

void RegisterRules::append_lowered(Bytes& out, uint32_t depth, uint32_t left_out) const {
  if (!row_.cfa.expression.empty()) {
    if (profld::uses_stack_pointer(row_.cfa.expression)) append_with_expression(out, row_.cfa, depth);
  } else if (row_.cfa.reg == kRegisterRsp) {
    append<uint8_t>(out, DW_CFA_def_cfa_offset);
    append_uleb(out, row_.cfa.operand + depth);
  }
  for (const CfaInstruction& rule : row_.rules)
    if ((bit(rule.reg) & left_out) == 0 && profld::uses_stack_pointer(rule.expression))
      append_with_expression(out, rule, depth);
}

std::vector<RowLimit> row_limits(const EhFrame& frames, OldRange range) {
  std::vector<RowLimit> limits;
  for (size_t f = frames.first_reaching(range.start); f < frames.fdes.size(); ++f) {
    const Fde& fde = frames.fdes[f];
    if (fde.range.start >= range.end) break;
    if (fde.range.end <= range.start || fde.made) continue;
    RegisterRules rules(frames, fde);
    OldAddr row = fde.range.start;
    const auto end_row = [&](OldAddr end) {
      if (row == end) return;
      uint16_t used = 0;
      for (size_t r = 0; r < std::size(kNumbersInInstructions); ++r)
        if (rules.used() >> r & 1) used = uint16_t(used | 1u << kNumbersInInstructions[r]);
      used &= kScratchRegisters;
      if (used != 0 || !rules.can_be_lowered()) limits.push_back({{row, end}, used, !rules.can_be_lowered()});
      row = end;
    };
    CfaReader program(frames, fde);
    for (CfaInstruction i; program.next(i); rules.apply(i)) end_row(i.location);
    end_row(fde.range.end);
  }
  return limits;
}

}  // namespace profld
