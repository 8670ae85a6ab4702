#include "emit.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "linker-rewrite/program/fragments.h"

namespace profld {

namespace {

class Emitter {
 public:
  Emitter(const Program& program, const CopyMap& copies, HookSlots hook_slots, const ImportThunks& thunks,
          const CounterWords& counters, const RangePlan& plan, const RangeCopy& copy,
          std::vector<AddressChange> addresses, uint8_t* out, std::vector<NewAddr>* exits)
      : program_(program),
        copies_(copies),
        hook_slots_(hook_slots),
        thunks_(thunks),
        counters_(counters),
        plan_(plan),
        copy_(copy),
        code_(program.code(program.ranges[plan.range])),
        addresses_(std::move(addresses)),
        exits_(exits),
        out_(out, copy.start) {
    std::ranges::sort(addresses_, {}, &AddressChange::insn);
  }

  std::vector<Patch> emit() {
    emit_up_to(uint32_t(code_.insns.size()));
    const OldAddr next = copy_.original.end;
    const Leaving at_end = tail_call(next);
    if (plan_.leave_hook_at_end) leave_hook(at_end.hook);
    if (plan_.falls_off) out_.jump(plan_.leave_hook_at_end ? at_end.target : jump_target(next));
    taken_edges();
    for (const Written& record : written_) write_full_window(out_, record.code, counters_.trace, record.back);
    if (out_.size() != copy_.size) throw internal_error("a copy has not the length it was planned with");
    return std::move(relocated_);
  }

 private:
  void emit_up_to(uint32_t end) {
    for (; change_ < plan_.changes.size() && plan_.changes[change_].insn < end; ++change_) {
      const Change& change = plan_.changes[change_];
      unchanged_up_to(change.insn);
      begin_insn();
      const bool conditional = change.form == Form::tail_call_if || change.form == Form::tail_call_if_short;
      if (change.counts_import() && !conditional) out_.call(thunks_.count(change.import));
      if (change.leave_hook) leave_hook(leaving(code_.insns[next_], change).hook);
      if (change.form == Form::import_call) {
        if (program_.hooks_leave) out_.nops(padding_of_import_call(out_.here().value, code_.insns[next_].length));
        out_.call(thunks_.enter(change.import));
      }
      if (change.form == Form::hook_only || change.form == Form::import_call)
        unchanged(next_, next_ + 1);
      else if (change.form == Form::task_call)
        write_task_call(out_, hook_slots_.task);
      else
        changed(code_.insns[next_], change);
      if (change.form == Form::import_call) out_.call(thunks_.leave());
      ++next_;
      end_insn();
    }
    unchanged_up_to(end);
  }

  // Of a jump at next_, or of the instruction there.
  NewAddr jump_target(OldAddr target) const { return jump_target(target, next_); }
  NewAddr jump_target(OldAddr target, uint32_t from) const {
    if (!copy_.original.contains(target)) return copies_.jump_target(target);
    const NewAddr to = copy_.body_address(target);
    const RepeatedLoop* const loop = loop_of(plan_, from);
    if (!loop || target < code_.address(code_.insns[loop->first]) || target > code_.address(code_.insns[loop->last]))
      return to;
    // In the same time, or at the start of the next.
    const RangeCopy::Loop& copied = copy_.loops[size_t(loop - plan_.loops->data())];
    const bool goes_on = target == code_.address(code_.insns[loop->first]);
    return to + uint64_t((time_ + goes_on) % loop->times) * copied.size;
  }

  // The jump at the end of a loop, and the loop's later times, which begin after it. At last all is as after a jump
  // that stands once: what is counted on the way after it comes next.
  void loop(const Change& change) {
    const RepeatedLoop& loop = *loop_of(plan_, change.insn);
    const RangeCopy::Loop& copied = copy_.loops[size_t(&loop - plan_.loops->data())];
    const NewAddr end = copy_.start + copied.offset + uint64_t(loop.times) * copied.size;
    const Insn& jump = code_.insns[loop.last];
    const Condition condition = condition_of(code_.bytes_of(jump)[jump.field - 1]);
    const auto first_of = [&](const auto* list) {
      return list ? size_t(std::ranges::lower_bound(*list, loop.first, {}, [](const auto& at) { return at.insn; }) -
                           list->begin())
                  : 0;
    };
    const auto after = std::tuple(change_, counter_, edge_, address_);
    while (time_ + 1 < loop.times) {
      jump.flow == Flow::jump_if ? out_.jump_if(negated(condition), end) : out_.nop_for_jump();
      ++time_;
      next_ = loop.first;
      change_ = first_of(&plan_.changes);
      counter_ = first_of(plan_.counters);
      edge_ = first_of(plan_.edges);
      address_ = first_of(&addresses_);
      emit_up_to(loop.last);
      begin_insn();
    }
    const NewAddr start = jump_target(code_.target(jump));
    jump.flow == Flow::jump_if ? out_.jump_if(condition, start) : out_.jump(start);
    time_ = 0;
    std::tie(change_, counter_, edge_, address_) = after;
  }

