// A processor's caches, as cachegrind simulates them: a first level for instructions and one for data, and a last level
// that has what neither has. Each is a number of sets, of which a line of memory may be in one; in a set that is full the
// line goes that was used longest ago. Stores bring lines in as loads do. Addresses are the program's own, all threads share
// the caches, and nothing is fetched in advance: figures to compare, not those of a processor.

#ifndef PROF_INSTRUCTIONS_STATISTICS_CACHE_SIMULATION_H
#define PROF_INSTRUCTIONS_STATISTICS_CACHE_SIMULATION_H

#include <cstdint>
#include <vector>

namespace prof {

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

}  // namespace prof

#endif
