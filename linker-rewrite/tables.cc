// An indirect jump inside a function goes through a table that the compiler made for a switch, or to a label whose
// address the program keeps in data (computed goto), or it leaves the function for good. Which, the jump itself does
// not tell; what computed its target does. Ways to find that out:
//
//   * Patterns of instructions before the jump: quick, and wrong as soon as a compiler moves a step out of a loop or
//     keeps it on the stack.
//   * Slicing backwards from the jump: finds the steps wherever they are, but must decide at every join of paths.
//   * Interpreting the function forwards with abstract values (values.h), until nothing new is learnt.
//
// The last is what is done here, for the few functions that have indirect jumps. A table whose form is found adds its
// targets to the ways that control can take, and the interpretation goes on there.
//
// A table found is believed only if its entries make sense (table_entries.cc) and its address has no other use: the
// copy of the function gets a table of its own, so whoever reads the address for another reason would read the wrong
// data.
//
// A call may be left by an exception: handlers (landing pads) are reached from the calls that the LSDA names. Code that
// is not reached at all, because a jump before it is not understood or because it is dead, is interpreted last, as if
// nothing was known, and without effect on what is known elsewhere.

#include "tables.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <unordered_map>

#include "interpreter.h"
#include "lsda.h"
#include "noreturn.h"
#include "stay.h"
#include "table_entries.h"

namespace profld {

namespace {

using Kind = Value::Kind;

std::string jump_at(OldAddr a, const char* what) {
  char text[128];
  std::snprintf(text, sizeof text, "indirect jump at 0x%llx %s", static_cast<unsigned long long>(a.value), what);
  return text;
}

class Analysis {
 public:
  Analysis(const Image& image, const EhFrame& frames, const DataReferences& data, const FunctionCode& function,
           Noreturn* noreturn, bool calls_preserve, Meeting meeting)
      : image_(image),
        frames_(frames),
        data_(data),
        function_(function),
        noreturn_(noreturn),
        code_(image, function),
        state_of_(code_.count(), -1),
        leader_(code_.count()),
        visited_(code_.count()) {
    code_.trust(calls_preserve, meeting);
    find_leaders();
    find_landing_pads();
  }

  void run() {
    reach(0, code_.entry_state());
    work();
    for (uint32_t p = 1; p < function_.parts.size(); ++p) {
      if (function_.parts[p].insns.empty()) continue;
      const uint32_t start = code_.number({p, 0});
      const Fde* fde = frames_.find(function_.parts[p].range.start);
      if (visited_[start] || (fde && !fde->cfa_is_rsp_plus_8)) continue;
      reach(start, code_.entry_state());
      work();
    }
    // What is left, in the order of the code, if a jump is in it.
    uint32_t last_jump = 0;
    for (uint32_t i = 0; i < code_.count(); ++i)
      if (code_.insn(i).flow == Flow::jump_indirect) last_jump = i;
    for (uint32_t i = 0; i <= last_jump; ++i) {
      if (visited_[i]) continue;
      ++round_;
      reach(i, code_.unknown_state(i));
      work();
    }
  }

  // `other_uses`: of constants, see Interpreter.
  std::optional<IndirectJumps> result(const std::vector<bool>& other_uses, Unresolved* why);
  const std::vector<bool>& other_uses() const { return code_.other_uses(); }
  bool reads_own_code() const { return code_.reads_own_code(); }

 private:
  // Jumps that can go to the same places: what is known before any of them is known at each target.
  struct Hub {
    std::vector<uint32_t> targets;
    std::optional<State> state;
  };
  struct Table {
    TableForm form;
    std::set<uint32_t> jumps;  // that go or went through it
    TableEntries entries;
    uint64_t bound = 0;  // the greatest index of all jumps
    bool exact = false;
    Hub hub;
  };
  struct Jump {
    Value target;
    bool frame_is_empty = false;
    bool through_red_zone = false;
    int table = -1;
  };

  void find_leaders();
  void find_landing_pads();
  std::optional<uint32_t> branch_target(const Insn& insn) const;
  void reach(uint32_t insn, const State& state);
  void work();
  void block(uint32_t leader);
  void jump(const State& state, uint32_t insn);
  int table_of(const Value& target, uint32_t jump);
  void leave_through(Hub& hub, const State& state);
  void find_labels();
  void leave_out_tables(const std::vector<JumpTable>& tables);
  bool frame_is_empty(const State& state, uint32_t insn) const;
  bool add_table(IndirectJumps& out, std::map<TableForm, size_t>& known, const Jump& j, uint32_t insn,
                 const std::vector<bool>& other_uses, Unresolved* why);
  std::optional<JumpKind> kind_of(const Jump& j, uint32_t insn, Unresolved* why);

