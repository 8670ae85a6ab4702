// What part of all self time, or of all calls, a function or a module has, and how sure that is.
//
// A part is as uncertain as the whole that it is a part of. Of two functions the one may have exactly a tenth of a
// second; if the other has something between nothing and 0.4 s, the first one has between a fifth and all of it. So the
// least share is that with the least time of its own and the greatest of all others, and the greatest the other way
// round.

#ifndef PROF_VIEWS_TEXT_SHARES_H
#define PROF_VIEWS_TEXT_SHARES_H

#include <string>

#include "prof/model/analysis/analysis.h"

namespace prof {

// A part of 1, and what it may be instead.
struct Share {
  double likely = 0;
  Range range;
  bool is_vague = false;  // no one number stands for what it is a share of (is_vague in probe_cost.h)

  // In percent, to a tenth. If one would see the difference: with the mark ~ if it is not known to a tenth of itself, and "-"
  // if it is vague.
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
