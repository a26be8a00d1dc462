// The distributions that the tests need. Relative errors are below 1e-10 in both tails (held
// against an outside library by tests/golden/stats).
#pragma once

namespace ako::stats {

double normal_cdf(double z);
/// p in (0, 1).
double normal_quantile(double p);

/// I_x(a, b), the regularised incomplete beta function; a, b > 0, x in [0, 1].
double beta_regularised(double a, double b, double x);

/// P(T > t) for Student's t; any real degrees of freedom > 0.
double student_upper(double t, double degrees);
/// The t with P(T > t) = p, p in (0, 1).
double student_upper_quantile(double p, double degrees);

/// P(X <= k) for n trials of chance p.
double binomial_cdf(long k, long n, double p);
/// Two-sided p-value of k heads in n fair throws.
double sign_test(long k, long n);

struct Proportion {
  double value = 0, low = 0, high = 0;
};
/// k of n with exact (Clopper-Pearson) limits; n >= 1.
Proportion proportion(long k, long n, double level);

} // namespace ako::stats
