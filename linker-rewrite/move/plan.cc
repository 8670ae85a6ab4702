// A copy is the original, instruction by instruction, with these differences:
//
//   entry          call _profin before the first instruction (after ENDBR64, which must stay first)
//   ret            call _profout; ret
//   tail call      call _proftail; jmp to the body of f, after its hook, which _proftail does the work of
//   jcc f (tail)   jncc 1f; call _proftail; jmp to the body of f; 1:
//   jmp *pointer   call _profjump; jmp *pointer: f may have a hook. So before a stub of the linker, which leads to
//                  another library; and call _profout before a tail call of a function that certainly has no hook
//   call import    call thunk_in; call import; call thunk_out (emit.h)
//   syscall        in static programs, if it may make a thread: that begins in the runtime (x86/system_calls.cc)
//   tail call of an import: call thunk_count; call _profout; jmp
//   branch         the displacement leads to the target's copy; an 8-bit one that does not reach becomes 32 bits wide
//   jrcxz, loop    have 8 bits only: jrcxz 1f; jmp 2f; 1: jmp target; 2:
//   disp(%rip)     the displacement leads to the old address still: data does not move, and the address
//                  of a function is that of its original. Only labels and jump tables have those of the copies.
//   profld -b      incq counter, before some instructions; small loops several times (blocks/block_counters.cc)
//   profld --trace the code of a record in each basic block, and after the copy, out of line, what jumps lead to first
//                  whose way has a record, and what records need when a window is full (x86/record_code.h)
//   falling off    a range whose last instruction goes on into the next range gets a jump there;
//                  into a function: a tail call
//
// The hook before the body is laid so that the body has the same address modulo 64 as the original: compilers align
// loops, and processors cache code in lines.
//
// Lengths depend on distances only within one range: everything outside is referred to by 32 bits. So each range is
// planned alone: assume that all short branches inside stay short, lengthen those that do not reach, and repeat until
// all reach. The plan keeps the few instructions that change (Change); all others are copied as they are.

#include "plan.h"

#include <algorithm>
#include <span>

#include "linker-rewrite/program/fragments.h"

namespace profld {

namespace {

// Length of the instruction's own bytes in the copy, without what is called before it.
uint32_t length_in_form(const Insn& insn, Form form) {
  switch (form) {
    case Form::hook_only:
      return insn.length;
    case Form::import_call:
      return kCallLength + insn.length + kCallLength;
    case Form::jump:
      return insn.prefixes + kJumpLength;
    case Form::jump_if:
      return insn.prefixes + kJumpIfLength;
    case Form::jump_if_short_far:
      return insn.length + kShortJumpLength + kJumpLength;
    case Form::tail_call_if:
      return kShortJumpLength + kHookLength + kJumpLength;
    case Form::tail_call_if_short:
      return insn.length + kShortJumpLength + kHookLength + kJumpLength;
    case Form::loop:
      return length_of_jump_back(insn);  // and the later times
    case Form::task_call:
      return kTaskCallLength;
  }
  return 0;
}

uint32_t length_of(const Insn& insn, const Change& change) {
  return length_in_form(insn, change.form) + (change.leave_hook ? kHookLength : 0) +
         (change.counts_import() ? kCallLength : 0);
}

// Of the nops in it, where hooks leave, if it stands at `address`.
uint32_t padding_of(const Insn& insn, const Change& change, uint64_t address) {
  if (change.form == Form::import_call) return padding_of_import_call(address, insn.length);
  if (change.form == Form::tail_call_if) return padding_of_hook(address + kShortJumpLength);
  if (change.form == Form::tail_call_if_short) return padding_of_hook(address + insn.length + kShortJumpLength);
  return change.leave_hook ? padding_of_hook(address) : 0;
}

class Planner {
 public:
  Planner(const Program& program, uint32_t index, bool hooked, const BlockCounters* counters)
      : program_(program), range_(program.ranges[index]), code_(program.code(range_)), hooked_(hooked) {
    plan_.range = index;
    if (!counters) return;
    const auto if_any = [](const auto* list) { return list && !list->empty() ? list : nullptr; };
    plan_.counters = if_any(counters->places(index));
    plan_.edges = if_any(counters->edges_of(index));
    plan_.loops = if_any(counters->loops_of(index));
  }