  bool is_tail(const Insn& insn) const {
    return is_tail_call(program_, program_.ranges[plan_.range], code_.address(insn), code_.target(insn));
  }

  // The hook with which a function is left, and where the jump after it leads, if it is a direct one.
  struct Leaving {
    NewAddr hook, target;
  };

  // By a direct tail call.
  Leaving tail_call(OldAddr target) const {
    if (program_.hooks_leave) return {hook_slots_.leave, copies_.call_target(target)};
    const RangeCopy* c = copies_.find(target);
    if (c && target == c->original.start && c->body != 0) return {hook_slots_.tail, c->start + c->body};
    const bool stays = c || program_.range_of(target) >= 0;
    return {stays ? hook_slots_.leave : hook_slots_.jump, copies_.call_target(target)};
  }

  // By an instruction with a hook.
  Leaving leaving(const Insn& insn, const Change& change) const {
    const bool is_direct = change.form != Form::hook_only;
    const NewAddr target = is_direct ? copies_.call_target(code_.target(insn)) : NewAddr();
    if (insn.flow == Flow::ret || change.counts_import() || program_.hooks_leave) return {hook_slots_.leave, target};
    if (!is_direct) return {hook_slots_.jump, target};
    // _proftail reads the jump, which it expects without prefixes.
    if (insn.flow == Flow::jump && insn.prefixes != 0) return {hook_slots_.jump, target};
    return tail_call(code_.target(insn));
  }

  // What leaves the function.
  void leave_hook(NewAddr hook) {
    if (program_.hooks_leave) out_.nops(padding_of_hook(out_.here().value));
    out_.call_through(hook);
    if (exits_ && program_.hooks_leave) exits_->push_back(out_.here());
  }

  // The end of a tail call that stands after a condition, and after a short jump that leads over it: the jump, and what
  // is called before it.
  uint32_t length_of_tail(const Change& change) const {
    const uint32_t padding = program_.hooks_leave ? padding_of_hook((out_.here() + kShortJumpLength).value) : 0;
    return (change.counts_import() ? kCallLength : 0) + padding + kHookLength + kJumpLength;
  }
  void tail(const Change& change, const Leaving& leaving) {
    if (change.counts_import()) out_.call(thunks_.count(change.import));
    leave_hook(leaving.hook);
    out_.jump(leaving.target);
  }

  // A branch.
  void changed(const Insn& insn, const Change& change) {
    const ByteView original = code_.bytes_of(insn);
    const ByteView prefixes = original.first(insn.prefixes), head = original.first(insn.field);
    const Condition condition = condition_of(head.back());
    const NewAddr jump_to = jump_target(code_.target(insn));
    // A tail call enters the function, hook included, unless another hook does the work of that.
    const Leaving left = leaving(insn, change);
    switch (change.form) {
      case Form::hook_only:
      case Form::import_call:
      case Form::task_call:
        break;
      case Form::jump:
        out_.copy(prefixes);
        out_.jump(change.leave_hook ? left.target : is_tail(insn) ? copies_.call_target(code_.target(insn)) : jump_to);
        break;
      case Form::jump_if:
        out_.copy(prefixes);
        out_.jump_if(condition, has_edge(next_, true) ? taken_edge() : jump_to);
        break;
      case Form::jump_if_short_far:
        out_.branch_over(head, kShortJumpLength);
        out_.jump_over(kJumpLength);
        out_.jump(jump_to);
        break;
      case Form::tail_call_if:
        out_.jump_over_if(negated(condition), length_of_tail(change));
        tail(change, left);
        break;
      case Form::tail_call_if_short:
        out_.branch_over(head, kShortJumpLength);
        out_.jump_over(length_of_tail(change));
        tail(change, left);
        break;
      case Form::loop:
        loop(change);
        break;
    }
  }

