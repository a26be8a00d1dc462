#include "stats/distributions.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ako::stats {

namespace {

constexpr double k_pi = 3.14159265358979323846;

/// Continued fraction of the incomplete beta function by the modified Lentz method.
double beta_fraction(double a, double b, double x) {
  constexpr double k_tiny = 1e-300;
  auto away_from_zero = [](double v) { return std::fabs(v) < k_tiny ? k_tiny : v; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < 20000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    value *= d * c;
    if (std::fabs(d * c - 1) < 1e-15) break;
  }
  return value;
}

/// I_x(a, b) given x and y = 1 - x apart, so that neither loses digits near 0 or 1.
double beta_parts(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(y));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

/// The x in (low, high) where the falling function f crosses zero.
template <class F> double bisect(double low, double high, F f) {
  for (int i = 0; i < 200 && high - low > 1e-15 * std::max(std::fabs(low), std::fabs(high)); ++i) {
    const double middle = 0.5 * (low + high);
    (f(middle) > 0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

} // namespace

double normal_cdf(double z) { return 0.5 * std::erfc(-z * std::sqrt(0.5)); }

double normal_quantile(double p) {
  AKO_CHECK(p > 0 && p < 1, "normal_quantile wants a probability inside (0, 1)");
  if (p == 0.5) return 0;
  if (p > 0.5) return -normal_quantile(1 - p);
  // Newton on log(cdf), which is concave: from the left it converges without overshooting.
  double z = -std::sqrt(-2 * std::log(p));
  for (int i = 0; i < 60; ++i) {
    const double cdf = normal_cdf(z);
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * k_pi);
    const double step = (std::log(p) - std::log(cdf)) * cdf / density;
    z += step;
    if (std::fabs(step) < 1e-15 * std::max(1.0, std::fabs(z))) break;
  }
  return z;
}

double beta_regularised(double a, double b, double x) {
  AKO_CHECK(a > 0 && b > 0 && x >= 0 && x <= 1, "beta_regularised outside its domain");
  return beta_parts(a, b, x, 1 - x);
}

double student_upper(double t, double degrees) {
  AKO_CHECK(degrees > 0, "Student's t wants degrees of freedom > 0");
  if (t == 0) return 0.5;
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  const double square = t * t, whole = degrees + square;
  const double tail = 0.5 * beta_parts(0.5 * degrees, 0.5, degrees / whole, square / whole);
  return t > 0 ? tail : 1 - tail;
}

double student_upper_quantile(double p, double degrees) {
  AKO_CHECK(p > 0 && p < 1, "student_upper_quantile wants a probability inside (0, 1)");
  if (p == 0.5) return 0;
  if (p > 0.5) return -student_upper_quantile(1 - p, degrees);
  // Newton on log(p) over log(t), which is nearly straight in the tail, inside a bracket.
  double low = 0, high = 1;
  while (student_upper(high, degrees) > p) low = high, high *= 8;
  const double scale = std::exp(std::lgamma(0.5 * (degrees + 1)) - std::lgamma(0.5 * degrees)) /
                       std::sqrt(degrees * k_pi);
  double t = low > 0 ? std::sqrt(low * high) : 0.5 * high;
  for (int i = 0; i < 100; ++i) {
    const double upper = student_upper(t, degrees);
    (upper > p ? low : high) = t;
    const double density = scale * std::pow(1 + t * t / degrees, -0.5 * (degrees + 1));
    double next = t * std::exp(std::log(upper / p) * upper / (density * t));
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const double step = std::fabs(next - t);
    t = next;
    if (step < 4e-16 * t) break;
  }
  return t;
}

double binomial_cdf(long k, long n, double p) {
  AKO_CHECK(n >= 0 && p >= 0 && p <= 1, "binomial_cdf outside its domain");
  if (k < 0) return 0;
  if (k >= n) return 1;
  return beta_parts(static_cast<double>(n - k), static_cast<double>(k + 1), 1 - p, p);
}

double sign_test(long k, long n) {
  if (n == 0) return 1;
  return std::min(1.0, 2 * binomial_cdf(std::min(k, n - k), n, 0.5));
}

Proportion proportion(long k, long n, double level) {
  AKO_CHECK(n >= 1 && k >= 0 && k <= n && level > 0 && level < 1, "proportion outside its domain");
  const double tail = 0.5 * (1 - level);
  Proportion result{static_cast<double>(k) / static_cast<double>(n), 0, 1};
  // The limit below is the p at which k or more heads have chance `tail`; the one above mirrors it.
  if (k > 0)
    result.low = bisect(0, 1, [&](double p) { return tail - (1 - binomial_cdf(k - 1, n, p)); });
  if (k < n) result.high = bisect(0, 1, [&](double p) { return binomial_cdf(k, n, p) - tail; });
  return result;
}

} // namespace ako::stats
