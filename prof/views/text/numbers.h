// Numbers as the table and the tree show them; times in the unit that fits: ns, us, ms or s. A number and its unit are
// one word, so that a column stays one word for awk and the like; "us" is ASCII everywhere. And what part of all self
// time, or of all calls, a function or a module has (Share).

#ifndef PROF_VIEWS_TEXT_NUMBERS_H
#define PROF_VIEWS_TEXT_NUMBERS_H

#include <cstdint>
#include <string>

#include "prof/model/analysis/analysis.h"

namespace prof {

// A time in the unit that fits (duration), or its range, "0.05-0.12s", if it is not known to a tenth. With the mark ?
// and no range if it is doubtful (model/tree/tree.h).
std::string shown_time(const Analysis& analysis, double cycles, const Range& range, bool is_doubtful);

// Whether a time is shown as the range that it may be in (model/tree/probe_cost.h): that is wide, and does not all show
// as zero. `units` to the second.
bool is_shown_as_range(const Analysis& analysis, uint64_t cycles, const Range& range, double units);

// The same in one unit, which is not written: a time with three places, or its range, each end rounded to two digits,
// away from the other ("0.05-0.12").
std::string shown_time(const Analysis& analysis, uint64_t cycles, const Range& range, double units, bool is_doubtful);

// A number of calls, with the mark ? if it is doubtful, or ~ if it is estimated.
std::string shown_calls(const CallNode& node);
std::string shown_calls(const FunctionSum& sum);

// What was waited, of an elapsed time and a time on a processor with their ranges, as shown_time shows it. For analyses
// of two runs.
std::string shown_waiting(const Analysis& analysis, uint64_t elapsed, uint64_t on_processor, const Range& elapsed_range,
                          const Range& processor_range, bool is_doubtful);
std::string shown_waiting(const Analysis& analysis, uint64_t elapsed, uint64_t on_processor, const Range& elapsed_range,
                          const Range& processor_range, double units, bool is_doubtful);

// With so many places.
std::string decimal(double x, int places);

// The end of a range: two digits, rounded away from the other end, and at most three places.
std::string two_digits(double x, bool upwards);

// With three digits: "1.23ms", "210us", "1234s"; "0" if nothing is left of it.
std::string duration(double seconds);

// A range with one unit, that of its upper end: "0.5-1.2s". The ends have two digits, each rounded away from the other.
std::string duration_range(double low, double high);

// What part of all self time, or of all calls, a function or a module has, and how sure that is.
//
// A part is as uncertain as the whole that it is a part of. Of two functions the one may have exactly a tenth of a
// second; if the other has something between nothing and 0.4 s, the first one has between a fifth and all of it. So the
// least share is that with the least time of its own and the greatest of all others, and the greatest the other way
// round.

// A part of 1, and what it may be instead.
struct Share {
  double likely = 0;
  Range range;
  bool is_vague = false;  // no one number stands for what it is a share of (is_vague in probe_cost.h)

  // In percent, to a tenth. If one would see the difference: with the mark ~ if it is not known to a tenth of itself,
  // and "-" if it is vague.
  std::string text() const;
  // The same, but that a vague one has a number.
  std::string likely_text() const;
};

class Shares {
 public:
  // `by_calls`: shares are of calls, which are exact, not of self times. `has_ranges`: times have ranges.
  Shares(bool by_calls, bool has_ranges) : by_calls_(by_calls), has_ranges_(has_ranges) {}
  // As the times of an analysis are.
  explicit Shares(const Analysis& analysis) : Shares(!analysis.timed(), analysis.timed()) {}

  // Makes a sum a part of the whole.
  void add(const FunctionSum& sum);

  // Of a sum that was added.
  Share of(const FunctionSum& sum) const;

 private:
  double part(const FunctionSum& sum) const { return double(by_calls_ ? sum.calls : sum.self); }

  bool by_calls_, has_ranges_;
  double whole_ = 0;
  Range range_;  // of the whole, but for what the variance says
  double variance_ = 0;
};

}  // namespace prof

#endif
