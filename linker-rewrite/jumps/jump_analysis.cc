// Interprets a function forwards with abstract values (abstract_state.h), block by block, until nothing new is learnt.
// When the form of a table is found, control can go to its targets, and the interpretation goes on there.
//
// A call may be left by an exception: handlers (landing pads) are reached from the calls that the LSDA names. Code that
// is not reached at all, because a jump before it is not understood or because it is dead, is interpreted last, as if
// nothing was known, and without effect on the states of other code.
//
// Where paths meet, less is known of an index than before, but where it was a number: that is the first of several, and
// does not tell which others there are. So a table may have fewer entries in the end than at first, and none below its
// start. But control was followed to what are none, and what was learnt there is not forgotten. Then the function is
// interpreted once more (tables.cc), with what was known of indexes in the end.
//
// Terms: leader, the first instruction of a block, for which we keep the state that is true on all paths to it; hub,
// the place where all jumps through the same table meet.

#include "jump_analysis.h"

#include <algorithm>

#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/unwind/lsda.h"

namespace profld {

namespace {

using Kind = Value::Kind;

}  // namespace

JumpAnalysis::JumpAnalysis(const Image& image, const EhFrame& frames, const DataReferences& data,
                           const Instructions& code, const Assumptions& assumptions, Indexes indexes)
    : image_(image),
      frames_(frames),
      data_(data),
      function_(code.function()),
      assumptions_(assumptions),
      given_(std::move(indexes)),
      code_(code),
      interpreter_(image, code),
      source_{image, data, code.parts(), interpreter_.read_addresses()},
      state_of_(code.count(), -1),
      leader_(code.leaders()),
      visited_(code.count()),
      pending_(code.count()) {
  interpreter_.trust(assumptions.calls_preserve, assumptions.policy);
  find_landing_pads();
}

void JumpAnalysis::run(bool parts_may_be_entries) {
  reach(0, interpreter_.entry_state());
  work();
  for (uint32_t p = 1; p < function_.parts.size() && parts_may_be_entries; ++p) {
    if (function_.parts[p].insns.empty()) continue;
    const uint32_t start = code_.number({p, 0});
    const Fde* fde = frames_.find(function_.parts[p].range.start);
    if (visited_[start] || (fde && !fde->cfa_is_rsp_plus_8)) continue;
    reach(start, interpreter_.entry_state());
    work();
  }
  // Interprets the blocks that are left, in the order of the code, if a jump or the address of a label is in them.
  uint32_t last = 0;
  for (uint32_t i = 0; i < code_.count(); ++i) {
    const Insn& insn = code_.insn(i);
    if (insn.flow == Flow::jump_indirect || (insn.rip_relative && image_.is_code(code_.target(i)))) last = i;
  }
  for (uint32_t i = 0; i <= last; ++i) {
    if (visited_[i]) continue;
    ++round_;
    reach(i, interpreter_.unknown_state(i));
    work();
  }
}

void JumpAnalysis::find_landing_pads() {
  for (uint32_t p = 0; p < function_.parts.size(); ++p) {
    const Code& part = function_.parts[p];
    const Fde* fde = frames_.find(part.range.start);
    if (!fde || fde->lsda == OldAddr()) continue;
    auto lsda = read_lsda(image_, frames_, *fde);
    if (!lsda) continue;
    for (const CallSite& site : lsda->call_sites) {
      auto pad = code_.at(site.landing_pad);
      if (!pad || !part.range.contains(site.range.start)) continue;
      leader_[*pad] = true;
      for (size_t i = part.covering(site.range.start); i < part.insns.size(); ++i) {
        const Insn& insn = part.insns[i];
        if (part.address(insn) >= site.range.end) break;
        if (insn.flow == Flow::call || insn.flow == Flow::call_indirect)
          landing_pad_[code_.number({p, uint32_t(i)})] = *pad;
      }
    }
  }
}

void JumpAnalysis::reach(uint32_t insn, const State& state) {
  if (visited_[insn] != 0 && visited_[insn] < round_) return;
  if (state_of_[insn] < 0) {
    state_of_[insn] = int32_t(states_.size());
    states_.push_back(state);
    pending_.insert(insn);
    if (!leader_[insn]) {
      // In the middle of a block: the rest becomes a block of its own, which the first part reaches as well.
      leader_[insn] = true;
      if (visited_[insn] != 0) {
        uint32_t start = insn - 1;
        while (!leader_[start]) --start;
        if (state_of_[start] >= 0) pending_.insert(start);
      }
    }
    return;
  }
  if (interpreter_.merge(states_[size_t(state_of_[insn])], state, uint64_t(insn) + 1)) pending_.insert(insn);
}

void JumpAnalysis::work() {
  while (const auto leader = pending_.take()) block(*leader);
}

void JumpAnalysis::block(uint32_t leader) {
  State& state = here_;
  state = states_[size_t(state_of_[leader])];
  const uint32_t end = code_.end_of_part(leader);
  for (uint32_t i = leader; i < end; ++i) {
    if (i != leader && leader_[i]) {
      reach(i, state);
      return;
    }
    visited_[i] = round_;
    const Insn& insn = code_.insn(i);
    switch (insn.flow) {
      case Flow::next:
        interpreter_.step(state, i);
        break;
      case Flow::call:
      case Flow::call_indirect:
        if (auto pad = landing_pad_.find(i); pad != landing_pad_.end()) {
          elsewhere_ = state;
          interpreter_.catch_exception(elsewhere_, i);
          reach(pad->second, elsewhere_);
        }
        if (assumptions_.noreturn && assumptions_.noreturn->never_returns(insn, code_.target(i))) return;
        if (assumptions_.likely && assumptions_.likely->never_returns(insn, code_.target(i))) state.is_doubtful = true;
        interpreter_.step(state, i);
        break;
      case Flow::jump:
        if (const uint32_t t = code_.branch_target(i); t != Instructions::kNone) reach(t, state);
        return;
      case Flow::jump_if:
      case Flow::jump_if_short: {
        const uint32_t target = code_.branch_target(i);
        if (insn.flow == Flow::jump_if_short) interpreter_.step(state, i);
        if (insn.flow == Flow::jump_if && state.comparison.id != 0) {
          elsewhere_ = state;
          interpreter_.branch(elsewhere_, i, true);
          interpreter_.branch(state, i, false);
          if (target != Instructions::kNone) reach(target, elsewhere_);
        } else if (target != Instructions::kNone) {
          reach(target, state);
        }
        break;
      }
      case Flow::jump_indirect:
        jump(state, i);
        return;
      case Flow::ret:
      case Flow::stop:
        return;
    }
  }
}

bool JumpAnalysis::frame_is_empty(const State& state, uint32_t insn) const {
  const Value& rsp = interpreter_.stack_pointer(state);
  const Value entry = Interpreter::stack_at_entry();
  const bool known = rsp.kind == Kind::stack && rsp.id == entry.id;
  if (known && rsp.address != entry.address) return false;
  const OldAddr at = code_.address(insn);
  if (const Fde* fde = frames_.find(at)) return frame_is_empty_at(frames_, *fde, at).value_or(false);
  return known;
}

void JumpAnalysis::leave_through(Hub& hub, const State& state) {
  const bool changed = !hub.state || interpreter_.merge(*hub.state, state, 1ull << 40 | uint64_t(&hub == &labels_));
  if (!hub.state) hub.state = state;
  if (!changed) return;
  for (uint32_t t : hub.targets) reach(t, *hub.state);
}

void JumpAnalysis::jump(const State& state, uint32_t insn) {
  Jump& j = jumps_[insn];
  j.target = interpreter_.jump_target(state, insn);
  j.frame_is_empty = frame_is_empty(state, insn);
  j.stack_is_switched = interpreter_.stack_pointer(state).kind == Kind::unknown;
  j.through_red_zone = interpreter_.jumps_through_red_zone(state, insn);
  j.table = table_of(j.target, insn);
  if (j.table >= 0 && !tables_[size_t(j.table)].entries.targets.empty()) {
    leave_through(tables_[size_t(j.table)].hub, state);
    return;
  }
  find_labels();
  leave_through(labels_, state);
}

// Reads the table that a target comes from. Returns its index; -1 if it comes from no table.
int JumpAnalysis::table_of(const Value& v, uint32_t jump) {
  TableForm form;
  if (v.kind == Kind::entry && (v.size == 8 || v.size == 4)) {
    // Only programs at a fixed address have such tables. And a table that the program can write to must not be cloned.
    if (image_.is_position_independent() || image_.is_writable(OldAddr(v.address))) return -1;
    form = {OldAddr(v.address), OldAddr(), false, v.size, v.sign_extended};
  } else if (v.kind == Kind::target && (v.size == 8 || (v.size == 4 && v.sign_extended))) {
    form = {OldAddr(v.table), OldAddr(v.address), true, v.size, v.sign_extended};
  } else {
    return -1;
  }
  auto [it, added] = table_index_.emplace(form, int(tables_.size()));
  if (added) {
    tables_.push_back({});
    tables_.back().form = form;
  }
  Table& t = tables_[size_t(it->second)];
  t.jumps.insert(jump);
  IndexRange index{0, true, false};
  for (uint32_t i : t.jumps) {
    const Value& target = jumps_[i].target;
    if (target.kind != v.kind || target.address != v.address) continue;
    index.greatest = std::max(index.greatest, target.index_bound());
    index.exact = index.exact && target.exact;
    index.may_be_negative = index.may_be_negative || target.index_may_be_negative();
  }
  index.exact = index.exact && index.greatest != kNoBound;
  t.found = index;
  if (const auto given = given_.find(form); given != given_.end()) index = given->second;
  if (!added && index == t.index) return it->second;
  t.index = index;
  const std::vector<uint32_t> before = std::move(t.hub.targets);
  t.entries = read_table(source_, form, index, OldAddr(interpreter_.field_address(v.origin)));
  t.hub = {};
  // Of a table of labels, the next object need not be the end: where another jump names one of its entries, or there is
  // no entry 0, it looks as if an object began in it. A switch has a table of its own, with one address.
  const bool of_switch = form.relative && !image_.is_code(form.base);
  const size_t followed = index.exact || of_switch ? t.entries.likely : t.entries.targets.size();
  for (size_t e = 0; e < followed; ++e)
    if (auto i = code_.at(t.entries.targets[e])) t.hub.targets.push_back(*i);
  sort_unique(t.hub.targets);
  followed_too_many_ |= !std::ranges::includes(t.hub.targets, before);
  return it->second;
}

Indexes JumpAnalysis::indexes() const {
  Indexes indexes;
  for (const Table& t : tables_) indexes.emplace(t.form, t.found);
  return indexes;
}

bool JumpAnalysis::confirms_indexes() const {
  return std::ranges::all_of(tables_, [&](const Table& t) {
    const auto given = given_.find(t.form);
    return given == given_.end() ||
           (t.found.greatest <= given->second.greatest && (t.found.exact || !given->second.exact) &&
            (given->second.may_be_negative || !t.found.may_be_negative));
  });
}

// The addresses of labels (computed goto). A label is no function: it has no symbol, and a jump to it must lead into
// the copy, or the function would go on in its original, which has no hooks. The address of a label is kept:
//
//   * in words of data. In a position-independent program each of them has a relocation. In a program at a fixed
//     address they look like other numbers that happen to be the address of an instruction (tell_label_words).
//   * in instructions: RIP-relative, which is unmistakable, or, at a fixed address, as a displacement or an immediate.
//   * as a distance from another label, in a table (JumpTable::base).
//
// A label is also where control goes on after __builtin_longjmp, or after a goto out of a nested function: the address
// is only kept, or taken in one function for a jump into another.
//
// OCaml's functions push the address of a handler, and whoever raises an exception goes there. They take no other
// labels' addresses, and have no computed gotos: their jumps through pointers are tail calls.
//
// A number without a relocation is taken for an address only if the function has an indirect jump that no table
// explains, and if the number is used as an address: copied, kept in 8 bytes of memory, jumped to. All such numbers of
// a function are changed or none, because programs compare them with each other; if one of them is used otherwise, the
// function stays.

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

// In a program at a fixed address jump tables look like labels too. But a word that is read without an index is one,
// although the table of another jump seems to go on there: of a switch whose case is known, compilers leave `jmp
// *word`.
void JumpAnalysis::leave_out_tables(const std::vector<JumpTable>& tables) {
  for (const JumpTable& t : tables)
    if (!t.relative)
      for (auto* words : {&label_words_.certain, &label_words_.doubtful})
        std::erase_if(*words, [&](const auto& w) {
          return w.first >= t.first && w.first < t.first + t.targets.size() * t.entry_size &&
                 !std::ranges::binary_search(source_.read, w.first);
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

// What is concluded of tables and jumps when nothing new is learnt.

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

// Adds the entries and uses of a table to those of another, which the code names by the same address and reads alike:
// its jumps may begin at different entries.
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

// Whether `is(instruction, field, address)` for a field that names an address of data, or a number that may be one.
// What is only loaded from there is left out.
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
  constexpr uint64_t kMaxLabels = 4096;
  const Value& v = j.target;
  const bool array = v.kind == Kind::entry && v.size == 8;
  if (j.table >= 0 && !(array && tables_[size_t(j.table)].entries.foreign))
    return tables_[size_t(j.table)].entries.why.value_or(
        Unresolved{{ReasonCode::jump_not_understood, code_.address(insn)}});
  const uint64_t last = std::min(v.index_bound(), kMaxLabels);
  const auto is_above = [&](const auto& w) { return w.first.value - v.address <= last * 8; };
  const auto is_below = [&](const auto& w) {
    return v.index_may_be_negative() && v.address - w.first.value <= kMaxLabels * 8;
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

// In a program at a fixed address nothing says which words of data are addresses: the linker has put the numbers in and
// thrown the relocations away. A computed goto's table of labels has to be found among all words whose value happens to
// be the address of an instruction. Most such words in a large program are something else, half a dictionary's hash
// or two characters of a text, and changing one of them makes a wrong program.
//
// A function names the address of the table that it jumps through. So a word is a label for certain if an instruction
// of the function names its address, or one a little before it (the first index may be greater than 0, and labels may
// lie in records), or if it follows close upon one that is, or stands right in front of one (an index may be negative).
// It is changed to the address of the label's copy. Any other word is left alone, and control that comes from it, if it
// is a label after all, arrives at the old label and is led to the copy from there (entry_jumps.cc).

LabelWords tell_label_words(std::vector<std::pair<OldAddr, OldAddr>> words, std::vector<OldAddr> named) {
  constexpr uint64_t kToFirst = 256, kToNext = 64;  // bytes
  std::ranges::sort(words);
  std::ranges::sort(named);
  LabelWords r;
  std::vector<bool> is_certain;
  OldAddr last;  // that is certain
  for (const auto& w : words) {
    const auto after = std::ranges::upper_bound(named, w.first);
    const bool is_named = after != named.begin() && w.first - *std::prev(after) <= kToFirst;
    const bool follows = last != OldAddr() && w.first - last <= kToNext;
    is_certain.push_back(is_named || follows);
    if (is_certain.back()) last = w.first;
  }
  OldAddr next;  // that is certain
  for (size_t i = words.size(); i-- > 0;) {
    if (words[i].first + 8 == next) is_certain[i] = true;
    if (is_certain[i]) next = words[i].first;
  }
  for (size_t i = 0; i < words.size(); ++i) (is_certain[i] ? r.certain : r.doubtful).push_back(words[i]);
  return r;
}

}  // namespace profld
