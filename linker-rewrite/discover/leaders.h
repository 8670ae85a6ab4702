// Where the blocks of a body begin (its leaders), and what the stack looks like there. Bodies are explored by the million, most
// of them small, and each instruction asks whether it is a leader. So there is a bit for each byte, few allocations, and the
// memory of one body serves the next.

#ifndef LINKER_REWRITE_DISCOVER_LEADERS_H
#define LINKER_REWRITE_DISCOVER_LEADERS_H

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "stack_state.h"

namespace profld {

struct Leader {
  StackState state;
  bool only_jumped_to = true;           // with the stack as at the entry
  bool is_pending = false;              // see Leaders::take
  std::optional<uint32_t> behind_call;  // control comes straight from this call, and on no other path
};

// By distance from the body's start, in bytes. References to leaders are valid until one is added.
class Leaders {
 public:
  void clear() {
    is_leader_.clear();
    places_.clear();
    pending_.clear();
  }

  bool contains(uint32_t o) const { return o < is_leader_.size() && is_leader_[o]; }
  Leader& at(uint32_t o) { return leaders_[find(o)->second]; }

  // There must be none.
  void add(uint32_t o, const StackState& state, std::optional<uint32_t> behind_call) {
    if (is_leader_.size() <= o) is_leader_.resize(size_t(o) + 64);
    is_leader_[o] = true;
    const auto number = uint32_t(places_.size());
    places_.insert(find(o), {o, number});
    if (number == leaders_.size()) leaders_.emplace_back();
    Leader& l = leaders_[number];
    l.state = state;
    l.only_jumped_to = true;
    l.is_pending = false;
    l.behind_call = behind_call;
  }

  // The last one in front of `o`.
  std::optional<uint32_t> before(uint32_t o) const {
    const auto place = find(o);
    return place != places_.begin() ? std::optional(std::prev(place)->first) : std::nullopt;
  }

  // Of all, ascending; the function must not add any.
  template <class Function>
  void for_each(Function function) {
    for (const auto& [o, number] : places_) function(o, leaders_[number]);
  }

  // Its state changed.
  void expect(uint32_t o) {
    if (std::exchange(at(o).is_pending, true)) return;
    pending_.push_back(o);
    std::push_heap(pending_.begin(), pending_.end(), std::greater());
  }
  // The first of those, which is not one of them any more.
  std::optional<uint32_t> take() {
    if (pending_.empty()) return std::nullopt;
    std::pop_heap(pending_.begin(), pending_.end(), std::greater());
    const uint32_t o = pending_.back();
    pending_.pop_back();
    at(o).is_pending = false;
    return o;
  }

 private:
  using Places = std::vector<std::pair<uint32_t, uint32_t>>;
  Places::const_iterator find(uint32_t o) const {
    return std::ranges::lower_bound(places_, o, {}, &Places::value_type::first);
  }

  std::vector<bool> is_leader_;
  Places places_;                // ascending; the second numbers are indexes of `leaders_`
  std::vector<Leader> leaders_;  // as many as there were places once
  std::vector<uint32_t> pending_;
};

}  // namespace profld

#endif
