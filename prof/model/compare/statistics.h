// Whether two lists of measurements differ by more than chance.
//
// The test is Welch's: the difference of the means, by what it would be off by if it were chance alone, compared with
// Student's t of as many degrees of freedom as the two variances are known with (Welch, Biometrika 34, 1947). The other
// one in use, that of Mann and Whitney, asks less of the measurements, but looks at their order only, and three runs
// beside three can be ordered in 20 ways: its p is 0.1 at best, however far they lie apart. Profiles are made by hand, a
// few of each program, so a test has to be able to say something of three.
//
// Of one run on one side there is no variance. It is taken for the other side's, as that of a program on one machine.

#ifndef PROF_MODEL_COMPARE_STATISTICS_H
#define PROF_MODEL_COMPARE_STATISTICS_H

#include <cstddef>
#include <cstdint>
#include <optional>

namespace prof {

// What chance is still believed to do: a difference with a greater p is not known to be one.
inline constexpr double kGreatestP = 0.05;

// A figure of each run of a list. Runs for which nothing was added have 0.
class Measurements {
 public:
  void add(double x);
  double mean(size_t runs) const;
  double variance(size_t runs) const;  // of the runs, from their own mean; 0 of one run

 private:
  // Sums of what was added less the first of it, since squares of large numbers that differ little lose the difference.
  double first_ = 0, sum_ = 0, squares_ = 0;
  size_t added_ = 0;
};

struct Sample {
  double mean = 0, variance = 0;
  size_t runs = 1;
};

// How likely it is that measurements differ so much by chance, 0 to 1. None if each sample is of one run.
std::optional<double> chance_of_difference(const Sample& a, const Sample& b);

// How likely it is that Student's t of so many degrees of freedom, which may be a fraction, is as far from 0 as `t`.
double chance_of_t(double t, double degrees);

}  // namespace prof

#endif
