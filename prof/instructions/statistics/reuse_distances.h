// Reuse distances: how many other lines of memory a program touches before it touches one again. A cache of so many lines,
// with no sets, would have kept it.
//
// Lines are kept in the order of their last use, as marks at the times of these uses. How many marks are later than that of a
// line is its distance; a tree of sums (Fenwick's) tells it. When time has gone further than there are marks, the marks
// get new times, from 1 on, and so the tree never has more than a few times as many as there are lines.

#ifndef PROF_INSTRUCTIONS_STATISTICS_REUSE_DISTANCES_H
#define PROF_INSTRUCTIONS_STATISTICS_REUSE_DISTANCES_H

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace prof {

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

}  // namespace prof

#endif
