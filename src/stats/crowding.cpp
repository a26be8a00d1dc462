#include "stats/crowding.hpp"

#include <algorithm>

namespace ako::stats {

double free_core(std::vector<double> readings) {
  std::erase_if(readings, [](double each) { return !(each > 0); });
  if (readings.empty()) return 0;
  const std::size_t at =
      std::min(readings.size() - 1, std::max<std::size_t>(1, readings.size() / 50));
  std::nth_element(readings.begin(), readings.begin() + static_cast<long>(at), readings.end());
  return readings[at];
}

std::optional<double> free_time(std::span<const Stretch> block, double free_core) {
  double ns = 0;
  long calls = 0;
  for (const Stretch& each : block) {
    if (!(each.crowding > 0) || each.crowding > k_free_within * free_core) continue;
    ns += each.ns;
    calls += each.calls;
  }
  if (calls == 0 || !(ns > 0)) return std::nullopt;
  return ns / static_cast<double>(calls);
}

} // namespace ako::stats
