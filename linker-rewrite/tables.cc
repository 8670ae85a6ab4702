// An indirect jump inside a function goes through a table that the compiler made for a switch, or to a label whose
// address the program keeps in data (computed goto), or it leaves the function for good. Which, the jump itself does
// not tell; what computed its target does. Ways to find that out:
//
//   * Patterns of instructions before the jump: quick, and wrong as soon as a compiler moves a step out of a loop or
//     keeps it on the stack.
//   * Slicing backwards from the jump: finds the steps wherever they are, but must decide at every join of paths.
//   * Interpreting the function forwards with abstract values (values.h), until nothing new is learnt.
//
// The last is what is done here (jump_analysis.cc), for the few functions that have indirect jumps.
//
// A table found is believed only if its entries make sense (table_entries.cc) and its address has no other use: the
// copy of the function gets a table of its own, so whoever reads the address for another reason would read the wrong
// data.

#include "tables.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "jump_analysis.h"
#include "stay.h"

namespace profld {

namespace {

using Kind = Value::Kind;

std::string jump_at(OldAddr a, const char* what) {
  char text[128];
  std::snprintf(text, sizeof text, "indirect jump at 0x%llx %s", static_cast<unsigned long long>(a.value), what);
  return text;
}

}  // namespace

// In a program at a fixed address jump tables look like labels too.
void JumpAnalysis::leave_out_tables(const std::vector<JumpTable>& tables) {
  for (const JumpTable& t : tables)
    if (!t.relative)
      std::erase_if(label_words_, [&](const auto& w) {
        return w.first >= t.address && w.first < t.address + t.targets.size() * t.entry_size;
      });
}

// Fills in the table of a jump. False if the table cannot be cloned.
bool JumpAnalysis::add_table(IndirectJumps& out, std::map<TableForm, size_t>& known, const Jump& j, uint32_t insn,
                             const std::vector<bool>& other_uses, Unresolved* why) {
  const Table& t = tables_[size_t(j.table)];
  auto [it, added] = known.emplace(t.form, out.tables.size());
  if (!added) return true;
  JumpTable table;
  const Origin set = code_.origins().find(j.target.origin);
  std::optional<uint64_t> address;
  for (Origin o = 0; o < code_.origins().size(); ++o) {
    if (code_.origins().find(o) != set) continue;
    const bool immediate = o & 1;
    const Operation& op = code_.operation(o / 2);
    const uint8_t field = immediate ? op.immediate_field : op.memory.field;
    if (field == 0) continue;
    if (address && *address != code_.field_address(o)) {
      why->reason = jump_at(code_.address(insn), "has the address of its table from several places that differ");
      return false;
    }
    if (other_uses[o]) {
      why->reason = jump_at(code_.address(insn), "goes through a table whose address is also used otherwise");
      return false;
    }
    address = code_.field_address(o);
    table.uses.push_back({code_.ref(o / 2), field, !immediate && op.memory.rip_relative});
  }
  if (!address || t.form.first.value < *address || (t.form.first.value - *address) % t.form.size != 0 ||
      t.form.first.value - *address > 4096 || (t.form.relative && t.form.base.value != *address)) {
    why->reason =
        jump_at(code_.address(insn), "goes through a table whose address is computed in a way not understood");
    return false;
  }
  table.address = OldAddr(*address);
  table.relative = t.form.relative;
  table.entry_size = t.form.size;
  table.targets.assign((t.form.first.value - *address) / t.form.size, function_.parts.front().range.end);
  table.targets.insert(table.targets.end(), t.entries.targets.begin(), t.entries.targets.end());
  out.tables.push_back(std::move(table));
  return true;
}

// True if right before the jump the stack pointer and all registers that a function must keep are loaded: only what
// goes on in a frame further up needs to do that.
bool JumpAnalysis::restores_context(uint32_t jump) const {
  constexpr uint16_t kKept = 1 << 3 | 1 << kRsp | 1 << kRbp | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15;
  uint16_t loaded = 0;
  for (uint32_t i = jump; i-- > 0 && code_.insn(i).flow == Flow::next;) {
    const Operation& op = code_.operation(i);
    if (op.action == Action::move || op.action == Action::pop) loaded |= op.writes;
  }
  return (loaded & kKept) == kKept;
}

// The kind of a jump that goes through no table that is understood.
std::optional<JumpKind> JumpAnalysis::kind_of(const Jump& j, uint32_t insn, Unresolved* why) {
  constexpr uint64_t kMostLabels = 4096;
  const Value& v = j.target;
  const bool array = v.kind == Kind::entry && v.size == 8;
  if (j.table >= 0 && !(array && tables_[size_t(j.table)].entries.foreign)) {
    *why = tables_[size_t(j.table)].entries.why;
    return std::nullopt;
  }
  const uint64_t last = std::min(v.index_bound(), kMostLabels);
  const bool goes_to_labels =
      array ? std::ranges::any_of(label_words_, [&](const auto& w) { return w.first.value - v.address <= last * 8; })
      : v.kind == Kind::constant ? is_label(frames_, function_, OldAddr(v.address))
                                 : v.kind == Kind::unknown && (has_label_instructions_ || !label_words_.empty());
  if (goes_to_labels) return JumpKind::labels;
  const bool pointer = (v.kind == Kind::unknown && !v.computed) || v.kind == Kind::constant || array;
  if (pointer && j.frame_is_empty && !j.through_red_zone) return JumpKind::tail_call;
  if (pointer && restores_context(insn)) return JumpKind::unwind;
  why->reason =
      jump_at(code_.address(insn), pointer ? "leaves the function with its frame in place" : "is not understood");
  return std::nullopt;
}

std::optional<IndirectJumps> JumpAnalysis::result(const std::vector<bool>& other_uses, Unresolved* why) {
  IndirectJumps out;
  std::map<TableForm, size_t> known;
  auto goes_through_table = [&](const Jump& j) {
    return j.table >= 0 && !tables_[size_t(j.table)].entries.targets.empty();
  };
  for (uint32_t i = 0; i < code_.count(); ++i) {
    if (code_.insn(i).flow != Flow::jump_indirect) continue;
    auto j = jumps_.find(i);
    if (j == jumps_.end()) {
      why->reason = jump_at(code_.address(i), "is not reached");
      return std::nullopt;
    }
    if (goes_through_table(j->second) && !add_table(out, known, j->second, i, other_uses, why)) return std::nullopt;
  }
  find_labels();
  leave_out_tables(out.tables);
  bool labels = false;
  for (const auto& [i, j] : jumps_) {
    std::optional<JumpKind> kind = goes_through_table(j) ? JumpKind::table : kind_of(j, i, why);
    if (!kind) return std::nullopt;
    out.jumps.push_back({code_.ref(i), *kind});
    labels |= *kind == JumpKind::labels;
  }
  if (labels && label_immediates_) {
    why->reason = jump_at(function_.entry, "goes to labels whose addresses stand in instructions");
    return std::nullopt;
  }
  if (labels && !image_.is_position_independent())
    for (const auto& w : label_words_) out.label_words.push_back(w.first);
  return out;
}

std::optional<IndirectJumps> resolve_indirect_jumps(const Image& image, const EhFrame& frames,
                                                    const DataReferences& data, const FunctionCode& function,
                                                    Unresolved* why) {
  bool jumps = false;
  std::vector<InsnRef> label_addresses;
  for (uint32_t p = 0; p < function.parts.size(); ++p) {
    const Code& part = function.parts[p];
    for (uint32_t i = 0; i < part.insns.size(); ++i) {
      const Insn& insn = part.insns[i];
      jumps |= insn.flow == Flow::jump_indirect;
      if (!insn.rip_relative || !takes_address(part, insn)) continue;
      const OldAddr a(insn.target);
      if (is_label(frames, function, a)) {
        label_addresses.push_back({p, i});
      } else if (std::ranges::any_of(function.parts,
                                     [&](const Code& c) { return c.range.contains(a) && !c.index(a); })) {
        char text[96];
        std::snprintf(text, sizeof text, "the instruction at 0x%llx takes an address that is no instruction's",
                      static_cast<unsigned long long>(part.address(insn).value));
        why->reason = text;
        return std::nullopt;
      }
    }
  }
  auto fails_for_labels = [&] {
    const InsnRef taken = label_addresses.front();
    const Code& part = function.parts[taken.part];
    char text[96];
    std::snprintf(text, sizeof text, "the address of its middle is taken at 0x%llx, for no jump of its own",
                  static_cast<unsigned long long>(part.address(part.insns[taken.insn]).value));
    why->reason = text;
    return std::nullopt;
  };
  if (!jumps) {
    if (label_addresses.empty()) return IndirectJumps{};
    return fails_for_labels();
  }

  std::optional<IndirectJumps> result;
  // From the cautious and cheap to what assumes more and costs more.
  struct Attempt {
    bool noreturn, calls_preserve;
    Meeting meeting;
  };
  constexpr Attempt kAttempts[] = {
      {false, false, Meeting::sound},     {true, false, Meeting::sound},     {true, true, Meeting::sound},
      {true, false, Meeting::optimistic}, {true, true, Meeting::optimistic},
  };
  Noreturn noreturn(image, frames);
  std::vector<bool> other_uses;
  for (const Attempt& a : kAttempts) {
    JumpAnalysis analysis(image, frames, data, function, a.noreturn ? &noreturn : nullptr, a.calls_preserve, a.meeting);
    analysis.run();
    if (a.meeting == Meeting::sound && analysis.reads_own_code()) {
      why->reason = "it reads its own code as data";
      return std::nullopt;
    }
    // A constant that got somewhere by optimism was not used there.
    if (a.meeting == Meeting::sound) other_uses = analysis.other_uses();
    result = analysis.result(other_uses, why);
    if (result) break;
  }
  if (!result || label_addresses.empty()) return result;
  if (std::ranges::none_of(result->jumps, [](const IndirectJump& j) { return j.kind == JumpKind::labels; }))
    return fails_for_labels();
  result->label_addresses = std::move(label_addresses);
  return result;
}

}  // namespace profld
