// A dataflow over the blocks of one function. The state at a place has a set of followed addresses for each register
// and each word of the stack: the value is certainly made from one of them. If the set is empty, nothing is known about
// the value. Where two paths meet, the set is the union of both, but empty if one of them is empty. So in a loop that
// increments a pointer it is still known where the pointer began (the interpretation with exact values that jump tables
// need, abstract_state.h, forgets it there), and an old value that was left in a register is not taken for an argument.
// The dataflow ends, because sets only grow or become empty. What each instruction does is in pointer_steps.cc.

#include "pointer_flow.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "pointer_steps.h"

namespace profld {

namespace {

class PointerFlow {
 public:
  // Follows the addresses from `first` on, as many as a set has room for; arguments only if `first` is 0.
  PointerFlow(const Program& program, const Group& group, const Instructions& code, const Followed& followed,
              size_t first, std::vector<AddressUse>& uses)
      : program_(program),
        group_(group),
        code_(code),
        followed_(followed),
        first_(first),
        steps_(program, group, code, followed, first, uses) {
    leader_ = code.leaders();
    state_of_.resize(code.count(), -1);
    visited_.resize(code.count());
    for (const IndirectJump& j : group.indirect.jumps) {
      if (j.kind != JumpKind::table) continue;
      std::vector<uint32_t>& targets = table_targets_[code.number(j.at)];
      for (OldAddr target : group.indirect.tables[j.table].targets)
        if (const auto i = code.at(target)) targets.push_back(*i);
      for (uint32_t i : targets) leader_[i] = true;
    }
  }

  void run() {
    if (followed_.quickly) add_naming_blocks();
    for (uint32_t part = 0; part < group_.code.parts.size(); ++part) {
      if (group_.code.parts[part].insns.empty() || program_.ranges[group_.ranges[part]].fragment) continue;
      const uint32_t entry = code_.number({part, 0});
      reach(entry, state_at_entry(entry));
    }
    work();
    if (followed_.quickly) return;
    // Code that is reached in unknown ways, or not at all, has no effect on the states elsewhere.
    for (uint32_t i = 0; i < code_.count(); ++i) {
      if (visited_[i]) continue;
      ++round_;
      leader_[i] = true;
      reach(i, state_at(i));
      work();
    }
  }

 private:
  // Mostly an address is named right before the call that gets it, and is in no register after the call.
  void add_naming_blocks() {
    for (uint32_t i : code_.with_constants()) {
      if (!steps_.names_address(i)) continue;
      uint32_t leader = i;
      while (!leader_[leader]) --leader;
      if (state_of_[leader] >= 0) continue;
      naming_.insert(leader);
      PointerState state = state_at(leader);
      state.registers[kRbp].frame = steps_.frame_made_by(leader);  // if it is no frame, this does no harm
      add_state(leader, state);
    }
  }

  PointerState state_at(uint32_t insn) const {
    PointerState s;
    s.registers[kRsp].frame = insn + 1;
    return s;
  }
  PointerState state_at_entry(uint32_t insn) const {
    PointerState s = state_at(insn);
    for (uint8_t a = 0; first_ == 0 && a < kArguments; ++a)
      s.registers[kArgumentRegisters[a]].made_from = followed_.arguments & (AddressSet(1) << a);
    if (const AddressSet address = steps_.return_address(); address != 0)
      s.stack_words.push_back({s.registers[kRsp].place(), address});
    return s;
  }

  void add_state(uint32_t insn, const PointerState& state) {
    state_of_[insn] = int32_t(states_.size());
    states_.push_back(state);
    round_of_.push_back(round_);
    leader_of_.push_back(insn);
    pending_.insert(insn);
  }

  void reach(uint32_t insn, const PointerState& state) {
    AddressSet lost = 0;
    if (followed_.quickly) {
      if (!state.has_addresses()) return;
      if (state_of_[insn] < 0)
        add_state(insn, state);
      else if (states_[size_t(state_of_[insn])].unite(state))
        pending_.insert(insn);
      return;
    }
    if (state_of_[insn] < 0) {
      add_state(insn, state);
    } else if (round_of_[size_t(state_of_[insn])] != round_) {
      for (const PointerValue& v : state.registers) lost |= v.made_from;
    } else if (states_[size_t(state_of_[insn])].merge(state, lost)) {
      pending_.insert(insn);
    }
    steps_.use(AddressUse::How::kept, lost, insn);
  }

