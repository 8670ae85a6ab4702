#include "emit.h"

#include <algorithm>

#include "linker-rewrite/program/fragments.h"

namespace profld {

namespace {

class Emitter {
 public:
  Emitter(const Program& program, const CopyMap& copies, HookSlots hook_slots, const ImportThunks& thunks,
          const RangePlan& plan, const RangeCopy& copy, std::vector<AddressChange> addresses, uint8_t* out)
      : program_(program),
        copies_(copies),
        hook_slots_(hook_slots),
        thunks_(thunks),
        plan_(plan),
        copy_(copy),
        code_(program.code(program.ranges[plan.range])),
        addresses_(std::move(addresses)),
        out_(out, copy.start) {
    std::ranges::sort(addresses_, {}, &AddressChange::insn);
  }

  void emit() {
    for (const Change& change : plan_.changes) {
      unchanged_up_to(change.insn);
      if (next_ == plan_.enter_hook_before) out_.call_through(hook_slots_.enter);
      const bool conditional = change.form == Form::tail_call_if || change.form == Form::tail_call_if_short;
      if (change.counts_import() && !conditional) out_.call(thunks_.count(change.import));
      if (change.leave_hook) out_.call_through(hook_slots_.leave);
      if (change.form == Form::import_call) out_.call(thunks_.enter(change.import));
      if (change.form == Form::hook_only || change.form == Form::import_call)
        unchanged(next_, next_ + 1);
      else
        changed(code_.insns[next_], change);
      if (change.form == Form::import_call) out_.call(thunks_.leave());
      ++next_;
    }
    unchanged_up_to(uint32_t(code_.insns.size()));
    if (plan_.leave_hook_at_end) out_.call_through(hook_slots_.leave);
    if (plan_.falls_off) {
      const OldAddr next = copy_.original.end;
      out_.jump(plan_.leave_hook_at_end ? copies_.call_target(next) : jump_target(next));
    }
    if (out_.size() != copy_.size) throw Error("internal error: a copy has not the length it was planned with");
  }

 private:
  NewAddr jump_target(OldAddr target) const {
    return copy_.original.contains(target) ? copy_.body_address(target) : copies_.jump_target(target);
  }

  bool is_tail(const Insn& insn) const {
    return is_tail_call(program_, program_.ranges[plan_.range], code_.address(insn), code_.target(insn));
  }

  // The end of a tail call that stands behind a condition: the jump, and what is called before it.
  static uint32_t length_of_tail(const Change& change) {
    return (change.counts_import() ? kCallLength : 0) + kHookLength + kJumpLength;
  }
  void tail(const Change& change, NewAddr target) {
    if (change.counts_import()) out_.call(thunks_.count(change.import));
    out_.call_through(hook_slots_.leave);
    out_.jump(target);
  }

  // A branch.
  void changed(const Insn& insn, const Change& change) {
    const ByteView original = code_.bytes_of(insn);
    const ByteView prefixes = original.first(insn.prefixes), head = original.first(insn.field);
    const Condition condition = condition_of(head.back());
    const NewAddr jump_to = jump_target(code_.target(insn));
    // A tail call enters the function, hook included.
    const NewAddr call_to = copies_.call_target(code_.target(insn));
    switch (change.form) {
      case Form::hook_only:
      case Form::import_call:
        break;
      case Form::jump:
        out_.copy(prefixes);
        out_.jump(is_tail(insn) ? call_to : jump_to);
        break;
      case Form::jump_if:
        out_.copy(prefixes);
        out_.jump_if(condition, jump_to);
        break;
      case Form::jump_if_short_far:
        out_.branch_over(head, kShortJumpLength);
        out_.jump_over(kJumpLength);
        out_.jump(jump_to);
        break;
      case Form::tail_call_if:
        out_.jump_over_if(negated(condition), length_of_tail(change));
        tail(change, call_to);
        break;
      case Form::tail_call_if_short:
        out_.branch_over(head, kShortJumpLength);
        out_.jump_over(length_of_tail(change));
        tail(change, call_to);
        break;
    }
  }

  // Copies everything up to the next change as it is, and puts the entry hook in.
  void unchanged_up_to(uint32_t end) {
    if (next_ <= plan_.enter_hook_before && plan_.enter_hook_before < end) {
      unchanged(next_, plan_.enter_hook_before);
      out_.call_through(hook_slots_.enter);
      next_ = plan_.enter_hook_before;
    }
    unchanged(next_, end);
    next_ = end;
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
                                                                      : jump_target(target)));
      else
        *field = uint8_t(displacement(next, jump_target(target)));
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
  const RangePlan& plan_;
  const RangeCopy& copy_;
  const Code& code_;
  std::vector<AddressChange> addresses_;
  size_t address_ = 0;  // the next of them
  uint32_t next_ = 0;   // the next instruction
  InstructionWriter out_;
};

}  // namespace

void emit_copy(const Program& program, const CopyMap& copies, HookSlots hook_slots, const ImportThunks& thunks,
               const RangePlan& plan, const RangeCopy& copy, std::vector<AddressChange> changes, uint8_t* out) {
  Emitter(program, copies, hook_slots, thunks, plan, copy, std::move(changes), out).emit();
}

}  // namespace profld