  RangePlan plan(RangeCopy& copy) {
    if (hooked_ && !range_.fragment)
      plan_.enter_hook_before = starts_with_endbr64(code_.bytes) && code_.insns.size() > 1 ? 1 : 0;
    place_body();
    find_changes();
    find_end();
    for (;;) {
      place();
      const std::vector<uint32_t> too_far = branches_too_far();
      if (too_far.empty()) break;
      lengthen(too_far);
    }
    copy.body = body_;
    copy.steps = steps();
    copy.loops = loops();
    copy.out_of_line = length_of_taken_edges(plan_) + records_of(plan_) * kFullWindowLength;
    copy.size = at_.back() + length_of_end() + copy.out_of_line;
    return std::move(plan_);
  }

 private:
  // Where the body begins, which has the same address modulo 64 as the original's, and so what addresses are modulo 8.
  void place_body() {
    const uint32_t hook = plan_.enter_hook_before;
    if (hook == RangePlan::kNone) return;
    const uint32_t before = code_.insns[hook].offset;
    const uint64_t body = range_.range.start.value + before;
    body_ = before + kHookLength + (program_.hooks_leave ? padding_of_hook(body - kHookLength) : 0);
    start_ = body - body_;
  }
  // Of what is `offset` bytes from the start of the copy; right modulo 64.
  uint64_t address(uint32_t offset) const { return start_ + offset; }

  uint32_t length_of_end() const {
    const uint32_t jump = plan_.falls_off ? kJumpLength : 0;
    if (!plan_.leave_hook_at_end) return jump;
    return (program_.hooks_leave ? padding_of_hook(address(at_.back())) : 0) + kHookLength + jump;
  }

  // Finds the instructions that certainly change, and the short branches that may have to.
  void find_changes() {
    const std::vector<bool> indirect_tail_calls = find_indirect_tail_calls();
    const std::vector<ImportCall>& calls = program_.groups[range_.group].import_calls;
    auto call = std::ranges::lower_bound(calls, InsnRef{range_.part, 0}, {}, &ImportCall::at);
    for (uint32_t i = 0; i < code_.insns.size(); ++i) {
      const bool known = hooked_ && call != calls.end() && call->at == InsnRef{range_.part, i};
      const uint32_t import = known ? call->import : Change::kNoImport;
      if (known) ++call;
      switch (code_.insns[i].flow) {
        case Flow::ret:
          if (!hooked_) break;
          plan_.changes.push_back({i, Form::hook_only, true});
          ++plan_.returns;
          break;
        case Flow::jump_indirect:
          if (!hooked_ || indirect_tail_calls.empty() || !indirect_tail_calls[i]) break;
          plan_.changes.push_back({i, Form::hook_only, true, import});
          ++plan_.tail_jumps;
          break;
        case Flow::call:
        case Flow::call_indirect:
          if (known) plan_.changes.push_back({i, Form::import_call, false, import});
          break;
        case Flow::jump:
        case Flow::jump_if:
        case Flow::jump_if_short:
          change_branch(i, import);
          break;
        default:
          if (std::ranges::binary_search(program_.groups[range_.group].task_calls, InsnRef{range_.part, i}))
            plan_.changes.push_back({i, Form::task_call, false});
          break;
      }
    }
  }

  // By instruction; none at all if the function has no indirect jumps.
  std::vector<bool> find_indirect_tail_calls() const {
    const std::vector<IndirectJump>& jumps = program_.groups[range_.group].indirect.jumps;
    std::vector<bool> tail_calls(jumps.empty() ? 0 : code_.insns.size());
    for (const IndirectJump& j : jumps)
      if (j.at.part == range_.part && j.kind == JumpKind::tail_call) tail_calls[j.at.insn] = true;
    return tail_calls;
  }

