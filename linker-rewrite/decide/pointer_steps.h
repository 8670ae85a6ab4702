// What one instruction does to what is known of addresses, and which uses of them it is.

#ifndef LINKER_REWRITE_DECIDE_POINTER_STEPS_H
#define LINKER_REWRITE_DECIDE_POINTER_STEPS_H

#include <set>
#include <utility>
#include <vector>

#include "linker-rewrite/jumps/instructions.h"
#include "pointer_flow.h"
#include "pointer_state.h"

namespace profld {

class PointerSteps {
 public:
  // Of Followed::addresses those from `first` on, as many as a set has room for. All but `uses` must outlive it; that
  // gets the uses while notes_uses says so (of How::kept always).
  PointerSteps(const Program& program, const Group& group, const Instructions& code, const Followed& followed,
               size_t first, std::vector<AddressUse>& uses);

  using How = AddressUse::How;
  bool notes_uses = false;

  // True if the instruction names one of the addresses.
  bool names_address(uint32_t insn) const;
  // The memory operand of any instruction, before what else that does.
  void access(const PointerState& state, uint32_t insn);
  void step(PointerState& state, uint32_t insn);
  // A call.
  void call(PointerState& state, uint32_t insn);
  // Control leaves the function, or goes on in a place unknown.
  void jump_away(const PointerState& state, uint32_t insn);
  // A return.
  void returns(const PointerState& state, uint32_t insn);
  void use(How how, AddressSet set, uint32_t insn, const AddressUse& details = {});
  // A number for a part of the stack that is different from those of other instructions.
  uint32_t frame_made_by(uint32_t insn) const { return code_.count() + insn + 1; }

 private:
  // The number of the set's element that stands for the address `a`; none if it is not followed.
  AddressSet named(OldAddr a) const;
  // At a fixed address.
  bool may_be_address(int64_t number) const;
  AddressSet immediate(const Semantics& op) const;
  // Words lie at even addresses. An odd displacement is that of a pointer with a tag in its lowest bit: of a virtual
  // member function, or of a descriptor in Ada; such a bit is what tells them from the address of a function.
  static bool takes_off_tag(const Semantics& op);
  // What the address of the memory operand is made from.
  AddressSet memory(const PointerState& state, const Semantics& op) const;
  PointerValue place_of_memory(const PointerState& state, const Memory& m) const;
  static bool is_through_pointer(const PointerState& state, const Memory& m);
  // What the second operand is made from.
  AddressSet source(const PointerState& state, const Semantics& op) const;
  // The same of a source that is cut off, where the low four bytes of an address are all of it.
  AddressSet half_of_source(const PointerState& state, const Semantics& op) const;
  FollowedAddress number(AddressSet set) const;
  void bound(AddressSet a, AddressSet b, uint32_t insn);
  // Of a length, if it makes sense as one.
  static uint64_t extent(int64_t length);
  void pass(const PointerState& state, uint32_t insn);
  void keep(const PointerState& state, uint32_t insn, uint16_t registers);
  void store(PointerState& state, const Semantics& op, AddressSet stored, uint8_t size, uint32_t insn);
  void set(PointerState& state, const Semantics& op, PointerValue value, uint32_t insn);
  void push(PointerState& state, AddressSet pushed, uint32_t insn);
  PointerValue pop(PointerState& state);
  void add(PointerState& state, const Semantics& op, uint32_t insn);
  // inc or dec of eight bytes, add to memory or sub from it: a pointer goes on being one.
  bool is_step(uint32_t insn) const;
  void other(PointerState& state, const Semantics& op, uint32_t insn);
  // True if the function reads the word of the stack that this names, in the same way.
  bool is_read_again(const Memory& m);

  const Program& program_;
  const Group& group_;
  const Instructions& code_;
  const Followed& followed_;
  const std::vector<OldAddr>& addresses_;  // Followed::addresses
  const size_t first_;                     // of them that is followed
  std::vector<AddressUse>& uses_;
  bool catches_ = false;  // calls may be left by an exception, for a place that is not followed
  std::set<std::pair<uint8_t, int64_t>> stack_words_read_;  // by base register and displacement
};

}  // namespace profld

#endif