  // Puts in what stands before the next instruction.
  void begin_insn() {
    if (next_ == plan_.enter_hook_before) {
      if (copy_.start + copy_.body != out_.here() + kHookLength) out_.prefix_without_meaning();
      out_.call_through(hook_slots_.enter);
    }
    if (!counts_before(next_)) return;
    const CounterPlace& counter = (*plan_.counters)[counter_];
    ++counter_;
    if (counter.record) return record(*counter.record, counter.number, next_record_++);
    count(number_of(counter), counter.increment);
    out_.copy(counter.again);
  }
  // Puts in what stands after the instruction before the next.
  void end_insn() {
    if (has_edge(next_ - 1, false)) {
      const EdgeRecord& edge = (*plan_.edges)[edge_];
      ++edge_;
      if (edge.record)
        record(*edge.record, edge.number, next_record_++);
      else
        count(number_of(edge), edge.increment);
    }
  }
  // The counter of this time.
  template <class Place>
  uint32_t number_of(const Place& place) const {
    return time_ == 0 ? place.number : place.later + time_ - 1;
  }
  void count(uint32_t number, Increment increment) {
    if (counters_.increments) counters_.increments[number] = out_.here();
    if (increment == Increment::of_process_alone)
      out_.room_for_prefixes();
    else if (increment != Increment::of_thread)
      out_.lock();
    const NewAddr counter = counters_.first_counter + uint64_t(number) * sizeof(uint64_t);
    if (increment == Increment::of_thread || increment == Increment::of_thread_locked)
      out_.count_of_thread(counter);
    else
      out_.count(counter);
  }
  // `index`: of the code for its full window.
  void record(const RecordCode& code, uint32_t number, uint32_t index) {
    constexpr uint32_t kFirst = 1;  // of the numbers in records: 0 is what was not written yet
    const NewAddr full = copy_.start + (copy_.size - (written_.size() - index) * kFullWindowLength);
    written_[index] = {code, write_record(out_, code, number + kFirst, counters_.trace, full)};
  }
  bool has_edge(uint32_t insn, bool is_taken) const {
    return plan_.edges && edge_ < plan_.edges->size() && (*plan_.edges)[edge_].insn == insn &&
           (*plan_.edges)[edge_].is_taken == is_taken;
  }

  // Where a jump leads whose way to its target has a record; the code there is written at the end.
  NewAddr taken_edge() {
    const NewAddr at = copy_.start + (copy_.size - copy_.out_of_line + taken_length_);
    const EdgeRecord& edge = (*plan_.edges)[edge_];
    taken_length_ += length_of(edge) + kJumpLength;
    taken_.push_back({&edge, edge.record ? next_record_++ : 0});
    ++edge_;
    return at;
  }
  void taken_edges() {
    for (const auto& [edge, index] : taken_) {
      if (edge->record)
        record(*edge->record, edge->number, index);
      else
        count(edge->number, edge->increment);
      out_.jump(jump_target(code_.target(code_.insns[edge->insn])));
    }
  }
  bool counts_before(uint32_t insn) const {
    return plan_.counters && counter_ < plan_.counters->size() && (*plan_.counters)[counter_].insn == insn;
  }

  // Copies everything up to the next change as it is, and puts the entry hook and increments in.
  void unchanged_up_to(uint32_t end) {
    while (next_ < end) {
      begin_insn();
      uint32_t stop = end;
      if (next_ < plan_.enter_hook_before) stop = std::min(stop, plan_.enter_hook_before);
      if (plan_.counters && counter_ < plan_.counters->size()) stop = std::min(stop, (*plan_.counters)[counter_].insn);
      if (plan_.edges && edge_ < plan_.edges->size()) stop = std::min(stop, (*plan_.edges)[edge_].insn + 1);
      unchanged(next_, stop);
      next_ = stop;
      end_insn();
    }
  }

  // Copies the instructions [first, end) and corrects the distances and addresses in them.
  void unchanged(uint32_t first, uint32_t end) {
    if (first == end) return;
    const Insn& last = code_.insns[end - 1];
    const uint32_t from = code_.insns[first].offset;
    uint8_t* const copy = out_.out() - from;  // of the range's first byte
    const NewAddr copy_at = out_.here() - from;
    out_.copy(code_.bytes.subspan(from, last.offset + last.length - from));
    for (uint32_t i = first; i < end; ++i) {
      const Insn& insn = code_.insns[i];
      if (insn.field_size == 0) continue;
      uint8_t* const field = copy + insn.offset + insn.field;
      const NewAddr next = copy_at + insn.offset + insn.length;
      const OldAddr target = code_.target(insn);
      if (insn.rip_relative)
        write_field(field, displacement(next, unmoved(target)));
      else if (insn.field_size == 4)
        write_field(field, displacement(next, insn.flow == Flow::call ? copies_.call_target(target)  //
                                                                      : jump_target(target, i)));
      else
        *field = uint8_t(displacement(next, jump_target(target, i)));
    }
    const OldRange original{code_.range.start + from, code_.next(last)};
    for (const auto& [where, index] : program_.image->relocations_in(original)) {
      Patch p{program_.image->relocations()[index].addend_at - offsetof(Elf64_Rela, r_addend), {}};
      append(p.bytes, (copy_at + (where - code_.range.start)).value);
      relocated_.push_back(std::move(p));
    }
    for (; address_ < addresses_.size() && addresses_[address_].insn < end; ++address_) {
      const AddressChange& a = addresses_[address_];
      if (a.insn < first) continue;
      const Insn& insn = code_.insns[a.insn];
      const NewAddr next = copy_at + insn.offset + insn.length;
      write_field(copy + insn.offset + a.field,
                  a.rip_relative ? displacement(next, a.address) : int32_t(a.address.value));
    }
  }