  void change_branch(uint32_t i, uint32_t import) {
    const Insn& insn = code_.insns[i];
    const OldAddr target = code_.target(insn);
    if (const RepeatedLoop* loop = loop_of(plan_, i)) {
      const size_t to = range_.range.contains(target) ? code_.covering(target) : SIZE_MAX;
      if (i == loop->last) {
        plan_.changes.push_back({i, Form::loop, false});
        return;
      }
      // What leads out of the loop, or to its next time, is farther away than in the original.
      if (to <= loop->first || to > loop->last) {
        plan_.changes.push_back({i, insn.flow == Flow::jump ? Form::jump : Form::jump_if, false});
        return;
      }
    }
    const bool tail = hooked_ && is_tail_call(program_, range_, code_.address(insn), target);
    if (const EdgeRecord* edge = edge_of(i); edge && edge->is_taken) {
      plan_.changes.push_back({i, Form::jump_if, false});  // to the code of the record
      return;
    }
    if (range_.range.contains(target) && !tail) {
      if (insn.field_size == 1) short_inside_.push_back(i);
      return;
    }
    plan_.tail_jumps += tail;
    if (insn.flow == Flow::jump)
      plan_.changes.push_back({i, Form::jump, tail, import});
    else if (insn.flow == Flow::jump_if)
      plan_.changes.push_back({i, tail ? Form::tail_call_if : Form::jump_if, false, import});
    else
      plan_.changes.push_back({i, tail ? Form::tail_call_if_short : Form::jump_if_short_far, false, import});
  }

  void find_end() {
    const Flow last = code_.insns.back().flow;
    const bool calls = last == Flow::call || last == Flow::call_indirect;
    const bool may_run_on = last == Flow::next || last == Flow::jump_if || last == Flow::jump_if_short;
    plan_.falls_off = calls || may_run_on;
    plan_.leave_hook_at_end = hooked_ && may_run_on && runs_into_function(program_, range_);
    plan_.tail_jumps += plan_.leave_hook_at_end;
  }

  // Computes where everything is in the copy, with the changes known so far.
  void place() {
    at_.resize(code_.insns.size() + 1);
    uint32_t offset = 0;
    auto change = plan_.changes.begin();
    const std::span<const CounterPlace> counters =
        plan_.counters ? std::span(*plan_.counters) : std::span<const CounterPlace>();
    auto counter = counters.begin();
    for (uint32_t i = 0; i < code_.insns.size(); ++i) {
      at_[i] = offset;
      if (i == plan_.enter_hook_before) offset = body_;
      if (counter != counters.end() && counter->insn == i) {
        offset += profld::length_of(*counter);
        ++counter;
      }
      if (change != plan_.changes.end() && change->insn == i) {
        if (program_.hooks_leave) offset += padding_of(code_.insns[i], *change, address(offset));
        offset += length_of(code_.insns[i], *change);
        if (change->form == Form::loop) {
          const RepeatedLoop& loop = *loop_of(plan_, i);
          offset += (loop.times - 1) * (offset - at_[loop.first]);
        }
        ++change;
      } else {
        offset += code_.insns[i].length;
      }
      if (const EdgeRecord* edge = edge_of(i); edge && !edge->is_taken) offset += profld::length_of(*edge);
    }
    at_.back() = offset;
  }

  std::vector<uint32_t> branches_too_far() const {
    const uint32_t hook = plan_.enter_hook_before;
    std::vector<uint32_t> too_far;
    for (uint32_t i : short_inside_) {
      const Insn& insn = code_.insns[i];
      const OldAddr target = code_.target(insn);
      const size_t covering = code_.covering(target);
      int64_t to = at_[covering] + int64_t(target - code_.address(code_.insns[covering]));
      if (hook != RangePlan::kNone && covering <= hook) to = body_;
      const int64_t end = (i == hook ? int64_t(body_) : int64_t(at_[i])) + length_of_counter(i) + insn.length;
      if (!reaches_short(to - end)) too_far.push_back(i);
    }
    return too_far;
  }

