// The effect of one instruction on the state of followed addresses, and how it uses them.

#ifndef LINKER_REWRITE_DECIDE_POINTER_STEPS_H
#define LINKER_REWRITE_DECIDE_POINTER_STEPS_H

#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "linker-rewrite/jumps/instructions.h"
#include "linker-rewrite/x86/semantics.h"
#include "pointer_flow.h"

namespace profld {

// The state of the dataflow of addresses (pointer_flow.cc) at one place of a function.

// A set of followed addresses, a bit for each; the first six are the function's arguments. A value with such a set is
// certainly made from one of them. About a value with an empty set nothing is known.
using AddressSet = uint64_t;
inline constexpr unsigned kMaxAddresses = 64;
inline constexpr AddressSet kOfArguments = (AddressSet(1) << kArguments) - 1;

// The set of a value that is one or the other. An argument is joined only with itself: if it seems to meet another
// value, control probably never takes one of the two paths, after a call that does not return.
AddressSet met(AddressSet a, AddressSet b);

struct PointerValue {
  AddressSet made_from = 0;
  // 0: unknown. kNumber: it is the number `offset`. kLoaded: it was loaded through a pointer. kNamed: it is the address
  // `offset`, which an instruction names. Any other number stands for a place in the stack: it is the address `offset`
  // bytes from there.
  uint32_t frame = 0;
  int64_t offset = 0;

  static constexpr uint32_t kNumber = UINT32_MAX, kLoaded = UINT32_MAX - 1, kNamed = UINT32_MAX - 2;
  bool is_number() const { return frame == kNumber; }
  bool is_loaded() const { return frame == kLoaded; }
  bool is_named() const { return frame == kNamed; }
  bool is_on_stack() const { return frame != 0 && frame < kNamed; }
  std::pair<uint32_t, int64_t> place() const { return {frame, offset}; }
  void forget_place() { frame = 0, offset = 0; }
};

// The set of the sum of two values.
AddressSet sum(const PointerValue& a, const PointerValue& b);

struct PointerState {
  struct StackWord {
    std::pair<uint32_t, int64_t> at;  // frame and offset
    AddressSet made_from;
  };
  std::array<PointerValue, kRegisters> registers;
  std::vector<StackWord> stack_words;  // 8 bytes of stack each; sorted; only those about which something is known

  // The word at an address on the stack.
  AddressSet stack_word(const std::pair<uint32_t, int64_t>& at) const;
  // Writes `size` bytes there.
  void store(const PointerValue& address, uint8_t size, AddressSet made_from);
  // Joins the state on another path to the same place. True if that changed anything. Adds to `lost` the addresses that
  // were in a set of one of the two states and are in none any more.
  bool merge(const PointerState& other, AddressSet& lost);
  // The same, but a set is always the union of both, even if one of them is empty.
  bool unite(const PointerState& other);
  bool has_addresses() const;

 private:
  template <class Join>
  bool merge_with(const PointerState& other, Join join);
};

class PointerSteps {
 public:
  // Follows those of Followed::addresses from `first` on, as many as a set has room for. All arguments must outlive
  // this object. The uses are appended to `uses` while notes_uses is set (those of How::kept always).
  PointerSteps(const Program& program, const Group& group, const Instructions& code, const Followed& followed,
               size_t first, std::vector<AddressUse>& uses);

  using How = AddressUse::How;
  bool notes_uses = false;

  // True if the instruction names one of the addresses.
  bool names_address(uint32_t insn) const;
  // The set of the return address; empty if it is not followed.
  AddressSet return_address() const { return named(kReturnAddress); }
  // The effect of an instruction's memory operand; to be called before its other effects.
  void access(const PointerState& state, uint32_t insn);
  void step(PointerState& state, uint32_t insn);
  // A call.
  void call(PointerState& state, uint32_t insn);
  // Control leaves the function, or goes on in an unknown place.
  void jump_away(const PointerState& state, uint32_t insn);
  // Control goes on after the last instruction of a part: in another function, or nowhere.
  void run_on(const PointerState& state, uint32_t insn);
  // A return.
  void returns(const PointerState& state, uint32_t insn);
  void use(How how, AddressSet set, uint32_t insn, const AddressUse& details = {});
  // A number for a part of the stack that is different from those of other instructions.
  uint32_t frame_made_by(uint32_t insn) const { return code_.count() + insn + 1; }

