// Cycles of time-stamp counters, and the self times that a profile has in them. They are told apart by what was done to
// them:
//
//   RawCycles     as a profile has them: by the clock of the machine that recorded it, with what the hooks cost in them
//   ScaledCycles  by the clock of the machine whose profile was read first, with what the hooks cost in them
//
// The trees of several profiles are added up as the latter (model/tree). After that the hooks' cost is subtracted, and
// what is left, the program's own cycles, is all that anything else sees: it is a plain number.

#ifndef PROF_READ_CYCLES_H
#define PROF_READ_CYCLES_H

#include <compare>
#include <cstdint>

#include "libprof/format/format.h"

namespace prof {

template <class Kind>
struct Cycles {
  double count = 0;

  auto operator<=>(const Cycles&) const = default;
  Cycles& operator+=(Cycles other) { return count += other.count, *this; }
  Cycles& operator-=(Cycles other) { return count -= other.count, *this; }
  friend Cycles operator+(Cycles a, Cycles b) { return {a.count + b.count}; }
  friend Cycles operator-(Cycles a, Cycles b) { return {a.count - b.count}; }
  friend Cycles operator*(Cycles a, double factor) { return {a.count * factor}; }
  friend double operator/(Cycles a, Cycles b) { return a.count / b.count; }
};

using RawCycles = Cycles<struct AsRecorded>;
using ScaledCycles = Cycles<struct AsScaled>;

// How many cycles of the first clock pass in one of another.
struct ClockScale {
  double factor = 1;

  ScaledCycles operator()(RawCycles cycles) const { return {cycles.count * factor}; }
};

// The self times in a profile's nodes (libprof/format/format.h), as raw cycles.
//
// A time longer than the thread ran is impossible. That does not make its node and its count wrong. So it is kept, as
// the nearest time that is possible, and marked. Of a count less can be said: it may be greater than the cycles that
// passed, in a program that lost the right to read the counter.

// Whether a program can have made so many calls: at a billion a second that takes 36 years.
inline bool is_possible_count(uint64_t calls) { return calls <= uint64_t(1) << 60; }

struct SelfTime {
  uint64_t cycles = 0;
  bool is_possible = true;  // false: what the node holds is impossible, and `cycles` is the nearest possible time
};

// Of PROFTYPE=sample: a number of samples in a node. One that ran for a hundred years has 2^40.
struct SampleCount {
  uint64_t count = 0;
  bool is_possible = true;  // as in SelfTime
};
SampleCount samples_of(uint64_t raw);

// How long the self times of one thread can be, which ran up to `end`, a time stamp.
class SelfTimeLimit {
 public:
  SelfTimeLimit(const prof_format::Header& header, uint64_t end);

  // `raw`: cycles, as in a node; `since`: cycles that it ran since then. 0 if the profile has no self times.
  SelfTime of(uint64_t raw, uint64_t since = 0) const;

 private:
  bool is_measured_;
  uint64_t start_, end_;
};

}  // namespace prof

#endif
