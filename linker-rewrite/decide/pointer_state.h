// The state of the dataflow of addresses (pointer_flow.cc) at one place of a function.

#ifndef LINKER_REWRITE_DECIDE_POINTER_STATE_H
#define LINKER_REWRITE_DECIDE_POINTER_STATE_H

#include <array>
#include <utility>
#include <vector>

#include "linker-rewrite/x86/semantics.h"
#include "pointer_flow.h"

namespace profld {

// A set of followed addresses, a bit for each; the first six are the function's arguments. A value with such a set is
// certainly made from one of them. About a value with an empty set nothing is known.
using AddressSet = uint64_t;
inline constexpr unsigned kMostAddresses = 64;
inline constexpr AddressSet kOfArguments = (AddressSet(1) << kArguments) - 1;

// The set of a value that is one or the other. An argument is joined only with itself: if it seems to meet another
// value, control probably never takes one of the two paths, behind a call that does not return.
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

}  // namespace profld

#endif
