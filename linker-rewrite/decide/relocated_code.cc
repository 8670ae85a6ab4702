// A relocation in code names bytes of an instruction, and the dynamic linker writes an address there. The copy of the
// instruction needs it, too. What lies at the old place is dead once the function has moved, and the jump to the copy
// may stand there. So the relocation is not repeated: its r_offset is changed, and it goes to the copy (move/emit.cc).
//
// It must be one that can go there: in a table of whole entries (not RELR), and of a kind whose result does not depend
// on its own place. It must change a number that the copy has in the same form, not a distance. And the dynamic linker
// must have made the copies writable by then. It does that for all segments of a file that says it has such
// relocations. A static PIE does it by itself, in whatever way.
//
// The rest of the analysis sees the number that is in the file, often 0. So it does not know a jump table by such an
// address, and would take a jump through it for a tail call.

#include <algorithm>

#include "code_dependences.h"

namespace profld {

namespace {

// How many bytes the relocation changes, at most.
uint64_t size_of(const Relocation& r) {
  switch (r.type) {
    case R_X86_64_32:
    case R_X86_64_32S:
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      return 4;
    default:
      return 8;
  }
}

bool depends_on_place(const Relocation& r) {
  return r.type != R_X86_64_64 && r.type != R_X86_64_32 && r.type != R_X86_64_RELATIVE;
}

// The relocations that change bytes of `range`.
template <class F>
void for_each_relocation(const Image& image, OldRange range, F f) {
  constexpr uint64_t kMax = 8;
  for (const auto& [where, index] : image.relocations_in({range.start - (kMax - 1), range.end})) {
    const Relocation& r = image.relocations()[index];
    if (where + size_of(r) > range.start) f(r);
  }
}

// The relocation changes bytes of this instruction only, and no distance.
bool is_number_of(const Code& code, const Insn& insn, const Relocation& r) {
  const OldRange place{r.where, r.where + size_of(r)};
  if (place.start < code.address(insn) || place.end > code.next(insn)) return false;
  const OldAddr field = code.address(insn) + insn.field;
  return insn.field_size == 0 || place.end <= field || place.start >= field + insn.field_size;
}

bool may_be_table(const Program& program, const Relocation& r) {
  if (r.type != R_X86_64_RELATIVE) return r.symbol == 0;
  const ptrdiff_t to = program.range_of(OldAddr(uint64_t(r.addend)));
  return to < 0 || program.ranges[size_t(to)].range.start != OldAddr(uint64_t(r.addend));
}

OldAddr address_of(const Group& group, InsnRef at) {
  const Code& code = group.code.parts[at.part];
  return code.address(code.insns[at.insn]);
}

// Whether the copy of the instruction names another address instead.
bool is_changed(const Group& group, InsnRef at) {
  const auto is_there = [&](const AddressField& field) { return field.at == at; };
  return std::ranges::any_of(group.indirect.tables,
                             [&](const JumpTable& t) { return std::ranges::any_of(t.uses, is_there); }) ||
         std::ranges::any_of(group.indirect.label_uses, [&](const LabelUse& u) { return is_there(u.field); });
}

}  // namespace

std::optional<Reason> why_not_relocated(const Program& program, const Group& group) {
  const Image& image = *program.image;
  const std::vector<IndirectJump>& jumps = group.indirect.jumps;
  std::optional<Reason> why;
  for (uint32_t part = 0; part < group.code.parts.size(); ++part) {
    const Code& code = group.code.parts[part];
    for_each_relocation(image, code.range, [&](const Relocation& r) {
      if (why) return;
      const bool is_writable = image.has_text_relocations() && !image.is_static();
      const uint32_t insn = uint32_t(code.covering(std::max(r.where, code.range.start)));
      if (!is_writable || r.packed || depends_on_place(r) || !is_number_of(code, code.insns[insn], r) ||
          is_changed(group, {part, insn}))
        why = {ReasonCode::relocated, code.address(code.insns[insn])};
      else if (may_be_table(program, r) && !jumps.empty())
        why = {ReasonCode::jump_not_understood, address_of(group, jumps.front().at)};
    });
  }
  return why;
}

std::vector<std::pair<uint32_t, OldAddr>> relocated_numbers(const Image& image, const Code& code) {
  std::vector<std::pair<uint32_t, OldAddr>> numbers;
  if (code.insns.empty()) return numbers;
  for (const auto& [where, index] : image.relocations_in(code.range)) {
    const Relocation& r = image.relocations()[index];
    OldAddr address(uint64_t(r.addend));
    if (r.symbol != 0) {
      if (r.symbol >= image.dynamic_symbols().size()) continue;
      const OldAddr symbol = image.dynamic_symbols()[r.symbol].address;
      if (symbol == OldAddr()) continue;  // in another file, without a stub that stands for it here
      address += symbol.value;
    }
    numbers.emplace_back(uint32_t(code.covering(where)), address);
  }
  return numbers;
}

}  // namespace profld