 private:
  // The number of the bit in a set that stands for the address `a`; none if it is not followed.
  AddressSet named(OldAddr a) const;
  // At a fixed address.
  bool may_be_address(int64_t number) const;
  AddressSet immediate(const Semantics& op, uint32_t insn) const;
  // The set of a word of the linker, which a RIP-relative operand names.
  AddressSet in_word(const Semantics& op) const;
  // Words lie at even addresses. So an odd displacement belongs to a pointer with a tag in its lowest bit: to a virtual
  // member function, or to a descriptor in Ada. This bit distinguishes such a pointer from the address of a function.
  static bool takes_off_tag(const Semantics& op);
  // The value of the immediate operand.
  PointerValue constant(const Semantics& op, uint32_t insn) const;
  // The set of the memory operand's address.
  AddressSet memory(const PointerState& state, const Semantics& op) const;
  PointerValue place_of_memory(const PointerState& state, const Memory& m) const;
  static bool is_through_pointer(const PointerState& state, const Memory& m);
  // The set of the second operand.
  AddressSet source(const PointerState& state, const Semantics& op, uint32_t insn) const;
  // The same for a source of which only the low four bytes are used, if these are a whole address.
  AddressSet half_of_source(const PointerState& state, const Semantics& op) const;
  FollowedAddress number(AddressSet set) const;
  void bound(AddressSet a, AddressSet b, uint32_t insn);
  // A comparison of the first operand, or a subtraction from it.
  void order(const PointerState& state, const Semantics& op, uint32_t insn);
  // The two are compared, and nothing is known of one whose set is empty.
  void compare(AddressSet a, AddressSet b, AddressUse::Asked asked, uint32_t insn);
  // True if a comparison is about more than whether two values are the same.
  bool is_about_order(uint32_t comparison) const;
  // The number, if it makes sense as a length.
  static uint64_t extent(int64_t length);
  // The function that an instruction calls, or jumps to, through a register, if its address was put there in this
  // function (-mcmodel=large).
  std::optional<OldAddr> function_in_register(const PointerState& state, uint32_t insn) const;
  void pass(const PointerState& state, uint32_t insn, std::optional<OldAddr> runs_on_to = std::nullopt);
  void keep(const PointerState& state, uint32_t insn, uint16_t registers);
  void store(PointerState& state, const Semantics& op, AddressSet stored, uint8_t size, uint32_t insn);
  void set(PointerState& state, const Semantics& op, PointerValue value, uint32_t insn);
  void push(PointerState& state, AddressSet pushed, uint32_t insn);
  PointerValue pop(PointerState& state);
  // Whether the sum of an address and a number is no address of code: with -mcmodel=large, code finds the global offset
  // table by its distance from a place in the code.
  bool leads_out_of_code(const PointerValue& address, const PointerValue& number) const;
  void add(PointerState& state, const Semantics& op, uint32_t insn);
  // inc or dec of eight bytes, add to memory or sub from it: a pointer remains a pointer.
  bool is_step(uint32_t insn) const;
  void other(PointerState& state, const Semantics& op, uint32_t insn);
  // True if the instruction reads the type of a function only (type_checks.cc).
  bool reads_type(uint32_t insn);
  // True if the function reads the word of the stack that this operand names, by the same register and displacement.
  bool is_read_again(const Memory& m);

  const Program& program_;
  const Group& group_;
  const Instructions& code_;
  const Followed& followed_;
  const std::vector<OldAddr>& addresses_;  // Followed::addresses
  const OldRange words_;                   // of the linker
  const size_t first_;                     // the first of them that is followed
  std::vector<AddressUse>& uses_;
  bool catches_ = false;                          // calls may be left by an exception, for a place that is not followed
  std::map<uint32_t, OldAddr> relocated_;         // instructions with a number that is relocated, and what it will be
  std::optional<std::set<uint32_t>> type_reads_;  // instructions that read the types of functions, once it is asked for
  std::set<std::pair<uint8_t, int64_t>> stack_words_read_;  // by base register and displacement
};

}  // namespace profld

#endif
