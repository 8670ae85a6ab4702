// An indirect jump inside a function goes through a table that the compiler made for a switch, or to a label whose
// address the program keeps in data (computed goto), or it leaves the function for good. The jump itself does not tell
// which of these it is; the code that computed its target does. There are three ways to find out:
//
//   * Patterns of instructions before the jump: quick, and wrong as soon as a compiler moves a step out of a loop or
//     keeps it on the stack.
//   * Slicing backwards from the jump: finds the steps wherever they are, but must decide at every join of paths.
//   * Interpreting the function forwards with abstract values (abstract_state.h), until nothing new is learnt.
//
// The last is what is done here (jump_analysis.cc), for the few functions that have indirect jumps.
//
// A table found is believed only if its entries make sense (table_entries.cc) and its address has no other use: the
// copy of the function gets a table of its own, so code that reads the address for another reason would read the wrong
// data.
//
// Paths that control never takes spoil what is known: those behind calls that do not return (noreturn.h), or
// that keep no register. So there are several attempts, each of which believes a little more than the one before it.

#include "tables.h"

#include <algorithm>
#include <map>

#include "jump_analysis.h"
#include "linker-rewrite/base/sort_unique.h"

namespace profld {

namespace {

using Kind = Value::Kind;

}  // namespace

AddressField JumpAnalysis::field_at(Origin o) const {
  const Semantics& op = code_.semantics(o / 2);
  const bool immediate = o & 1;
  return {code_.ref(o / 2), immediate ? op.immediate_field : op.memory.field, !immediate && op.memory.rip_relative};
}

void JumpAnalysis::sort_fields() {
  fields_.clear();
  for (uint32_t i : code_.with_constants())
    for (Origin o : {displacement_of(i), immediate_of(i)})
      if (field_at(o).field != 0) fields_.emplace_back(interpreter_.origins().find(o), o);
  std::ranges::sort(fields_);
}

// Finds the fields that a constant comes from, a table's address or (`is_base`) its base, and the address that all of
// them name. Or the reason why they cannot be changed.
Expected<OldAddr, ReasonCode> JumpAnalysis::fields_of(Origin origin, bool is_base, const std::vector<uint8_t>& uses,
                                                      std::vector<AddressField>& fields) {
  const Origin set = interpreter_.origins().find(origin);
  std::optional<OldAddr> address;
  for (auto f = std::ranges::lower_bound(fields_, std::pair(set, Origin(0))); f != fields_.end() && f->first == set;
       ++f) {
    const Origin o = f->second;
    const OldAddr a(interpreter_.field_address(o));
    if (address && *address != a) return is_base ? ReasonCode::table_bases_differ : ReasonCode::table_addresses_differ;
    if (uses[o] & ~kOnStack) return is_base ? ReasonCode::table_base_used : ReasonCode::table_address_used;
    address = a;
    fields.push_back(field_at(o));
  }
  if (!address) return is_base ? ReasonCode::table_base_computed : ReasonCode::table_address_computed;
  return *address;
}

namespace {

// Adds the entries and uses of a table to those of another, which the code names by the same address and reads alike: its
// jumps may begin at different entries.
void merge(JumpTable& into, const JumpTable& with, OldAddr cannot_happen) {
  const auto end_of = [](const JumpTable& t, size_t entries) { return t.first + entries * t.entry_size; };
  const OldAddr first = std::min(into.first, with.first);
  const OldAddr end = std::max(end_of(into, into.targets.size()), end_of(with, with.targets.size()));
  const OldAddr likely_end = std::max(end_of(into, into.likely), end_of(with, with.likely));
  std::vector<OldAddr> targets((end - first) / into.entry_size, cannot_happen);
  for (const JumpTable* t : {static_cast<const JumpTable*>(&into), &with})
    for (size_t i = 0; i < t->targets.size(); ++i)
      if (t->targets[i] != cannot_happen) targets[(end_of(*t, i) - first) / into.entry_size] = t->targets[i];
  into.first = first;
  into.targets = std::move(targets);
  into.likely = (likely_end - first) / into.entry_size;
  for (const AddressField& use : with.uses)
    if (std::ranges::find(into.uses, use.at, &AddressField::at) == into.uses.end()) into.uses.push_back(use);
}

}  // namespace

// Fills in the table of a jump. Returns the reason if the table cannot be cloned.
std::optional<Reason> JumpAnalysis::add_table(IndirectJumps& out, Jump& j, uint32_t insn,
                                              const std::vector<uint8_t>& uses) {
  constexpr uint64_t kFarthest = 1 << 20;  // bytes
  const TableForm& form = tables_[size_t(j.table)].form;
  const TableEntries& entries = tables_[size_t(j.table)].entries;
  const auto because = [&](ReasonCode code) { return Reason(code, code_.address(insn)); };
  JumpTable table;
  const auto address = fields_of(j.target.origin, false, uses, table.uses);
  if (!address) return because(address.error());
  table.address = table.base = *address;
  bool understood = true;
  if (form.relative &&
      interpreter_.origins().find(j.target.base_origin) != interpreter_.origins().find(j.target.origin)) {
    std::vector<AddressField> fields;
    const auto base = fields_of(j.target.base_origin, true, uses, fields);
    if (!base) return because(base.error());
    table.base = *base;
    if (table.base == table.address)
      table.uses.insert(table.uses.end(), fields.begin(), fields.end());
    else
      for (const AddressField& f : fields) out.label_uses.push_back({f, table.base});
    understood = table.base == table.address || is_label(frames_, code_.parts(), table.base);
  }
  const uint64_t apart = std::max(form.first, table.address) - std::min(form.first, table.address);
  if (!understood || (form.relative && form.base != table.base) || apart % form.size != 0 || apart > kFarthest)
    return because(ReasonCode::table_address_computed);
  table.relative = form.relative;
  table.entry_size = form.size;
  table.sign_extended = form.sign_extended;
  table.first = form.at(entries.lowest);
  table.targets = entries.targets;
  table.likely = entries.likely;
  for (j.clone = 0; j.clone < out.tables.size(); ++j.clone) {
    JumpTable& t = out.tables[j.clone];
    const bool shares_use = std::ranges::any_of(table.uses, [&](const AddressField& use) {
      return std::ranges::find(t.uses, use.at, &AddressField::at) != t.uses.end();
    });
    const bool is_same = t.address == table.address && t.base == table.base && t.relative == table.relative &&
                         t.entry_size == table.entry_size && t.sign_extended == table.sign_extended;
    if (is_same) {
      merge(t, table, function_.parts.front().range.end);
      return std::nullopt;
    }
    // One address cannot be that of two clones.
    if (shares_use) return because(ReasonCode::table_address_used);
  }
  out.tables.push_back(std::move(table));
  return std::nullopt;
}

// Whether `is(instruction, field, address)` for a field that names an address of data, or a number that may be one. What is
// only loaded from there is left out.
template <class Is>
bool JumpAnalysis::any_address_of_data(const Is& is) const {
  for (uint32_t i : code_.with_constants()) {
    const Semantics& op = code_.semantics(i);
    for (Origin o : {displacement_of(i), immediate_of(i)}) {
      const AddressField field = field_at(o);
      const OldAddr a(interpreter_.field_address(o));
      if (field.field == 0 || (field.rip_relative && op.action != Action::lea)) continue;
      if (image_.span().contains(a) && !image_.is_code(a) && is(op, field, a)) return true;
    }
  }
  return false;
}

// True if the function names an address from which it could compute the target of a jump inside itself: the address of
// a label, or of data that could be one of its jump tables.
bool JumpAnalysis::has_address_of_code() const {
  if (has_label_instructions_ || !label_words_.certain.empty() || !label_fields_.empty()) return true;
  return any_address_of_data([&](const Semantics& op, const AddressField&, OldAddr a) {
    if (op.memory.rip_relative && op.action != Action::lea) return false;
    for (const TableForm& form : {TableForm{a, a, true, 4, true}, TableForm{a, a, true, 8, true},
                                  TableForm{a, OldAddr(), false, 8, false}, TableForm{a, OldAddr(), false, 4, false}})
      if (may_be_table(source_, form)) return true;
    return false;
  });
}

bool JumpAnalysis::takes_address_of_other_table(const IndirectJumps& result) const {
  const auto is_known = [&](const AddressField& field) {
    return std::ranges::any_of(result.tables, [&](const JumpTable& t) {
      return std::ranges::find(t.uses, field.at, &AddressField::at) != t.uses.end();
    });
  };
  // As one of the jumps would read it.
  const auto is_table = [&](OldAddr a) {
    return std::ranges::any_of(result.jumps, [&](const IndirectJump& j) {
      if (j.kind != JumpKind::table) return false;
      const OldAddr understood = result.tables[j.table].address;
      TableForm form = tables_[size_t(jumps_.at(code_.number(j.at)).table)].form;
      form.first = a + (form.first - understood);
      if (form.relative && form.base == understood) form.base = a;
      return begins_like_table(image_, code_.parts(), form);
    });
  };
  return any_address_of_data([&](const Semantics&, const AddressField& field, OldAddr a) {
    const bool is_number = !field.rip_relative && image_.is_position_independent();
    return !is_number && !is_known(field) && is_table(a);
  });
}

// The kind of a jump for which no table was understood.
Expected<JumpKind, Unresolved> JumpAnalysis::kind_of(const Jump& j, uint32_t insn) {
  constexpr uint64_t kMostLabels = 4096;
  const Value& v = j.target;
  const bool array = v.kind == Kind::entry && v.size == 8;
  if (j.table >= 0 && !(array && tables_[size_t(j.table)].entries.foreign))
    return tables_[size_t(j.table)].entries.why.value_or(
        Unresolved{{ReasonCode::jump_not_understood, code_.address(insn)}});
  const uint64_t last = std::min(v.index_bound(), kMostLabels);
  const auto is_above = [&](const auto& w) { return w.first.value - v.address <= last * 8; };
  const auto is_below = [&](const auto& w) {
    return v.index_may_be_negative() && v.address - w.first.value <= kMostLabels * 8;
  };
  const bool goes_to_labels =
      array ? std::ranges::any_of(label_words_.certain, is_above) ||
                  std::ranges::any_of(label_words_.certain, is_below) ||
                  std::ranges::any_of(label_words_.doubtful, is_below)
      : v.kind == Kind::constant
          ? is_label(frames_, code_.parts(), OldAddr(v.address))
          : v.kind == Kind::unknown && !v.computed &&
                (has_label_instructions_ || !label_words_.certain.empty() || !label_fields_.empty());
  if (goes_to_labels) return JumpKind::labels;
  // Not a tail call, because the frame is in place.
  if (v.kind == Kind::unknown && !v.computed && !j.frame_is_empty && !label_words_.doubtful.empty())
    return JumpKind::labels;
  const bool pointer = (v.kind == Kind::unknown && !v.computed) || v.kind == Kind::constant || array;
  // If no address of this function's code can be part of the sum, the jump leads elsewhere.
  const auto foreign_sum = [&] { return v.kind == Kind::unknown && !v.had_constant && !has_address_of_code(); };
  if (j.frame_is_empty && !j.through_red_zone && (pointer || foreign_sum())) return JumpKind::tail_call;
  if (pointer && j.stack_is_switched) return JumpKind::unwind;
  return Unresolved{{pointer ? ReasonCode::jump_with_frame : ReasonCode::jump_not_understood, code_.address(insn)}};
}

Expected<IndirectJumps, Unresolved> JumpAnalysis::result(const std::vector<uint8_t>& uses) {
  IndirectJumps out;
  auto goes_through_table = [&](const Jump& j) {
    return j.table >= 0 && !tables_[size_t(j.table)].entries.targets.empty();
  };
  if (std::ranges::any_of(jumps_, [&](const auto& j) { return goes_through_table(j.second); })) sort_fields();
  for (uint32_t i = 0; i < code_.count(); ++i) {
    if (code_.insn(i).flow != Flow::jump_indirect) continue;
    auto j = jumps_.find(i);
    if (j == jumps_.end()) return Unresolved{{ReasonCode::jump_not_reached, code_.address(i)}};
    if (!goes_through_table(j->second)) continue;
    if (const auto why = add_table(out, j->second, i, uses)) return Unresolved{*why};
  }
  find_labels();
  leave_out_tables(out.tables);
  bool labels = false;
  for (const auto& [i, j] : jumps_) {
    const Expected<JumpKind, Unresolved> kind = goes_through_table(j) ? JumpKind::table : kind_of(j, i);
    if (!kind) return kind.error();
    out.jumps.push_back({code_.ref(i), *kind});
    if (*kind == JumpKind::table) out.jumps.back().table = j.clone;
    out.jumps.back().through_array = *kind == JumpKind::tail_call && j.target.kind == Kind::entry;
    if (out.jumps.back().through_array) out.jumps.back().array = OldAddr(j.target.address);
    out.jumps.back().may_be_label = *kind == JumpKind::tail_call &&
                                    (j.target.kind != Kind::unknown || j.target.had_constant || j.target.from_stack);
    out.jumps.back().may_be_tail_call = *kind == JumpKind::labels && j.frame_is_empty && !j.through_red_zone;
    labels |= *kind == JumpKind::labels;
  }
  const bool absolute_tables = std::ranges::any_of(out.tables, [](const JumpTable& t) { return !t.relative; });
  if (labels ? !add_label_fields(uses, out) : absolute_tables && compares_labels(uses))
    return Unresolved{ReasonCode::label_or_number};
  if (labels && !image_.is_position_independent()) {
    for (const auto& w : label_words_.certain) out.label_words.push_back(w.first);
    for (const auto& w : label_words_.doubtful) out.label_arrivals.push_back(w.second);
  }
  return out;
}

void JumpAnalysis::tell_what_is_outside(bool bounds_are_certain, Unresolved& out) const {
  const auto append = [](std::vector<OldAddr>& to, const std::vector<OldAddr>& some) {
    to.insert(to.end(), some.begin(), some.end());
  };
  for (const auto& [insn, j] : jumps_) {
    if (j.table < 0) continue;
    const TableEntries& entries = tables_[size_t(j.table)].entries;
    if (bounds_are_certain && !entries.targets.empty())
      out.understood.emplace_back(
          code_.address(insn),
          std::vector(entries.targets.begin(), entries.targets.begin() + ptrdiff_t(entries.likely)));
    if (!entries.why) continue;
    append(out.elsewhere, bounds_are_certain ? entries.why->elsewhere : entries.between);
    append(out.perhaps, entries.perhaps);
  }
  sort_unique(out.elsewhere);
  sort_unique(out.perhaps);
}

// Appends the RIP-relative instructions that take the address of a label, in this function or in another. Returns a
// reason if one takes the address of something between instructions.
static std::optional<Reason> find_label_instructions(const EhFrame& frames, const PartsByAddress& parts,
                                                     std::vector<LabelUse>& uses, std::vector<LabelUse>& foreign_uses) {
  const FunctionCode& function = parts.function();
  for (uint32_t p = 0; p < function.parts.size(); ++p) {
    const Code& part = function.parts[p];
    for (uint32_t i = 0; i < part.insns.size(); ++i) {
      const Insn& insn = part.insns[i];
      if (!insn.rip_relative || !takes_address(part, insn)) continue;
      const OldAddr a = part.target(insn);
      if (is_label(frames, parts, a)) {
        uses.push_back({{{p, i}, insn.field, true}, a});
      } else if (parts.number(a) && !parts.has_instruction_at(a)) {
        return Reason(ReasonCode::address_between_instructions, part.address(insn));
      } else if (const Fde* fde = frames.find(a); fde && fde->range.start != a && a != function.entry) {
        foreign_uses.push_back({{{p, i}, insn.field, true}, a});
      }
    }
  }
  return std::nullopt;
}

// Whether the function calls what seems never to return, and is not known not to.
static bool has_last_calls(const Instructions& code, Noreturn& known, Noreturn& likely) {
  for (uint32_t i = 0; i < code.count(); ++i) {
    const Insn& insn = code.insn(i);
    if (insn.flow != Flow::call && insn.flow != Flow::call_indirect) continue;
    if (likely.never_returns(insn, code.target(i)) && !known.never_returns(insn, code.target(i))) return true;
  }
  return false;
}

// Resolves the indirect jumps of a function that has some, with the fewest assumptions that suffice.
static Expected<IndirectJumps, Unresolved> analyze_jumps(const Image& image, const EhFrame& frames,
                                                         const LastCalls& last_calls, const DataReferences& data,
                                                         const PartsByAddress& parts, bool may_lack_parts) {
  const Instructions code(parts);
  Noreturn known(image, frames), likely(image, frames, &last_calls);
  // From the cautious and cheap to what assumes more and costs more.
  const Assumptions attempts[] = {
      {nullptr, nullptr, false, JoinPolicy::sound},     {&known, nullptr, false, JoinPolicy::sound},
      {&known, nullptr, true, JoinPolicy::sound},       {&known, nullptr, false, JoinPolicy::optimistic},
      {&known, nullptr, true, JoinPolicy::optimistic},  {&known, &likely, false, JoinPolicy::sound},
      {&known, &likely, false, JoinPolicy::optimistic}, {&known, &likely, true, JoinPolicy::optimistic},
  };
  std::vector<uint8_t> uses;
  Unresolved last{ReasonCode::jump_not_understood};
  for (const Assumptions& a : attempts) {
    if (a.likely && !has_last_calls(code, known, likely)) break;
    JumpAnalysis analysis(image, frames, data, code, a);
    analysis.run(!may_lack_parts);
    if (a.policy == JoinPolicy::sound && analysis.reads_own_code())
      return Unresolved{ReasonCode::reads_own_code, last.outside, last.elsewhere};
    // Only sound attempts tell how constants are used: an optimistic one lets them arrive at places where they are not
    // used.
    if (a.policy == JoinPolicy::sound && !a.likely) uses = analysis.uses();
    auto result = analysis.result(uses);
    if (result && a.likely && analysis.takes_address_of_other_table(*result)) break;
    if (result) return result;
    if (a.likely) continue;
    // If an attempt found out something about a table, try that even when the next attempt fails for another reason.
    Unresolved before = std::exchange(last, {result.error().reason, result.error().outside});
    analysis.tell_what_is_outside(a.policy == JoinPolicy::sound, last);
    if (last.outside == OldAddr()) last.outside = before.outside;
    if (last.elsewhere.empty()) last.elsewhere = std::move(before.elsewhere);
    if (last.perhaps.empty()) last.perhaps = std::move(before.perhaps);
    if (!before.understood.empty()) last.understood = std::move(before.understood);
    if (may_lack_parts && !last.elsewhere.empty()) break;
  }
  return last;
}

Expected<IndirectJumps, Unresolved> resolve_indirect_jumps(const Image& image, const EhFrame& frames,
                                                           const LastCalls& last_calls, const DataReferences& data,
                                                           const FunctionCode& function, bool may_lack_parts) {
  const PartsByAddress parts(function);
  std::vector<LabelUse> label_instructions, foreign_labels;
  if (const auto why = find_label_instructions(frames, parts, label_instructions, foreign_labels))
    return Unresolved{*why};
  IndirectJumps result;
  if (std::ranges::any_of(function.parts, [](const Code& part) {
        return std::ranges::any_of(part.insns, [](const Insn& i) { return i.flow == Flow::jump_indirect; });
      })) {
    auto jumps = analyze_jumps(image, frames, last_calls, data, parts, may_lack_parts);
    if (!jumps) return jumps;
    result = std::move(*jumps);
  }
  // The address of a label is used by the function's own jumps to labels, or as the base of one of its tables, or by a
  // jump that comes from elsewhere.
  const bool jumps_to_labels =
      std::ranges::any_of(result.jumps, [](const IndirectJump& j) { return j.kind == JumpKind::labels; });
  std::erase_if(label_instructions,
                [&](const LabelUse& u) { return std::ranges::find(result.label_uses, u) != result.label_uses.end(); });
  if (!foreign_labels.empty() || !label_instructions.empty()) {
    const Instructions code(parts);
    JumpAnalysis analysis(image, frames, data, code, {});
    analysis.run(!may_lack_parts);
    // A program counter may be compared with two labels of another function, to find out whether control was between
    // them.
    auto is_only = [&](OldAddr label, uint8_t allowed) {
      const uint8_t uses = analysis.uses_of(label);
      return uses != 0 && !(uses & ~allowed) && !analysis.reads_own_code();
    };
    std::erase_if(foreign_labels, [&](const LabelUse& u) { return !is_only(u.label, kKept | kOnStack); });
    // The label itself is not needed, only what is so far from it.
    std::erase_if(label_instructions, [&](const LabelUse& u) { return is_only(u.label, kDistance); });
    for (const LabelUse& u : label_instructions) {
      if ((jumps_to_labels && !(analysis.uses_of(u.label) & kDistance)) ||
          is_only(u.label, kKept | kOnStack | kCompared))
        continue;
      const Code& part = function.parts[u.field.at.part];
      return Unresolved{{ReasonCode::label_taken_for_no_jump, part.address(part.insns[u.field.at.insn])}};
    }
  }
  for (const auto* uses : {&label_instructions, &foreign_labels})
    result.label_uses.insert(result.label_uses.end(), uses->begin(), uses->end());
  sort_unique(result.label_uses);
  return result;
}

}  // namespace profld