  const Image& image_;
  const EhFrame& frames_;
  const DataReferences& data_;
  const FunctionCode& function_;
  Noreturn* const noreturn_;  // null: all calls return
  Interpreter code_;
  std::vector<State> states_;      // at leaders
  std::vector<int32_t> state_of_;  // index in states_, -1
  std::vector<bool> leader_;
  std::vector<uint32_t> visited_;  // the round in which an instruction was interpreted, 0: never
  uint32_t round_ = 1;
  std::set<uint32_t> pending_;                          // leaders whose state changed
  std::unordered_map<uint32_t, uint32_t> landing_pad_;  // of calls
  std::vector<Table> tables_;
  std::map<TableForm, int> table_index_;
  std::map<uint32_t, Jump> jumps_;
  Hub labels_;
  bool labels_found_ = false;
  bool has_label_instructions_ = false, label_immediates_ = false;
  std::vector<std::pair<OldAddr, OldAddr>> label_words_;  // word, label
};

std::optional<uint32_t> Analysis::branch_target(const Insn& insn) const {
  const OldAddr a(insn.target);
  for (uint32_t p = 0; p < function_.parts.size(); ++p) {
    const Code& part = function_.parts[p];
    if (part.range.contains(a) && !part.insns.empty()) return code_.number({p, uint32_t(part.covering(a))});
  }
  return std::nullopt;
}

void Analysis::find_leaders() {
  for (uint32_t i = 0; i < code_.count(); ++i) {
    const Insn& insn = code_.insn(i);
    if (insn.flow == Flow::next || insn.flow == Flow::call || insn.flow == Flow::call_indirect) continue;
    if (i + 1 < code_.count()) leader_[i + 1] = true;
    if (insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short)
      if (auto t = branch_target(insn)) leader_[*t] = true;
  }
  for (uint32_t p = 0; p < function_.parts.size(); ++p)
    if (!function_.parts[p].insns.empty()) leader_[code_.number({p, 0})] = true;
}

void Analysis::find_landing_pads() {
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

void Analysis::reach(uint32_t insn, const State& state) {
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
  if (states_[size_t(state_of_[insn])].merge(state, uint64_t(insn) + 1, code_.meeting(), code_.origins()))
    pending_.insert(insn);
}

void Analysis::work() {
  while (!pending_.empty()) {
    const uint32_t leader = *pending_.begin();
    pending_.erase(pending_.begin());
    block(leader);
  }
}

void Analysis::block(uint32_t leader) {
  State state = states_[size_t(state_of_[leader])];
  const uint32_t part = code_.ref(leader).part;
  const uint32_t end = code_.number({part, 0}) + uint32_t(function_.parts[part].insns.size());
  for (uint32_t i = leader; i < end; ++i) {
    if (i != leader && leader_[i]) {
      reach(i, state);
      return;
    }
    visited_[i] = round_;
    const Insn& insn = code_.insn(i);
    switch (insn.flow) {
      case Flow::next:
        code_.step(state, i);
        break;
      case Flow::call:
      case Flow::call_indirect:
        if (auto pad = landing_pad_.find(i); pad != landing_pad_.end()) {
          State caught = state;
          code_.catch_exception(caught, i);
          reach(pad->second, caught);
        }
        if (noreturn_ && noreturn_->never_returns(insn)) return;
        code_.step(state, i);
        break;
      case Flow::jump:
        if (auto t = branch_target(insn)) reach(*t, state);
        return;
      case Flow::jump_if:
      case Flow::jump_if_short: {
        const auto target = branch_target(insn);
        if (insn.flow == Flow::jump_if_short) code_.step(state, i);
        if (insn.flow == Flow::jump_if && state.comparison.id != 0) {
          State taken = state;
          code_.branch(taken, i, true);
          code_.branch(state, i, false);
          if (target) reach(*target, taken);
        } else if (target) {
          reach(*target, state);
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

bool Analysis::frame_is_empty(const State& state, uint32_t insn) const {
  const Value& rsp = state.registers[kRsp];
  const Value entry = code_.entry_state().registers[kRsp];
  const bool known = rsp.kind == Kind::stack && rsp.id == entry.id;
  if (known && rsp.address != entry.address) return false;
  const OldAddr at = code_.address(insn);
  if (const Fde* fde = frames_.find(at)) return frame_is_empty_at(frames_, *fde, at).value_or(false);
  return known;
}

void Analysis::leave_through(Hub& hub, const State& state) {
  const bool changed =
      hub.state ? hub.state->merge(state, 1ull << 40 | uint64_t(&hub == &labels_), code_.meeting(), code_.origins())
                : true;
  if (!hub.state) hub.state = state;
  if (!changed) return;
  for (uint32_t t : hub.targets) reach(t, *hub.state);
}

void Analysis::jump(const State& state, uint32_t insn) {
  Jump& j = jumps_[insn];
  j.target = code_.jump_target(state, insn);
  j.frame_is_empty = frame_is_empty(state, insn);
  j.through_red_zone = code_.jumps_through_red_zone(state, insn);
  j.table = table_of(j.target, insn);
  if (j.table >= 0 && !tables_[size_t(j.table)].entries.targets.empty()) {
    leave_through(tables_[size_t(j.table)].hub, state);
    return;
  }
  find_labels();
  leave_through(labels_, state);
}

// The table that a target comes from, read; -1 if it comes from none.
int Analysis::table_of(const Value& v, uint32_t jump) {
  TableForm form;
  if (v.kind == Kind::entry && (v.size == 8 || v.size == 4)) {
    // Programs at a fixed address only; and what can be written must stay the program's own.
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
  uint64_t bound = 0;
  bool exact = true;
  for (uint32_t i : t.jumps) {
    const Value& target = jumps_[i].target;
    if (target.kind != v.kind || target.address != v.address) continue;
    bound = std::max(bound, target.index_bound());
    exact = exact && target.exact;
  }
  exact = exact && bound != kNoBound;
  if (!added && bound == t.bound && exact == t.exact) return it->second;
  t.bound = bound;
  t.exact = exact;
  t.entries = read_table(image_, data_, function_, form, t.bound, t.exact);
  t.hub = {};
  for (size_t e = 0; e < t.entries.likely; ++e)
    if (auto i = code_.at(t.entries.targets[e])) t.hub.targets.push_back(*i);
  std::ranges::sort(t.hub.targets);
  const auto rest = std::ranges::unique(t.hub.targets);
  t.hub.targets.erase(rest.begin(), rest.end());
  return it->second;
}

// All labels whose address the program keeps, for jumps that may go to any of them.
void Analysis::find_labels() {
  if (labels_found_) return;
  labels_found_ = true;
  std::vector<OldAddr> labels;
  for (const Code& part : function_.parts) {
    auto p = std::ranges::lower_bound(data_.code_pointers, part.range.start, {},
                                      [](const auto& pair) { return pair.second; });
    for (; p != data_.code_pointers.end() && p->second < part.range.end; ++p)
      if (is_label(frames_, function_, p->second)) label_words_.push_back(*p);
    for (const Insn& insn : part.insns)
      if (takes_address(part, insn) && is_label(frames_, function_, OldAddr(insn.target)))
        labels.push_back(OldAddr(insn.target));
  }
  for (uint32_t i = 0; i < code_.count() && !image_.is_position_independent(); ++i) {
    const Operation& op = code_.operation(i);
    const OldAddr a(uint64_t(op.immediate));
    if (op.action != Action::move || op.immediate_field == 0 || !is_label(frames_, function_, a)) continue;
    label_immediates_ = true;
    labels.push_back(a);
  }
  has_label_instructions_ = !labels.empty();
  for (const auto& [word, label] : label_words_) labels.push_back(label);
  for (OldAddr a : labels)
    if (auto i = code_.at(a)) labels_.targets.push_back(*i);
  std::ranges::sort(labels_.targets);
  const auto rest = std::ranges::unique(labels_.targets);
  labels_.targets.erase(rest.begin(), rest.end());
}

// In a program at a fixed address jump tables look like labels too.
void Analysis::leave_out_tables(const std::vector<JumpTable>& tables) {
  for (const JumpTable& t : tables)
    if (!t.relative)
      std::erase_if(label_words_, [&](const auto& w) {
        return w.first >= t.address && w.first < t.address + t.targets.size() * t.entry_size;
      });
}

// Fills in the table of a jump. False if the table cannot be cloned.
bool Analysis::add_table(IndirectJumps& out, std::map<TableForm, size_t>& known, const Jump& j, uint32_t insn,
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

// The kind of a jump that goes through no table that is understood.
std::optional<JumpKind> Analysis::kind_of(const Jump& j, uint32_t insn, Unresolved* why) {
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
  why->reason =
      jump_at(code_.address(insn), pointer ? "leaves the function with its frame in place" : "is not understood");
  return std::nullopt;
}

std::optional<IndirectJumps> Analysis::result(const std::vector<bool>& other_uses, Unresolved* why) {
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

}  // namespace

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
    Analysis analysis(image, frames, data, function, a.noreturn ? &noreturn : nullptr, a.calls_preserve, a.meeting);
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
