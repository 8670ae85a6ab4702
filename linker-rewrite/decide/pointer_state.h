// What the dataflow of addresses (pointer_flow.cc) knows at one place of a function.

#ifndef LINKER_REWRITE_DECIDE_POINTER_STATE_H
#define LINKER_REWRITE_DECIDE_POINTER_STATE_H

#include <array>
#include <utility>
#include <vector>

#include "linker-rewrite/x86/semantics.h"
#include "pointer_flow.h"

namespace profld {

// A set of followed addresses, a bit for each; the first six are the function's arguments. What has a set is made from
// one of them for certain. Of what has none, nothing is known.
using AddressSet = uint64_t;
inline constexpr unsigned kMostAddresses = 64;
inline constexpr AddressSet kOfArguments = (AddressSet(1) << kArguments) - 1;

// Of a value that is one or the other. An argument meets only itself: if it seems to meet something else, it is likely
// that one of the two ways is none, behind a call that does not return.
AddressSet met(AddressSet a, AddressSet b);

struct PointerValue {
  AddressSet made_from = 0;
  // What it is, if not 0: the address `offset` bytes from a place in the stack that only this number tells; or kNumber,
  // the number `offset`; or kLoaded, a word of memory that a pointer led to.
  uint32_t frame = 0;
  int64_t offset = 0;

  static constexpr uint32_t kNumber = UINT32_MAX, kLoaded = UINT32_MAX - 1;
  bool is_number() const { return frame == kNumber; }
  bool is_loaded() const { return frame == kLoaded; }
  bool is_on_stack() const { return frame != 0 && frame < kLoaded; }
  std::pair<uint32_t, int64_t> place() const { return {frame, offset}; }
  void forget_place() { frame = 0, offset = 0; }
};

// What the sum of two is made from.
AddressSet sum(const PointerValue& a, const PointerValue& b);

struct PointerState {
  struct StackWord {
    std::pair<uint32_t, int64_t> at;  // frame and offset
    AddressSet made_from;
  };
  std::array<PointerValue, kRegisters> registers;
  std::vector<StackWord> stack_words;  // 8 bytes of stack each; sorted; those of which something is known

  // The word at an address on the stack.
  AddressSet stack_word(const std::pair<uint32_t, int64_t>& at) const;
  // `size` bytes there.
  void store(const PointerValue& address, uint8_t size, AddressSet made_from);
  // Joins what holds on another way to the same place. True if that changed anything. To `lost` are added the addresses
  // that one of the two knew a value to be made from, and that are known no longer.
  bool merge(const PointerState& other, AddressSet& lost);
  // The same, but a value may be made from what either says, even if the other knows nothing of it.
  bool unite(const PointerState& other);
  bool has_addresses() const;

 private:
  template <class Join>
  bool merge_with(const PointerState& other, Join join);
};

}  // namespace profld

#endif
