// For stand-alone benchmarks: figures of a series, and two jobs in turn.
#include "measure/context.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace {

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const auto high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

double mean_of(const std::vector<double>& sorted, std::size_t from, std::size_t to) {
  double sum = 0;
  for (auto i = from; i < to; ++i) sum += sorted[i];
  return sum / static_cast<double>(to - from);
}

std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

} // namespace

int ako_measure_summarise(const double* values, uint32_t n, ako_measure_summary* out) {
  if (!values || n == 0 || !out || out->size < sizeof(out->size)) return AKO_MEASURE_INVALID;
  try {
    std::vector<double> sorted(values, values + n);
    std::sort(sorted.begin(), sorted.end());
    ako_measure_summary result{};
    result.size = out->size;
    result.n = n;
    result.median = quantile(sorted, 0.5);
    result.minimum = sorted.front();
    result.p05 = quantile(sorted, 0.05);
    result.p95 = quantile(sorted, 0.95);
    result.mean = mean_of(sorted, 0, n);
    result.trimmed_mean = mean_of(sorted, n / 10, n - n / 10);
    std::memcpy(out, &result, std::min<std::size_t>(out->size, sizeof result));
  } catch (const std::bad_alloc&) {
    return AKO_MEASURE_MEMORY;
  }
  return AKO_MEASURE_OK;
}

int ako_measure_pairs(ako_measure* context, const ako_measure_job* job0,
                      const ako_measure_job* job1, uint32_t pairs, uint64_t seed,
                      int (*refresh)(void* user, int side), void* user, double* times0,
                      double* times1) {
  if (!context || !job0 || !job1 || !times0 || !times1) return AKO_MEASURE_INVALID;
  for (uint32_t pair = 0; pair < pairs; ++pair) {
    const int first = static_cast<int>(next_random(seed) >> 63);
    for (const int side : {first, 1 - first}) {
      if (refresh && refresh(user, side) != 0)
        return context->fail(AKO_MEASURE_INVALID, "refresh asked to stop");
      ako_measure_result result{};
      result.size = sizeof result;
      const int status =
          ako_measure_run(context, side == 0 ? job0 : job1, nullptr, nullptr, &result);
      if (status != AKO_MEASURE_OK) return status;
      (side == 0 ? times0 : times1)[pair] = result.total_ns / result.calls;
    }
  }
  return AKO_MEASURE_OK;
}
