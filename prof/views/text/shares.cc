#include "shares.h"

#include "numbers.h"

namespace prof {

namespace {

constexpr double kVisible = 0.0005;  // of 1: what may change the last digit that is shown

Range self_range(const FunctionSum& sum) {
  return {std::max(sum.self_range.low, 0.0), std::max(sum.self_range.high, 0.0)};
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

std::string Share::text() const { return is_vague && range.high - range.low >= kVisible ? "-" : likely_text(); }

std::string Share::likely_text() const {
  const bool is_uncertain = is_wide(range, likely) && range.high - range.low >= kVisible;
  return (is_uncertain ? "~" : "") + decimal(100 * likely, 1);
}

void Shares::add(const FunctionSum& sum) {
  whole_ += part(sum);
  range_.add(self_range(sum));
  // One without samples might have had some, but hundreds of such had not all of them.
  if (sum.self > 0) variance_ += sum.self_variance;
}

Share Shares::of(const FunctionSum& sum) const {
  const double likely = ratio(part(sum), whole_);
  if (!has_ranges_) return {likely, {likely, likely}};
  const Range own_hooks = self_range(sum);
  const Range own = with_chance(own_hooks, sum.self_variance);
  const Range others = with_chance({range_.low - own_hooks.low, range_.high - own_hooks.high},
                                   std::max(variance_ - sum.self_variance, 0.0));
  return {likely, {ratio(own.low, own.low + others.high), ratio(own.high, own.high + others.low)}, is_vague(own)};
}

}  // namespace prof
