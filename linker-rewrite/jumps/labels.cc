// The addresses of labels (computed goto). A label is no function: it has no symbol, and a jump to it must lead into
// the copy, or the function would go on in its original, which has no hooks. The address of a label is kept:
//
//   * in words of data. In a position-independent program each of them has a relocation. In a program at a fixed
//     address they look like other numbers that happen to be the address of an instruction (label_words.cc).
//   * in instructions: RIP-relative, which is unmistakable, or, at a fixed address, as a displacement or an immediate.
//   * as a distance from another label, in a table (JumpTable::base).
//
// A label is also where control goes on after __builtin_longjmp, or after a goto out of a nested function: the address
// is only kept, or taken in one function for a jump into another.
//
// OCaml's functions push the address of a handler, and whoever raises an exception goes there. They take no other labels'
// addresses, and have no computed gotos: their jumps through pointers are tail calls.
//
// A number without a relocation is taken for an address only if the function has an indirect jump that no table
// explains, and if the number is used as an address: copied, kept in 8 bytes of memory, jumped to. All such numbers of
// a function are changed or none, because programs compare them with each other; if one of them is used otherwise, the
// function stays.

#include <algorithm>

#include "jump_analysis.h"
#include "linker-rewrite/base/sort_unique.h"

namespace profld {

// Finds all labels whose address the program keeps, for jumps that may go to any of them.
void JumpAnalysis::find_labels() {
  if (labels_found_) return;
  labels_found_ = true;
  std::vector<OldAddr> labels;
  std::vector<std::pair<OldAddr, OldAddr>> words;
  const bool jumps_to_own_labels = !is_compiled_by_ocaml();
  for (const Code& part : function_.parts) {
    auto p = std::ranges::lower_bound(data_.code_pointers, part.range.start, {},
                                      [](const auto& pair) { return pair.second; });
    for (; p != data_.code_pointers.end() && p->second < part.range.end; ++p)
      if (is_label(frames_, code_.parts(), p->second)) words.push_back(*p);
    for (const Insn& insn : part.insns)
      if (jumps_to_own_labels && takes_address(part, insn) && is_label(frames_, code_.parts(), part.target(insn)))
        labels.push_back(part.target(insn));
  }
  has_label_instructions_ = !labels.empty();
  for (uint32_t i : code_.with_constants()) {
    if (image_.is_position_independent()) break;
    const Semantics& op = code_.semantics(i);
    if (op.action == Action::other || op.action == Action::mask || op.action == Action::shift) continue;
    const bool whole = op.action == Action::lea && op.memory.base == kNoRegister && op.memory.index == kNoRegister;
    const Origin field = whole && op.memory.field != 0       ? displacement_of(i)
                         : !whole && op.immediate_field != 0 ? immediate_of(i)
                                                             : kNoOrigin;
    if (field == kNoOrigin || op.memory.rip_relative) continue;
    const OldAddr a(interpreter_.field_address(field));
    if (!is_label(frames_, code_.parts(), a)) continue;
    label_fields_.push_back(field);
    labels.push_back(a);
  }
  if (image_.is_position_independent())
    label_words_.certain = std::move(words);
  else if (!words.empty())
    label_words_ = tell_label_words(std::move(words), interpreter_.named_addresses());
  for (const auto& [word, label] : label_words_.certain) labels.push_back(label);
  for (OldAddr a : labels)
    if (auto i = code_.at(a)) labels_.targets.push_back(*i);
  sort_unique(labels_.targets);
}

// Whether a frame table describes a call of the function (program/frame_tables.cc).
bool JumpAnalysis::is_compiled_by_ocaml() const {
  return std::ranges::any_of(function_.parts, [&](const Code& part) {
    const auto after = std::ranges::upper_bound(data_.framed_calls, part.range.start);
    return after != data_.framed_calls.end() && *after <= part.range.end;
  });
}

// In a program at a fixed address jump tables look like labels too.
void JumpAnalysis::leave_out_tables(const std::vector<JumpTable>& tables) {
  for (const JumpTable& t : tables)
    if (!t.relative)
      for (auto* words : {&label_words_.certain, &label_words_.doubtful})
        std::erase_if(*words, [&](const auto& w) {
          return w.first >= t.first && w.first < t.first + t.targets.size() * t.entry_size;
        });
}

uint8_t JumpAnalysis::uses_of(OldAddr label) {
  std::set<Origin> sets;
  for (uint32_t i = 0; i < code_.count(); ++i)
    if (code_.semantics(i).memory.rip_relative && OldAddr(interpreter_.field_address(displacement_of(i))) == label)
      sets.insert(interpreter_.origins().find(displacement_of(i)));
  uint8_t uses = 0;
  for (Origin o = 0; o < interpreter_.origins().size(); ++o)
    if (sets.contains(interpreter_.origins().find(o))) uses |= interpreter_.uses()[o];
  return uses;
}

// Adds the label fields to the uses of labels that change. False if one of them may be something else.
bool JumpAnalysis::add_label_fields(const std::vector<uint8_t>& uses, IndirectJumps& out) {
  for (Origin field : label_fields_) {
    const AddressField at = field_at(field);
    if (std::ranges::any_of(out.label_uses, [&](const LabelUse& u) { return u.field.at == at.at; })) continue;
    uint8_t kept = 0, all = 0;
    for (Origin o = 0; o < interpreter_.origins().size(); ++o) {
      if (interpreter_.origins().find(o) != interpreter_.origins().find(field)) continue;
      kept |= interpreter_.uses()[o];
      all |= uses[o];
    }
    if (!(kept & kKept) || (all & (kCompared | kComputed))) return false;
    out.label_uses.push_back({at, OldAddr(interpreter_.field_address(field))});
  }
  return true;
}

// True if a label, as an immediate, is compared with something: with an entry of a cloned table, perhaps.
bool JumpAnalysis::compares_labels(const std::vector<uint8_t>& uses) const {
  return std::ranges::any_of(label_fields_, [&](Origin o) { return uses[o] & (kCompared | kComputed); });
}

}  // namespace profld