  const Program& program_;
  const CopyMap& copies_;
  const HookSlots hook_slots_;
  const ImportThunks& thunks_;
  const CounterWords counters_;
  const RangePlan& plan_;
  const RangeCopy& copy_;
  const Code& code_;
  std::vector<AddressChange> addresses_;
  size_t address_ = 0;  // the next of them
  size_t change_ = 0;   // the next change
  uint32_t next_ = 0;   // the next instruction
  uint32_t time_ = 0;   // of the loop that it is in
  size_t counter_ = 0;  // the next increment
  size_t edge_ = 0;     // the next record on a way from a jump
  struct TakenEdge {
    const EdgeRecord* edge;
    uint32_t index;  // of the record, if it is one
  };
  std::vector<TakenEdge> taken_;  // those that jumps so far lead to first
  uint32_t taken_length_ = 0;     // of their code
  uint32_t next_record_ = 0;      // in the order of their places
  struct Written {
    RecordCode code;
    NewAddr back;  // where the code for a full window goes on
  };
  std::vector<Written> written_ = std::vector<Written>(records_of(plan_));  // in the order of their places
  std::vector<Patch> relocated_;
  std::vector<NewAddr>* const exits_;
  InstructionWriter out_;
};

}  // namespace

std::vector<Patch> emit_copy(const Program& program, const CopyMap& copies, HookSlots hook_slots,
                             const ImportThunks& thunks, const CounterWords& counters, const RangePlan& plan,
                             const RangeCopy& copy, std::vector<AddressChange> changes, uint8_t* out,
                             std::vector<NewAddr>* exits) {
  return Emitter(program, copies, hook_slots, thunks, counters, plan, copy, std::move(changes), out, exits).emit();
}

namespace {

// Of each thunk, with what fills it up. Processors fetch code in blocks of sixteen bytes.
constexpr uint64_t kThunkSize = 16;
static_assert(2 * kHookLength + kReturnLength <= kThunkSize);

}  // namespace

void ImportThunks::place(const std::vector<Import>& imports, NewAddr at) {
  start_ = NewAddr(align_up(at.value, kThunkSize));
  places_.assign(imports.size(), {});
  NewAddr end = start_ + kThunkSize;
  bool any = false;
  auto next = [&] {
    any = true;
    end += kThunkSize;
    return end - kThunkSize;
  };
  for (size_t i = 0; i < imports.size(); ++i) {
    if (imports[i].is_called) places_[i].enter = next();
    if (imports[i].is_jumped_to) places_[i].count = next();
  }
  size_ = any ? end - start_ : 0;
}

void ImportThunks::write(HookSlots hook_slots, uint8_t* out) const {
  if (size_ == 0) return;
  auto thunk = [&](NewAddr at, bool enters, bool leaves) {
    if (at == NewAddr()) return;
    InstructionWriter writer(out + (at - start_), at);
    if (enters) writer.call_through(hook_slots.enter);
    if (leaves) writer.call_through(hook_slots.leave);
    writer.return_to_caller();
  };
  thunk(leave(), false, true);
  for (const Places& p : places_) {
    thunk(p.enter, true, false);
    thunk(p.count, true, true);
  }
}

std::vector<ImportCopy> ImportThunks::copies(const std::vector<Import>& imports) const {
  std::vector<ImportCopy> copies;
  for (size_t i = 0; i < imports.size(); ++i)
    for (NewAddr thunk : {places_[i].enter, places_[i].count})
      if (thunk != NewAddr())
        copies.push_back(
            {thunk, kThunkSize, imports[i].address, imports[i].has_stub ? kJumpThroughLength : 0, imports[i].name});
  return copies;
}

}  // namespace profld
