#include "instructions.h"

namespace profld {

namespace {

bool is_direct_jump(Flow f) { return f == Flow::jump || f == Flow::jump_if || f == Flow::jump_if_short; }

}  // namespace

Instructions::Instructions(const PartsByAddress& parts) : parts_(parts) {
  const FunctionCode& function = parts.function();
  size_t count = 0;
  for (const Code& part : function.parts) {
    first_.push_back(uint32_t(count));
    count += part.insns.size();
  }
  first_.push_back(uint32_t(count));
  all_.reserve(count);
  semantics_.reserve(count);
  leaders_.resize(count);
  for (uint32_t p = 0; p < function.parts.size(); ++p) {
    const Code& code = function.parts[p];
    for (const Insn& i : code.insns) {
      all_.push_back({&i, p, kNone});
      const Semantics& op = semantics_.emplace_back(semantics_of(code, i));
      if (op.memory.field != 0 || op.immediate_field != 0) with_constants_.push_back(uint32_t(semantics_.size() - 1));
    }
    if (!code.insns.empty()) leaders_[first_[p]] = true;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const Insn& insn = *all_[i].insn;
    if (insn.flow == Flow::next || insn.flow == Flow::call || insn.flow == Flow::call_indirect) continue;
    if (i + 1 < count) leaders_[i + 1] = true;
    if (!is_direct_jump(insn.flow)) continue;
    const OldAddr target = function.parts[all_[i].part].target(insn);
    const auto p = parts.number(target);
    if (!p || function.parts[*p].insns.empty()) continue;
    all_[i].branch_target = first_[*p] + uint32_t(function.parts[*p].covering(target));
    leaders_[all_[i].branch_target] = true;
  }
}

std::optional<uint32_t> Instructions::at(OldAddr a) const {
  const auto p = parts_.number(a);
  if (!p) return std::nullopt;
  const auto i = function().parts[*p].index(a);
  return i ? std::optional(first_[*p] + uint32_t(*i)) : std::nullopt;
}

}  // namespace profld