  // While the dataflow runs, the states claim more than in the end, so uses are noted only when nothing changes any
  // more. A quick look does not wait for that.
  void work() {
    steps_.notes_uses = followed_.quickly;
    while (!pending_.empty()) {
      const uint32_t leader = *pending_.begin();
      pending_.erase(pending_.begin());
      here_ = states_[size_t(state_of_[leader])];
      block(leader, here_);
    }
    steps_.notes_uses = true;
    for (; worked_ < states_.size(); ++worked_) {
      if (followed_.quickly) continue;
      here_ = states_[worked_];
      block(leader_of_[worked_], here_);
    }
    steps_.notes_uses = false;
  }

  bool is_done(uint32_t leader, const PointerState& state) const {
    return followed_.quickly && !naming_.contains(leader) && !state.has_addresses();
  }

  void block(uint32_t leader, PointerState& state) {
    const uint32_t end = code_.end_of_part(leader);
    for (uint32_t i = leader; i < end; ++i) {
      if (i != leader && leader_[i]) return reach(i, state);
      visited_[i] = true;
      const Insn& insn = code_.insn(i);
      steps_.access(state, i);
      switch (insn.flow) {
        case Flow::next:
          steps_.step(state, i);
          break;
        case Flow::call:
        case Flow::call_indirect:
          steps_.call(state, i);
          if (is_done(leader, state)) return;
          break;
        case Flow::jump:
        case Flow::jump_if:
        case Flow::jump_if_short:
          if (const uint32_t t = code_.branch_target(i); t != Instructions::kNone)
            reach(t, state);
          else
            steps_.jump_away(state, i);
          if (insn.flow == Flow::jump) return;
          if (insn.flow == Flow::jump_if_short) steps_.step(state, i);
          break;
        case Flow::jump_indirect:
          if (const auto targets = table_targets_.find(i); targets != table_targets_.end())
            for (uint32_t t : targets->second) reach(t, state);
          else
            steps_.jump_away(state, i);
          return;
        case Flow::ret:
          return steps_.returns(state, i);
        case Flow::stop:
          return;
      }
    }
    if (end != leader) steps_.run_on(state, end - 1);
  }

  const Program& program_;
  const Group& group_;
  const Instructions& code_;
  const Followed& followed_;
  const size_t first_;
  PointerSteps steps_;
  std::vector<bool> leader_;
  std::vector<bool> visited_;
  std::vector<int32_t> state_of_;  // of leaders: index in states_, or -1
  std::deque<PointerState> states_;
  std::set<uint32_t> pending_;                               // leaders whose state changed
  std::map<uint32_t, std::vector<uint32_t>> table_targets_;  // of jumps through tables
  uint32_t round_ = 0;
  std::vector<uint32_t> round_of_, leader_of_;  // for each of states_: in which round it was made, its leader
  size_t worked_ = 0;                           // how many of them are final
  PointerState here_;                           // of block() alone, kept for its memory
  std::set<uint32_t> naming_;                   // leaders of blocks that name an address; of a quick look
};

}  // namespace

OldRange words_of_linker(const Image& image) {
  if (const Elf64_Phdr* s = image.segment(PT_GNU_RELRO)) return {OldAddr(s->p_vaddr), OldAddr(s->p_vaddr) + s->p_memsz};
  const Section* s = image.section(".got");
  return s ? OldRange{OldAddr(s->header.sh_addr), OldAddr(s->header.sh_addr) + s->header.sh_size} : OldRange{};
}

std::optional<OldAddr> address_in_word(const Image& image, OldRange words, OldAddr where) {
  const Relocation* r = words.contains(where) ? image.relocation_at(where) : nullptr;
  if (!r) return std::nullopt;
  if (r->type == R_X86_64_RELATIVE) return OldAddr(uint64_t(r->addend));
  if ((r->type != R_X86_64_GLOB_DAT && r->type != R_X86_64_64) || r->symbol >= image.dynamic_symbols().size())
    return std::nullopt;
  const Symbol& s = image.dynamic_symbols()[r->symbol];
  if (s.section == SHN_UNDEF) return std::nullopt;
  return s.address + (r->type == R_X86_64_64 ? uint64_t(r->addend) : 0);
}

std::vector<AddressUse> follow_addresses(const Program& program, const Group& group, const Followed& followed) {
  std::vector<AddressUse> uses;
  const PartsByAddress parts(group.code);
  const Instructions code(parts);
  size_t first = 0;
  do {
    PointerFlow(program, group, code, followed, first, uses).run();
    first += kMaxAddresses - kArguments;
  } while (first < followed.addresses.size());
  std::ranges::sort(uses);
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  return uses;
}

}  // namespace profld
