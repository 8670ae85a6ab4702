// Interprets a function forwards with abstract values (abstract_state.h), block by block, until nothing new is learnt.
// When the form of a table is found, control can go to its targets, and the interpretation goes on there.
//
// A call may be left by an exception: handlers (landing pads) are reached from the calls that the LSDA names. Code that
// is not reached at all, because a jump before it is not understood or because it is dead, is interpreted last, as if
// nothing was known, and without effect on the states of other code.
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
                           const Instructions& code, const Assumptions& assumptions)
    : image_(image),
      frames_(frames),
      data_(data),
      function_(code.function()),
      assumptions_(assumptions),
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
  if (!added && index == t.index) return it->second;
  t.index = index;
  t.entries = read_table(source_, form, index, OldAddr(interpreter_.field_address(v.origin)));
  t.hub = {};
  // Of a table of labels, the next object need not be the end: where another jump names one of its entries, or there is no
  // entry 0, it looks as if an object began in it. A switch has a table of its own, with one address.
  const bool of_switch = form.relative && !image_.is_code(form.base);
  const size_t followed = index.exact || of_switch ? t.entries.likely : t.entries.targets.size();
  for (size_t e = 0; e < followed; ++e)
    if (auto i = code_.at(t.entries.targets[e])) t.hub.targets.push_back(*i);
  sort_unique(t.hub.targets);
  return it->second;
}

}  // namespace profld
