#include "stats/best_of.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace ako::stats {

double bonferroni(double alpha, int candidates) {
  AKO_CHECK(candidates >= 1, "a best of fewer than one");
  return alpha / candidates;
}

base::Expected<std::vector<bool>> holm(std::span<const double> p_values, double alpha) {
  for (std::size_t i = 0; i < p_values.size(); ++i)
    if (!(p_values[i] >= 0 && p_values[i] <= 1))
      return base::fail(base::ErrorKind::invalid, "a p-value is not a probability",
                        {.where = fmt::format("entry {} of {}", i + 1, p_values.size()),
                         .found = fmt::format("{}", p_values[i]),
                         .allowed = "0 to 1",
                         .next = ""});
  std::vector<std::size_t> by_size(p_values.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<bool> rejected(p_values.size(), false);
  for (std::size_t rank = 0; rank < by_size.size(); ++rank) {
    // The first that fails keeps all larger ones, whatever their own level would say.
    if (p_values[by_size[rank]] > alpha / static_cast<double>(p_values.size() - rank)) break;
    rejected[by_size[rank]] = true;
  }
  return rejected;
}

Claim winner_rule(int candidates, Evidence evidence) {
  return candidates > 1 && evidence == Evidence::selection ? Claim::measure_again : Claim::stands;
}

} // namespace ako::stats
