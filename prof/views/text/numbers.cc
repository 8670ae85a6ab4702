#include "numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace prof {

std::string decimal(double x, int places) {
  char digits[400];
  return {digits, std::to_chars(digits, digits + sizeof digits, x, std::chars_format::fixed, places).ptr};
}

std::string two_digits(double x, bool upwards) {
  const double magnitude = x > 0 ? std::floor(std::log10(x)) : 0;
  const int places = int(std::clamp(1 - magnitude, 0.0, 3.0));
  const double unit = std::pow(10, std::max(magnitude - 1, -3.0));
  const double rounded = (upwards ? std::ceil(x / unit - 1e-9) : std::floor(x / unit + 1e-9)) * unit;
  std::string text = decimal(rounded, places);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

bool is_shown_as_range(const Analysis& analysis, uint64_t cycles, const Range& range, double units) {
  return is_wide(range, double(cycles)) && analysis.seconds(range.high) * units >= 0.0005;
}

std::string shown_time(const Analysis& analysis, uint64_t cycles, const Range& range, double units, bool is_doubtful) {
  const double time = analysis.seconds(cycles) * units;
  if (is_doubtful) return "?" + decimal(time, 3);
  if (!is_shown_as_range(analysis, cycles, range, units)) return decimal(time, 3);
  return two_digits(analysis.seconds(range.low) * units, false) + "-" +
         two_digits(analysis.seconds(range.high) * units, true);
}

std::string shown_time(const Analysis& analysis, double cycles, const Range& range, bool is_doubtful) {
  if (is_doubtful) return "?" + duration(analysis.seconds(cycles));
  if (!is_wide(range, cycles)) return duration(analysis.seconds(cycles));
  return duration_range(analysis.seconds(range.low), analysis.seconds(range.high));
}

namespace {

template <class Part>
std::string calls_of(const Part& part) {
  return (part.has_doubtful_calls ? "?" : part.has_estimated_calls ? "~" : "") + std::to_string(part.calls);
}

}  // namespace

std::string shown_calls(const CallNode& node) { return calls_of(node); }
std::string shown_calls(const FunctionSum& sum) { return calls_of(sum); }

namespace {

// What was waited, of two runs; less than nothing in raw times only.
struct Waited {
  int64_t cycles;
  Range range;
};

Waited waited_of(const Analysis& analysis, uint64_t elapsed, uint64_t on_processor, const Range& elapsed_range,
                 const Range& processor_range) {
  const int64_t cycles = analysis.cpu->waiting(elapsed, on_processor);
  if (analysis.cpu->raw_times) return {cycles, {}};
  return {cycles,
          {std::max(elapsed_range.low - processor_range.high, 0.0),
           std::max(elapsed_range.high - processor_range.low, 0.0)}};
}

}  // namespace

std::string shown_waiting(const Analysis& analysis, uint64_t elapsed, uint64_t on_processor, const Range& elapsed_range,
                          const Range& processor_range, bool is_doubtful) {
  const Waited waited = waited_of(analysis, elapsed, on_processor, elapsed_range, processor_range);
  const std::string text = shown_time(analysis, std::abs(double(waited.cycles)), waited.range, is_doubtful);
  return (waited.cycles < 0 && text != "0" ? "-" : "") + text;
}

std::string shown_waiting(const Analysis& analysis, uint64_t elapsed, uint64_t on_processor, const Range& elapsed_range,
                          const Range& processor_range, double units, bool is_doubtful) {
  const Waited waited = waited_of(analysis, elapsed, on_processor, elapsed_range, processor_range);
  const uint64_t cycles = waited.cycles < 0 ? 0 - uint64_t(waited.cycles) : uint64_t(waited.cycles);
  const std::string text = shown_time(analysis, cycles, waited.range, units, is_doubtful);
  return (waited.cycles < 0 && text != "0.000" ? "-" : "") + text;
}

namespace {

struct Unit {
  const char* name;
  double to_the_second;
};

constexpr Unit kUnits[] = {{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}};

// The least unit in which a time is less than `limit`, a number that would be rounded to 1000.
const Unit& unit_of(double seconds, double limit) {
  const auto fits = [&](const Unit& unit) { return seconds * unit.to_the_second < limit; };
  const auto* const found = std::find_if(std::begin(kUnits), std::end(kUnits), fits);
  return found == std::end(kUnits) ? *std::prev(std::end(kUnits)) : *found;
}

}  // namespace

std::string duration(double seconds) {
  const Unit& unit = unit_of(seconds, 999.5);
  const double n = seconds * unit.to_the_second;
  const std::string digits = decimal(n, n < 9.995 ? 2 : n < 99.95 ? 1 : 0);
  return digits == "0.00" ? "0" : digits + unit.name;
}

std::string duration_range(double low, double high) {
  const Unit& unit = unit_of(high, 990.000001);
  return two_digits(low * unit.to_the_second, false) + "-" + two_digits(high * unit.to_the_second, true) + unit.name;
}

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
