#include "pointer_state.h"

#include <algorithm>

namespace profld {

namespace {

constexpr uint8_t kWord = 8;
constexpr size_t kMostStackWords = 256;  // per state; about words that do not fit, nothing is known

}  // namespace

AddressSet met(AddressSet a, AddressSet b) {
  return a == b ? a : a != 0 && b != 0 && ((a | b) & kOfArguments) == 0 ? a | b : 0;
}

// A value that is added to a loaded pointer is an offset. (A pointer to a member function is either the function's
// address or, for a virtual function, the offset of its entry in the object's table.)
AddressSet sum(const PointerValue& a, const PointerValue& b) {
  const bool both = a.made_from != 0 && b.made_from != 0;
  return both || a.is_loaded() || b.is_loaded() ? 0 : a.made_from | b.made_from;
}

AddressSet PointerState::stack_word(const std::pair<uint32_t, int64_t>& at) const {
  const auto it = std::ranges::lower_bound(stack_words, at, {}, &StackWord::at);
  return it != stack_words.end() && it->at == at ? it->made_from : 0;
}

void PointerState::store(const PointerValue& address, uint8_t size, AddressSet made_from) {
  const auto from =
      std::ranges::upper_bound(stack_words, std::pair(address.frame, address.offset - kWord), {}, &StackWord::at);
  const auto to =
      std::ranges::lower_bound(stack_words, std::pair(address.frame, address.offset + size), {}, &StackWord::at);
  const auto place = stack_words.erase(from, to);
  if (made_from != 0 && size == kWord && stack_words.size() < kMostStackWords)
    stack_words.insert(place, {address.place(), made_from});
}

template <class Join>
bool PointerState::merge_with(const PointerState& other, Join join) {
  bool changed = false;
  for (uint8_t r = 0; r < kRegisters; ++r) {
    PointerValue& here = registers[r];
    const PointerValue& there = other.registers[r];
    changed |= join(here.made_from, there.made_from);
    if (here.frame == 0 || here.place() == there.place()) continue;
    here.forget_place();
    changed = true;
  }
  for (StackWord& s : stack_words) changed |= join(s.made_from, other.stack_word(s.at));
  return changed;
}

bool PointerState::merge(const PointerState& other, AddressSet& lost) {
  const bool changed = merge_with(other, [&](AddressSet& here, AddressSet there) {
    const AddressSet before = here;
    here = met(here, there);
    if (here == 0) lost |= before | there;
    return here != before;
  });
  std::erase_if(stack_words, [](const StackWord& s) { return s.made_from == 0; });
  return changed;
}

bool PointerState::unite(const PointerState& other) {
  for (const StackWord& s : other.stack_words)
    if (stack_word(s.at) == 0 && stack_words.size() < kMostStackWords)
      stack_words.insert(std::ranges::lower_bound(stack_words, s.at, {}, &StackWord::at), {s.at, 0});
  return merge_with(other, [](AddressSet& here, AddressSet there) {
    const bool changed = (there & ~here) != 0;
    here |= there;
    return changed;
  });
}

bool PointerState::has_addresses() const {
  return !stack_words.empty() || std::ranges::any_of(registers, [](const PointerValue& v) { return v.made_from != 0; });
}

}  // namespace profld
