// Two sides, A and B, of some runs each, and what is different between them: by function, and by context.
//
// Figures. A figure of a side is the mean of its runs; of a run in which a function does not occur it is 0. Times are
// seconds, since the runs may be of machines whose counters tick differently.
//
// Noise. Where there are several runs, a change is believed if Welch's test says that chance alone would hardly make it
// (chance_of_difference). Of one run on each side nothing tells what chance does, but each time has a range that it is
// in (probe_cost.h): a change is believed if the ranges have nothing in common. Counts are exact: they differ or they
// do not, unless they already differ between the runs of one side, and then they are tested as times are.
//
// What hooks cost is subtracted from times, and is not the same in all functions. The test does not see that, since all
// runs of a side have the same error. As long as a function has as many calls on both sides the errors are the same
// there, too. Else the cost that was subtracted differs, and the error by at most about as much (kSelfError of a self
// time, kTotalError of a total time, as in probe_cost.h): a change that is less than this is not believed either.
//
// Of a hundred functions that are what they were, five will have a p below 0.05 and look different.

#ifndef PROF_MODEL_COMPARE_DIFFERENCE_H
#define PROF_MODEL_COMPARE_DIFFERENCE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "prof/model/tree/recorded.h"

namespace prof {

// Whether two lists of measurements differ by more than chance.
//
// The test is Welch's: the difference of the means, by what it would be off by if it were chance alone, compared with
// Student's t of as many degrees of freedom as the two variances are known with (Welch, Biometrika 34, 1947). The other
// one in use, that of Mann and Whitney, asks less of the measurements, but looks at their order only, and three runs
// beside three can be ordered in 20 ways: its p is 0.1 at best, however far they lie apart. Profiles are made by hand,
// a few of each program, so a test has to be able to say something of three.
//
// Of one run on one side there is no variance. It is taken for the other side's, as that of a program on one machine.

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

// How far the means of two samples are apart by chance at most, as long as kGreatestP is the greatest chance that is
// believed in: rather a little more than less. None if each sample is of one run.
std::optional<double> greatest_by_chance(const Sample& a, const Sample& b);

// How likely it is that Student's t of so many degrees of freedom, which may be a fraction, is as far from 0 as `t`.
double chance_of_t(double t, double degrees);

// Of a function, of a context, or of all, on one side.
struct Figures {
  Measurements calls, self, total;         // times in seconds
  Measurements self_waiting;               // where it is apart from these
  Range self_range, total_range;           // sums over the runs, in seconds
  double self_probe = 0, total_probe = 0;  // the same
  bool has_doubtful_calls = false, has_doubtful_self = false, has_doubtful_total = false;

  void add(const FunctionSum& sum, double seconds_of_cycle);
  void add(const CallNode& node, double seconds_of_cycle);
};

// How long single calls of a function lasted on one side, in the runs in which some have ended; seconds.
struct ComparedDurations {
  Measurements p50, p99, greatest;
  Range p50_range, p99_range;  // sums over these runs, of what chance makes of the calls of each
  double shortest = 0;         // that is told apart; 0 in the others if it is shorter
  uint64_t calls = 0;
  size_t runs = 0;

  // Of a run whose cycles are so many seconds.
  void add(const CallDurations& durations, double seconds_of_cycle);
};

struct Change {
  double first = 0, second = 0;  // means
  std::optional<double> p;       // none: it was not tested
  bool is_known = false;         // it is more than noise
  // Of a time: what its amount may be by all that is known of errors; unlimited if nothing is. These add up: what
  // several contexts changed together lies between the sums of the ends. Of one run on each side, it is known if 0 is
  // outside; what was tested may be known all the same, since the test is of as many degrees of freedom as there are,
  // and this of a whole number.
  Range range = {};
  double amount() const { return second - first; }
};

struct ComparedFunction {
  std::string name;       // with its module, as in the table
  std::string module;     // name of the module
  std::string was;        // its name on side A, if that is another one
  bool has_calls = true;  // false: of code whose calls nobody counts
  std::array<bool, 2> occurs = {};
  std::array<Figures, 2> sides;
  std::array<ComparedDurations, 2> durations;
};

// A context on either side or on both.
struct ComparedContext {
  uint32_t function = 0;                                   // index into Difference::functions; meaningless in the root
  uint32_t parent = 0, first_child = 0, next_sibling = 0;  // as in CallNode
  std::array<bool, 2> occurs = {};
  std::array<Figures, 2> sides;
};

struct ComparedSide {
  std::string program;  // path
  size_t runs = 0;
  double elapsed = 0;               // seconds that the runs took, on average
  std::optional<double> processor;  // and had a processor; none if that is not known of all of them
};

struct Difference {
  std::array<ComparedSide, 2> sides;
  bool timed = true, has_waiting = false;
  std::vector<ComparedFunction> functions;
  std::vector<ComparedContext> contexts;  // the root first, parents before children; empty unless they were asked for
  std::array<Figures, 2> all;             // of all functions together, without total times
  // By the number that Comparison::add gave a function of B, its index in `functions`. Those of A have these numbers
  // there.
  std::vector<uint32_t> numbers_of_b;
  uint32_t nameless = 0;  // functions that cannot be matched because they have no names

  bool is_tested() const { return sides[0].runs > 1 || sides[1].runs > 1; }
  Change calls(const std::array<Figures, 2>& figures) const;
  Change self(const std::array<Figures, 2>& figures) const;
  Change total(const std::array<Figures, 2>& figures) const;
  Change self_waiting(const std::array<Figures, 2>& figures) const;
  // The total time by the number of calls, as in the table of one profile.
  Change per_call(const std::array<Figures, 2>& figures) const;
  // Of durations. That the longest call has changed is not known of one run on each side.
  static Change p50(const ComparedFunction& function);
  static Change p99(const ComparedFunction& function);
  static Change greatest(const ComparedFunction& function);
};

// Whether anything of these figures is known to be different.
bool has_changed(const Difference& difference, const std::array<Figures, 2>& figures);

// Puts a Difference together, one run after the other, so that they need not be in memory at once.
class Comparison {
 public:
  explicit Comparison(bool with_contexts);
  ~Comparison();

  // A run of side 0 or 1. All runs of both must be of one PROFTYPE, and those of a side of one program. Returns the
  // numbers that its functions have among those of the side.
  std::vector<uint32_t> add(size_t side, const Recorded& run);

  // To be called once, when both sides have a run.
  Difference finish();

 private:
  class Side;
  std::array<std::unique_ptr<Side>, 2> sides_;
  bool with_contexts_;
};

}  // namespace prof

#endif
