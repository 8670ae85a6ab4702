// What the probe, a pair of hooks, costs a call, and how sure times are from which that was subtracted.
//
// Of every call some cycles lie between its two time stamps and are measured as the callee's (`inside`), and some
// before the first and after the second, as the caller's (`outside`). The runtime measures both, at the start and at
// the end of a run, on calls of functions that do nothing (libprof/life/calibrate.h). That is what is subtracted.
//
// In a program the same hooks cost more or less than that. A processor with other work at hand does much of a hook's
// beside it: a function of a few hundred cycles may not become longer at all by what is inside. And a hook that
// was not run for a while waits for its node, its frame and the history of its branches. So a self time that was
// measured as M cycles, of a function called n times, which made m calls itself, is the program's only within
//
//     M - n inside_high - m outside_high    to    M - n inside_low - m outside_low
//
// where inside is from 0 to 1.5 times what was measured, outside from a half of it to twice it, and both differ by as
// much more as the runtime's measurements did from each other. Besides, the program itself is faster or slower with its
// hooks, which take room in caches, on a machine that is not always equally fast: kElsewhere, a part of the time. These
// factors were found with `make truth` (tests/bench/RESULTS): true values lie in the ranges for nine functions of ten.
//
// A tail call through a pointer (format.h, kSoughtCall) has costs of its own, which are a few times those of a call.
// More of it depends on what the caches hold, and so either part is from 0.4 to 2.5 times what was measured.
//
// What is not inside is mostly outside, so the cost of the pair is known better than either part: from 0.6 to 1.3 times
// what was measured. In the total time of a node both parts of all calls are contained but those of the node itself.
//
// Errors of the nodes of a function, and of a subtree, are those of the same hooks: they add up as they are, without
// any square roots. What an estimate from some of the calls is uncertain by is chance, and is a standard error.

#ifndef PROF_MODEL_TREE_PROBE_COST_H
#define PROF_MODEL_TREE_PROBE_COST_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "libprof/format/format.h"

namespace prof {

// What the true time may be, but for chance; cycles. Those of nodes add up, so an end may be less than 0.
struct Range {
  double low = 0, high = 0;

  void add(const Range& other) { low += other.low, high += other.high; }
};

// A cost in cycles, and what it may be instead.
struct UncertainCost {
  double likely = 0, low = 0, high = 0;

  UncertainCost operator*(double n) const { return {likely * n, low * n, high * n}; }
  void add(const UncertainCost& other) { likely += other.likely, low += other.low, high += other.high; }
};

// What counters of blocks cost, in cycles.
struct CounterCosts {
  std::vector<UncertainCost> by_function = {};  // by index
  double of_all = 0;                            // besides, in those with counters, nobody knows in which
};

// The part of the probe's cost that is outside, but for what measurements of it differed.
inline UncertainCost outside_of(double likely) { return {likely, 0.5 * likely, 2 * likely}; }

// Cycles that the probe adds to a call, by the header of a profile.
struct ProbeCost {
  ProbeCost(const prof_format::Header& header, double scale)
      : inside(cost(header.probe_inside, header.probe_inside_spread, 0, 1.5, scale)),
        outside(cost(header.probe_outside, header.probe_outside_spread, 0.5, 2, scale)),
        counted(cost(header.probe_counted, header.probe_counted_spread, 0.5, 2, scale)),
        pair(cost(header.probe_inside + header.probe_outside, header.probe_inside_spread + header.probe_outside_spread,
                  0.6, 1.3, scale)),
        sought_inside(cost(header.probe_sought_inside, header.probe_sought_inside_spread, 0.4, 2.5, scale)),
        sought_outside(cost(header.probe_sought_outside, header.probe_sought_outside_spread, 0.4, 2.5, scale)) {}

  UncertainCost inside, outside;
  UncertainCost counted;                        // inside and outside of a call that is not timed, of estimated times
  UncertainCost pair;                           // inside and outside of one that is
  UncertainCost sought_inside, sought_outside;  // of a tail call with kSoughtCall

 private:
  static UncertainCost cost(uint64_t measured, uint64_t spread, double least, double greatest, double scale) {
    const double likely = double(measured) / 256 * scale, differed = double(spread) / 256 * scale;
    return {likely, std::max(likely * least - differed, 0.0), likely * greatest + differed};
  }
};

// The range of a time from which so much was subtracted. It holds `estimate`.
inline Range range_of(double measured, const UncertainCost& probe, double estimate) {
  // What the program itself may be faster or slower by with its hooks, or on a machine in use, as a part of a time.
  constexpr double kElsewhere = 0.05;
  const double low = measured - probe.high, high = measured - probe.low;
  return {std::min(low - kElsewhere * std::abs(low), estimate), std::max(high + kElsewhere * std::abs(high), estimate)};
}

// The same with the chance of an estimate in it: what holds the true time in 95 of 100 runs. Not below 0.
inline Range with_chance(const Range& range, double variance) {
  const double error = 1.96 * std::sqrt(variance);
  return {std::max(range.low - error, 0.0), std::max(range.high + error, 0.0)};
}

// Whether the half of a range is more than a tenth of the time, so that the range has to be shown.
inline bool is_wide(const Range& range, double cycles) { return range.high - range.low > 0.2 * cycles; }

// Whether the longest that a time may be is more than twice the shortest. Then no one number stands for it.
inline bool is_vague(const Range& range) { return range.high > 2 * range.low; }

}  // namespace prof

#endif
