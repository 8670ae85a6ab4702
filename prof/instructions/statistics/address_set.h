// A set of numbers that is emptied often, as of the pages that a program touches in each window of time.

#ifndef PROF_INSTRUCTIONS_STATISTICS_ADDRESS_SET_H
#define PROF_INSTRUCTIONS_STATISTICS_ADDRESS_SET_H

#include <cstdint>
#include <utility>
#include <vector>

namespace prof {

class AddressSet {
 public:
  AddressSet() : slots_(64) {}

  void insert(uint64_t number) {
    if (number == last_ && size_) return;
    last_ = number;
    if (!insert_into(slots_, number)) return;
    if (++size_ * 2 > slots_.size()) grow();
  }
  uint64_t size() const { return size_; }

  void clear() {
    size_ = 0;
    ++time_;
  }

 private:
  struct Slot {
    uint64_t number = 0;
    uint64_t time = 0;  // of the slot's number; another than time_: the slot is empty
  };

  bool insert_into(std::vector<Slot>& slots, uint64_t number) const {
    const size_t mask = slots.size() - 1;
    for (size_t at = size_t(number * 0x9e3779b97f4a7c15 >> 20) & mask;; at = (at + 1) & mask) {
      Slot& slot = slots[at];
      if (slot.time != time_) {
        slot = {number, time_};
        return true;
      }
      if (slot.number == number) return false;
    }
  }

  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (const Slot& slot : slots_)
      if (slot.time == time_) insert_into(larger, slot.number);
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_;  // a power of two of them, at most half of them in use
  uint64_t size_ = 0, time_ = 1, last_ = 0;
};

}  // namespace prof

#endif
