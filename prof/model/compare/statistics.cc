#include "statistics.h"

#include <algorithm>
#include <cmath>

namespace prof {

void Measurements::add(double x) {
  if (added_++ == 0) first_ = x;
  sum_ += x - first_;
  squares_ += (x - first_) * (x - first_);
}

double Measurements::mean(size_t runs) const { return runs == 0 ? 0 : (first_ * double(added_) + sum_) / double(runs); }

double Measurements::variance(size_t runs) const {
  if (runs < 2) return 0;
  const double n = double(runs), zeros = double(runs - std::min(added_, runs));
  const double sum = sum_ - zeros * first_, squares = squares_ + zeros * first_ * first_;
  return std::max(squares - sum * sum / n, 0.0) / (n - 1);
}

namespace {

// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. Converges in a few dozen
// steps for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  auto nonzero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), value = d;
  for (int step = 1; step < 500; ++step) {
    const double m = step;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (const double factor : {even, odd}) {
      d = 1 / nonzero(1 + factor * d);
      c = nonzero(1 + factor / c);
      value *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  return value;
}

// The regularized incomplete beta function.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double log_factor = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  const bool is_low = x < (a + 1) / (a + b + 2);  // else the fraction of the other tail converges
  const double tail = std::exp(log_factor) * (is_low ? beta_fraction(a, b, x) / a : beta_fraction(b, a, 1 - x) / b);
  return is_low ? tail : 1 - tail;
}

}  // namespace

double chance_of_t(double t, double degrees) {
  return std::clamp(incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)), 0.0, 1.0);
}

std::optional<double> chance_of_difference(const Sample& a, const Sample& b) {
  if (a.runs < 2 && b.runs < 2) return {};
  const double difference = a.mean - b.mean;
  const double variance_a = a.runs < 2 ? b.variance : a.variance, variance_b = b.runs < 2 ? a.variance : b.variance;
  const double share_a = variance_a / double(a.runs), share_b = variance_b / double(b.runs), all = share_a + share_b;
  if (all <= 0) return difference == 0 ? 1 : 0;
  double degrees = double(std::max(a.runs, b.runs) - 1);
  if (a.runs > 1 && b.runs > 1)
    degrees =
        std::max(1.0, all * all / (share_a * share_a / double(a.runs - 1) + share_b * share_b / double(b.runs - 1)));
  return chance_of_t(difference / std::sqrt(all), degrees);
}

}  // namespace prof