  // Of the increment before an instruction; 0 if there is none.
  uint32_t length_of_counter(uint32_t insn) const {
    if (!plan_.counters) return 0;
    const auto counter = std::ranges::lower_bound(*plan_.counters, insn, {}, &CounterPlace::insn);
    if (counter == plan_.counters->end() || counter->insn != insn) return 0;
    return profld::length_of(*counter);
  }

  const EdgeRecord* edge_of(uint32_t insn) const {
    if (!plan_.edges) return nullptr;
    const auto edge = std::ranges::lower_bound(*plan_.edges, insn, {}, &EdgeRecord::insn);
    return edge != plan_.edges->end() && edge->insn == insn ? &*edge : nullptr;
  }

  void lengthen(const std::vector<uint32_t>& branches) {
    for (uint32_t i : branches) {
      const Flow flow = code_.insns[i].flow;
      const Form form = flow == Flow::jump      ? Form::jump
                        : flow == Flow::jump_if ? Form::jump_if
                                                : Form::jump_if_short_far;
      const auto place = std::ranges::lower_bound(plan_.changes, i, {}, &Change::insn);
      plan_.changes.insert(place, {i, form, false});
    }
    std::erase_if(short_inside_, [&](uint32_t i) { return std::ranges::binary_search(branches, i); });
  }

  std::vector<RangeCopy::Loop> loops() const {
    std::vector<RangeCopy::Loop> loops;
    if (!plan_.loops) return loops;
    for (const RepeatedLoop& loop : *plan_.loops) {
      uint32_t end = at_[loop.last + 1];
      if (const EdgeRecord* edge = edge_of(loop.last)) end -= profld::length_of(*edge);
      loops.push_back({at_[loop.first], (end - at_[loop.first]) / loop.times, loop.times});
    }
    return loops;
  }

  std::vector<RangeCopy::Step> steps() const {
    std::vector<RangeCopy::Step> steps{{0, 0}};
    for (uint32_t i = 1; i <= code_.insns.size(); ++i) {
      const uint32_t old = i < code_.insns.size() ? code_.insns[i].offset : uint32_t(range_.range.size());
      if (at_[i] - old != steps.back().delta) steps.push_back({old, at_[i] - old});
    }
    return steps;
  }

  const Program& program_;
  const CodeRange& range_;
  const Code& code_;
  const bool hooked_;
  RangePlan plan_;
  std::vector<uint32_t> short_inside_;  // branches within the range that are short so far
  std::vector<uint32_t> at_;  // offset of each instruction in the copy, with what stands before it; last: the end
  uint32_t body_ = 0;         // offset of the first instruction after the entry hook
  uint64_t start_ = range_.range.start.value;  // address of the copy, modulo 64
};

}  // namespace

RangePlan plan_copy(const Program& program, uint32_t index, bool hooked, RangeCopy& copy,
                    const BlockCounters* counters) {
  return Planner(program, index, hooked, counters).plan(copy);
}

const RepeatedLoop* loop_of(const RangePlan& plan, uint32_t insn) {
  if (!plan.loops) return nullptr;
  const auto loop = std::ranges::lower_bound(*plan.loops, insn, {}, &RepeatedLoop::last);
  return loop != plan.loops->end() && loop->first <= insn ? &*loop : nullptr;
}

uint32_t records_of(const RangePlan& plan) {
  const auto is_record = [](const auto& place) { return place.record.has_value(); };
  size_t records = 0;
  if (plan.edges) records += size_t(std::ranges::count_if(*plan.edges, is_record));
  if (plan.counters) records += size_t(std::ranges::count_if(*plan.counters, is_record));
  return uint32_t(records);
}

uint32_t length_of_taken_edges(const RangePlan& plan) {
  uint32_t length = 0;
  if (plan.edges)
    for (const EdgeRecord& edge : *plan.edges)
      if (edge.is_taken) length += length_of(edge) + kJumpLength;
  return length;
}

}  // namespace profld
