// What a trace says of memory: the working set over time, reuse distances, and what caches would have had of it.

#ifndef PROF_INSTRUCTIONS_STATISTICS_MEMORY_STATISTICS_H
#define PROF_INSTRUCTIONS_STATISTICS_MEMORY_STATISTICS_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "prof/instructions/trace/trace_reader.h"
#include "prof/read/error.h"

namespace prof {

// The working set of a program: how many pages and lines of memory it uses in each window of so many instructions.

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
  static constexpr size_t kMaxWindows = 1 << 20;

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
    if (windows_.size() == kMaxWindows)
      throw Error("there are more than " + std::to_string(kMaxWindows) + " windows; use a larger --window");
    windows_.push_back(current_);
    current_ = {current_.first_instruction + current_.instructions};
    for (AddressSet* set : {&code_pages_, &code_lines_, &data_pages_, &data_lines_}) set->clear();
  }

  uint64_t window_;
  WorkingSetWindow current_;
  AddressSet code_pages_, code_lines_, data_pages_, data_lines_;
  std::vector<WorkingSetWindow> windows_;
};

// Reuse distances: how many other lines of memory a program touches before it touches one again. A cache of so many
// lines, with no sets, would have kept it.
//
// Lines are kept in the order of their last use, as marks at the times of these uses. How many marks are later than
// that of a line is its distance; a tree of sums (Fenwick's) tells it. When time has gone further than there are marks,
// the marks get new times, from 1 on, and so the tree never has more than a few times as many as there are lines.

class ReuseDistances {
 public:
  ReuseDistances() : sums_(kSmallest + 1) {}

  void touch(uint64_t line);

  // How often the distance was 0; 1; 2 to 3; 4 to 7; ...
  const std::array<uint64_t, 64>& counts() const { return counts_; }
  // How often a line was touched for the first time.
  uint64_t first_touches() const { return last_use_.size(); }

 private:
  static constexpr uint64_t kSmallest = 1 << 12;

  void add(uint64_t time, uint64_t change);
  uint64_t marks_up_to(uint64_t time) const;
  void number_anew();

  std::vector<uint64_t> sums_;                       // from 1 on
  std::unordered_map<uint64_t, uint64_t> last_use_;  // time by line
  std::array<uint64_t, 64> counts_ = {};
  uint64_t time_ = 0;
  uint64_t newest_line_ = 0;
};

// A processor's caches, as cachegrind simulates them: a first level for instructions and one for data, and a last level
// that has what neither has. Each is a number of sets, of which a line of memory may be in one; in a set that is full
// the line goes that was used longest ago. Stores bring lines in as loads do. Addresses are the program's own, all
// threads share the caches, and nothing is fetched in advance: figures to compare, not those of a processor.

struct CacheShape {
  uint64_t size = 0;  // bytes
  uint64_t ways = 0;  // lines in a set
  uint64_t line = 0;  // bytes
};

// What is wrong with it: "" if nothing is.
const char* problem_of(const CacheShape& shape);

class Cache {
 public:
  explicit Cache(const CacheShape& shape);

  // Touches bytes from an address on; false if a line of them was missing.
  bool touch(uint64_t address, uint64_t size);

 private:
  bool touch_line(uint64_t line);

  unsigned line_bits_;
  uint64_t sets_, ways_;
  std::vector<uint64_t> lines_;  // line + 1, 0 for none; of each set those used last first
};

struct CacheShapes {
  CacheShape instructions{32768, 8, 64}, data{32768, 8, 64}, last{8388608, 16, 64};
};

struct CacheMisses {
  uint64_t instructions = 0, loads = 0, stores = 0;                    // how many there were
  uint64_t first_instructions = 0, first_loads = 0, first_stores = 0;  // not in the first level
  uint64_t last_instructions = 0, last_loads = 0, last_stores = 0;     // nor in the last
};

class CacheSimulation {
 public:
  explicit CacheSimulation(const CacheShapes& shapes)
      : instructions_(shapes.instructions), data_(shapes.data), last_(shapes.last) {}

  void fetch(uint64_t address, uint64_t size) {
    ++misses_.instructions;
    if (instructions_.touch(address, size)) return;
    ++misses_.first_instructions;
    if (!last_.touch(address, size)) ++misses_.last_instructions;
  }
  void access(uint64_t address, uint64_t size, bool is_write) {
    ++(is_write ? misses_.stores : misses_.loads);
    if (data_.touch(address, size)) return;
    ++(is_write ? misses_.first_stores : misses_.first_loads);
    if (!last_.touch(address, size)) ++(is_write ? misses_.last_stores : misses_.last_loads);
  }

  const CacheMisses& misses() const { return misses_; }

 private:
  Cache instructions_, data_, last_;
  CacheMisses misses_;
};

struct MemoryOptions {
  uint64_t window = 1'000'000;  // instructions
  bool with_reuse = false;
  std::optional<CacheShapes> caches;
};

class MemoryStatistics : public TraceConsumer {
 public:
  explicit MemoryStatistics(const MemoryOptions& options);

  void new_run(const TraceRun& run, const TraceMemory& memory) override;
  void run(TracedThread thread, const TraceRun& run, std::span<const AccessValue> accesses) override;
  void event(TracedThread, const TraceEvent&) override {}
  void finish() { working_set_.finish(); }

  const WorkingSet& working_set() const { return working_set_; }
  const std::optional<ReuseDistances>& reuse() const { return reuse_; }
  const std::optional<CacheSimulation>& caches() const { return caches_; }

 private:
  void instruction(uint64_t address, uint8_t length);
  void access(const RunAccess& access, const AccessValue& value);
  void element(uint64_t address, const RunAccess& access);

  WorkingSet working_set_;
  std::optional<ReuseDistances> reuse_;
  std::optional<CacheSimulation> caches_;
  std::vector<uint64_t> fetched_in_;  // by run: the window in which its code was counted last, + 1
};

}  // namespace prof

#endif
