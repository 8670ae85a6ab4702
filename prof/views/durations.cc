#include "durations.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "numbers.h"

namespace prof {

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

}  // namespace prof
