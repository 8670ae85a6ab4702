// The code of a function, as the analysis of its indirect jumps asks for it: which part an address lies in, and the
// instructions of all parts, numbered part after part: what each does, and where each branch leads. They are collected
// once, while the analysis may need several attempts.

#ifndef LINKER_REWRITE_JUMPS_INSTRUCTIONS_H
#define LINKER_REWRITE_JUMPS_INSTRUCTIONS_H

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "linker-rewrite/program/indirect_jumps.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

// Which part of a function an address lies in. The function of a large switch may have thousands of parts, and the
// analysis of its jumps asks for each entry of each table.

class PartsByAddress {
 public:
  // `function` must outlive this object, and its parts must not change.
  explicit PartsByAddress(const FunctionCode& function) : function_(function) {
    for (uint32_t p = 0; p < function.parts.size(); ++p) ascending_.push_back({function.parts[p].range, p});
    std::ranges::stable_sort(ascending_, {}, [](const Part& p) { return p.range.start; });
    OldAddr end;
    for (Part& p : ascending_) p.greatest_end = end = std::max(end, p.range.end);
  }

  const FunctionCode& function() const { return function_; }

  // The number of the part that contains `a`: of the first one, should parts overlap.
  std::optional<uint32_t> number(OldAddr a) const {
    std::optional<uint32_t> found;
    auto p = std::ranges::upper_bound(ascending_, a, {}, [](const Part& part) { return part.range.start; });
    while (p != ascending_.begin() && (--p)->greatest_end > a)
      if (p->range.contains(a)) found = std::min(found.value_or(p->number), p->number);
    return found;
  }
  const Code* part(OldAddr a) const {
    const auto p = number(a);
    return p ? &function_.parts[*p] : nullptr;
  }
  bool has_instruction_at(OldAddr a) const {
    const Code* p = part(a);
    return p && p->index(a);
  }

 private:
  struct Part {
    OldRange range;
    uint32_t number;
    OldAddr greatest_end{};  // of this one and those before it
  };

  const FunctionCode& function_;
  std::vector<Part> ascending_;
};

class Instructions {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // `parts` must outlive this object.
  explicit Instructions(const PartsByAddress& parts);

  const FunctionCode& function() const { return parts_.function(); }
  const PartsByAddress& parts() const { return parts_; }
  uint32_t count() const { return uint32_t(all_.size()); }
  const Insn& insn(uint32_t i) const { return *all_[i].insn; }
  const Semantics& semantics(uint32_t i) const { return semantics_[i]; }
  InsnRef ref(uint32_t i) const { return {all_[i].part, i - first_[all_[i].part]}; }
  uint32_t number(InsnRef ref) const { return first_[ref.part] + ref.insn; }
  uint32_t end_of_part(uint32_t i) const { return first_[all_[i].part + 1]; }
  OldAddr address(uint32_t i) const { return function().parts[all_[i].part].address(insn(i)); }
  OldAddr target(uint32_t i) const { return function().parts[all_[i].part].target(insn(i)); }
  // The instruction that a direct jump leads to, or into the middle of; kNone if that is outside the function.
  uint32_t branch_target(uint32_t i) const { return all_[i].branch_target; }
  // The instruction at an address in the function.
  std::optional<uint32_t> at(OldAddr a) const;
  bool contains(OldAddr a) const { return parts_.number(a).has_value(); }
  // Instructions with a field that holds an address or another constant of 4 or 8 bytes, ascending.
  const std::vector<uint32_t>& with_constants() const { return with_constants_; }
  // True for the first instruction of each part, and for the targets of direct jumps and the instructions after them.
  const std::vector<bool>& leaders() const { return leaders_; }

 private:
  struct Entry {
    const Insn* insn;
    uint32_t part;
    uint32_t branch_target;
  };

  const PartsByAddress& parts_;
  std::vector<uint32_t> first_;  // number of each part's first instruction; last: the number of instructions
  std::vector<Entry> all_;
  std::vector<Semantics> semantics_;
  std::vector<uint32_t> with_constants_;
  std::vector<bool> leaders_;
};

}  // namespace profld

#endif
