#include "instructions.h"

#include <algorithm>

namespace profld {

namespace {

bool is_direct_jump(Flow f) { return f == Flow::jump || f == Flow::jump_if || f == Flow::jump_if_short; }

}  // namespace

Instructions::Instructions(const FunctionCode& function) : function_(function) {
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
    for (uint32_t p = 0; p < function.parts.size(); ++p) {
      const Code& code = function.parts[p];
      if (!code.range.contains(target) || code.insns.empty()) continue;
      all_[i].branch_target = first_[p] + uint32_t(code.covering(target));
      leaders_[all_[i].branch_target] = true;
      break;
    }
  }
}

std::optional<uint32_t> Instructions::at(OldAddr a) const {
  for (uint32_t p = 0; p < function_.parts.size(); ++p)
    if (function_.parts[p].range.contains(a)) {
      auto i = function_.parts[p].index(a);
      return i ? std::optional(first_[p] + uint32_t(*i)) : std::nullopt;
    }
  return std::nullopt;
}

bool Instructions::contains(OldAddr a) const {
  return std::ranges::any_of(function_.parts, [&](const Code& part) { return part.range.contains(a); });
}

}  // namespace profld
