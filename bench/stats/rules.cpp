#include "rules.hpp"

#include "stats/distributions.hpp"
#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>

namespace ako::bench {

namespace {

/// The rank (from 0) of the lower end of the sign-test interval for n values at 95 %: the largest k
/// with P(Bin(n, 1/2) < k) at most 2.5 %. Remembered, since every trial asks for the same n.
std::size_t lower_rank(std::size_t n) {
  thread_local std::size_t last_n = 0, last_rank = 0;
  if (n == last_n) return last_rank;
  long k = 0;
  while (stats::binomial_cdf(k, static_cast<long>(n), 0.5) <= 0.025) ++k;
  last_n = n;
  last_rank = static_cast<std::size_t>(std::max(0L, k - 1));
  return last_rank;
}

} // namespace

RatioInterval interleaved_sign_interval(const Moments& moments, double gain) {
  const int rounds = moments.placements * moments.pairs;
  std::vector<double> ratios;
  ratios.reserve(static_cast<std::size_t>(rounds));
  for (int round = 0; round < rounds; ++round) {
    const bool new_first = round % 4 == 1 || round % 4 == 2; // AB BA BA AB
    const double first = moments.at(2 * round, new_first ? 1 : 0, gain);
    const double second = moments.at(2 * round + 1, new_first ? 0 : 1, gain);
    ratios.push_back(std::log(new_first ? first / second : second / first));
  }
  std::sort(ratios.begin(), ratios.end());
  const std::size_t rank = lower_rank(ratios.size());
  return {-std::expm1(ratios[ratios.size() - 1 - rank]), -std::expm1(ratios[rank])};
}

Call call_of(const RatioInterval& interval, double minimum) {
  if (interval.low > minimum) return Call::faster;
  if (interval.high < -minimum) return Call::slower;
  return Call::nothing;
}

double u_test_p(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, int>> all;
  for (double v : a) all.push_back({v, 0});
  for (double v : b) all.push_back({v, 1});
  std::sort(all.begin(), all.end());
  double ranks_a = 0, ties = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t j = i;
    while (j < all.size() && all[j].first == all[i].first) ++j;
    const double rank = 0.5 * static_cast<double>(i + 1 + j), tied = static_cast<double>(j - i);
    ties += tied * tied * tied - tied;
    for (; i < j; ++i)
      if (all[i].second == 0) ranks_a += rank;
  }
  const auto m = static_cast<double>(a.size()), n = static_cast<double>(b.size()), whole = m + n;
  const double u = ranks_a - 0.5 * m * (m + 1);
  const double sigma = std::sqrt(m * n / 12 * (whole + 1 - ties / (whole * (whole - 1))));
  if (!(sigma > 0)) return 1;
  const double z = (std::fabs(u - 0.5 * m * n) - 0.5) / sigma;
  return std::min(1.0, 2 * stats::normal_cdf(-z));
}

Call block_u_test(const Moments& moments, double gain, int repetitions) {
  const int half = moments.placements * moments.pairs, calls = half / repetitions;
  std::vector<double> sides[2];
  for (int side = 0; side < 2; ++side)
    for (int r = 0; r < repetitions; ++r) {
      double sum = 0;
      for (int i = 0; i < calls; ++i) sum += moments.at(side * half + r * calls + i, side, gain);
      sides[side].push_back(sum / calls);
    }
  if (u_test_p(sides[0], sides[1]) >= 0.05) return Call::nothing;
  return stats::median(sides[1]) < stats::median(sides[0]) ? Call::faster : Call::slower;
}

} // namespace ako::bench
