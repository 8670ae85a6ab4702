// Which part of a function an address lies in. The function of a large switch may have thousands of parts, and the analysis
// of its jumps asks for each entry of each table.

#ifndef LINKER_REWRITE_JUMPS_PARTS_BY_ADDRESS_H
#define LINKER_REWRITE_JUMPS_PARTS_BY_ADDRESS_H

#include <algorithm>
#include <optional>
#include <vector>

#include "linker-rewrite/program/indirect_jumps.h"

namespace profld {

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

}  // namespace profld

#endif
