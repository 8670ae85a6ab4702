// Cycles of time-stamp counters, told apart by what was done to them:
//
//   RawCycles     as a profile has them: by the clock of the machine that recorded it, with what the hooks cost in them
//   ScaledCycles  by the clock of the machine whose profile was read first, with what the hooks cost in them
//
// The trees of several profiles are added up as the latter (model/tree). After that the hooks' cost is subtracted, and
// what is left, the program's own cycles, is all that anything else sees: it is a plain number.

#ifndef PROF_READ_CYCLES_H
#define PROF_READ_CYCLES_H

#include <compare>

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

}  // namespace prof

#endif
