#include "change_text.h"

#include <algorithm>
#include <cmath>

#include "libprof/printable.h"
#include "prof/views/text/numbers.h"

namespace prof {

namespace {

// Three digits, or all of a whole number: 1.23, 12.3, 123, 1234.
std::string three_digits(double x) { return decimal(x, x < 9.995 ? 2 : x < 99.95 ? 1 : 0); }

std::string with_sign(double x, const std::string& size) { return (x < 0 ? "-" : "+") + size; }

}  // namespace

std::string duration_change(const Change& change) {
  // Of a short run, the rate of the time-stamp counter is known to a millionth (prof/read/clock.h).
  constexpr double kMeasurable = 1e-5;
  const double amount = change.amount(), size = std::abs(amount);
  if (size < kMeasurable * std::max(change.first, change.second)) return "0";
  const std::string text = duration(size);
  return text == "0" ? text : marked(change, with_sign(amount, text));
}

std::string count_text(double calls) { return decimal(calls, calls == std::floor(calls) ? 0 : 1); }

std::string percent_text(const Change& change) {
  if (change.first <= 0) return "";
  const double percent = 100 * change.amount() / change.first;
  const std::string size = three_digits(std::abs(percent)) + "%";
  return size == "0.00%" ? "0%" : with_sign(percent, size);
}

std::string marked(const Change& change, const std::string& text) {
  return (change.is_known || change.amount() == 0 ? "" : "~") + text;
}

std::string name_text(const ComparedFunction& function) {
  return prof_text::printable(function.was.empty() ? function.name : function.name + " (was " + function.was + ")");
}

}  // namespace prof
