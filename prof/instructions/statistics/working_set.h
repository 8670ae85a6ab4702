// The working set of a program: how many pages and lines of memory it uses in each window of so many instructions.

#ifndef PROF_INSTRUCTIONS_STATISTICS_WORKING_SET_H
#define PROF_INSTRUCTIONS_STATISTICS_WORKING_SET_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "prof/read/error.h"

namespace prof {

// A set of numbers that is emptied often, as of the pages that a program touches in each window of time.
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

struct WorkingSetWindow {
  uint64_t first_instruction = 0, instructions = 0;  // from 0 on; how many
  uint64_t code_pages = 0, code_lines = 0;           // of 4096 and 64 bytes
  uint64_t data_pages = 0, data_lines = 0;
};

class WorkingSet {
 public:
  static constexpr unsigned kPageBits = 12, kLineBits = 6;
  static constexpr size_t kMostWindows = 1 << 20;

  // `window`: instructions, more than 0.
  explicit WorkingSet(uint64_t window) : window_(window) {}

  // How many instructions are still to come in this window.
  uint64_t left() const { return window_ - current_.instructions; }

  // So many instructions ran, at most as many as are left. Throws Error if there are too many windows.
  void count(uint64_t instructions) {
    current_.instructions += instructions;
    if (current_.instructions >= window_) end_window();
  }
  // In this window, before they are counted: bytes of code, and of data.
  void fetch(uint64_t address, uint64_t size) { touch(code_pages_, code_lines_, address, size); }
  void access(uint64_t address, uint64_t size) { touch(data_pages_, data_lines_, address, size); }

  // Which window it is.
  uint64_t number() const { return windows_.size(); }

  // Once, after all.
  void finish() {
    if (current_.instructions) end_window();
  }
  const std::vector<WorkingSetWindow>& windows() const { return windows_; }

 private:
  static void touch(AddressSet& pages, AddressSet& lines, uint64_t address, uint64_t size) {
    const uint64_t last = address + (size ? size - 1 : 0);
    for (uint64_t page = address >> kPageBits; page <= last >> kPageBits; ++page) pages.insert(page);
    for (uint64_t line = address >> kLineBits; line <= last >> kLineBits; ++line) lines.insert(line);
  }
  void end_window() {
    current_.code_pages = code_pages_.size();
    current_.code_lines = code_lines_.size();
    current_.data_pages = data_pages_.size();
    current_.data_lines = data_lines_.size();
    if (windows_.size() == kMostWindows)
      throw Error("there are more than " + std::to_string(kMostWindows) + " windows; use a larger --window");
    windows_.push_back(current_);
    current_ = {current_.first_instruction + current_.instructions};
    for (AddressSet* set : {&code_pages_, &code_lines_, &data_pages_, &data_lines_}) set->clear();
  }

  uint64_t window_;
  WorkingSetWindow current_;
  AddressSet code_pages_, code_lines_, data_pages_, data_lines_;
  std::vector<WorkingSetWindow> windows_;
};

}  // namespace prof

#endif
