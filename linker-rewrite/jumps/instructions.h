// The instructions of all parts of a function, numbered part after part: what each does, and where each branch leads.
// They are collected once, while the analysis of indirect jumps may need several attempts.

#ifndef LINKER_REWRITE_JUMPS_INSTRUCTIONS_H
#define LINKER_REWRITE_JUMPS_INSTRUCTIONS_H

#include <optional>
#include <utility>
#include <vector>

#include "linker-rewrite/x86/semantics.h"
#include "parts_by_address.h"

namespace profld {

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
