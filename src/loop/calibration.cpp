#include "loop/calibration.hpp"

#include "base/fs.hpp"
#include "base/hash.hpp"
#include "base/time.hpp"
#include "workspace/workdir.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace ako::loop {
namespace {

/// Best rate over repeated runs of `work` (units a call) on `threads` threads started together.
template <class Work> double best_rate(int threads, double seconds, double units, Work work) {
  std::vector<double> best(static_cast<std::size_t>(threads), 0);
  std::vector<std::thread> team;
  std::atomic<int> waiting{threads};
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      --waiting;
      while (waiting.load() > 0) std::this_thread::yield();
      const auto deadline = base::Deadline::after_seconds(seconds);
      do {
        const std::int64_t before = base::monotonic_ns();
        work(t);
        const std::int64_t taken = base::monotonic_ns() - before;
        auto& mine = best[static_cast<std::size_t>(t)];
        if (taken > 0) mine = std::max(mine, units * 1e9 / static_cast<double>(taken));
      } while (!deadline.passed());
    });
  for (auto& thread : team) thread.join();
  double sum = 0;
  for (double rate : best) sum += rate;
  return sum;
}

std::uint64_t read_all(const std::vector<std::uint64_t>& words) {
  std::uint64_t sums[16] = {};
  for (std::size_t i = 0; i + 16 <= words.size(); i += 16)
    for (std::size_t k = 0; k < 16; ++k) sums[k] ^= words[i + k];
  std::uint64_t sum = 0;
  for (std::uint64_t part : sums) sum ^= part;
  return sum;
}

double read_rate(int threads, double seconds, std::size_t bytes, int passes) {
  std::vector<std::vector<std::uint64_t>> buffers(static_cast<std::size_t>(threads));
  for (auto& buffer : buffers) buffer.assign(bytes / 8, 1);
  std::atomic<std::uint64_t> sink{0};
  return best_rate(threads, seconds, static_cast<double>(bytes) * passes, [&](int t) {
    std::uint64_t sum = 0;
    for (int pass = 0; pass < passes; ++pass) sum ^= read_all(buffers[static_cast<std::size_t>(t)]);
    sink ^= sum;
  });
}

double flop_rate(int threads, double seconds) {
  constexpr int k_rounds = 20000, k_lanes = 128;
  std::atomic<int> sink{0};
  return best_rate(threads, seconds, 2.0 * k_rounds * k_lanes, [&](int t) {
    float lanes[k_lanes];
    for (int i = 0; i < k_lanes; ++i) lanes[i] = static_cast<float>(t + i);
    for (int round = 0; round < k_rounds; ++round)
      for (float& lane : lanes) lane = lane * 0.999f + 0.5f;
    sink += lanes[7] > 0 ? 1 : 0;
  });
}

base::fs::path place(const HostFacts& host) {
  std::string key = base::sha256(host.cpu + " " + std::to_string(host.cores)).substr(0, 16);
  return workspace::Workdir::cache_root() / "calibration" / (key + ".json");
}

} // namespace

Calibration calibrate_host(double seconds) {
  const HostFacts host = host_facts();
  const double part = seconds / 4;
  Calibration out;
  const auto cache = static_cast<std::size_t>(std::max<std::int64_t>(host.cache_bytes, 1 << 20));
  const auto threads = std::max(1, host.cores);
  out.memory_bytes_per_s =
      read_rate(threads, part, std::min<std::size_t>(8 * cache, 512u << 20), 1);
  out.cache_bytes_per_s = read_rate(threads, part, 16u << 10, 256);
  out.flops_per_s = flop_rate(threads, part);
  std::int64_t tick = INT64_MAX;
  double overhead = 1e9;
  const auto deadline = base::Deadline::after_seconds(part);
  while (!deadline.passed()) {
    const std::int64_t a = base::monotonic_ns(), b = base::monotonic_ns();
    if (b > a) tick = std::min(tick, b - a);
    overhead = std::min(overhead, static_cast<double>(b - a));
  }
  out.clock_tick_ns = static_cast<double>(tick);
  out.call_overhead_ns = overhead;
  return out;
}

base::Json to_json(const Calibration& calibration) {
  return {{"memory_bytes_per_s", calibration.memory_bytes_per_s},
          {"cache_bytes_per_s", calibration.cache_bytes_per_s},
          {"flops_per_s", calibration.flops_per_s},
          {"clock_tick_ns", calibration.clock_tick_ns},
          {"call_overhead_ns", calibration.call_overhead_ns}};
}

std::optional<Calibration> load_calibration(const HostFacts& host) {
  auto text = base::read_file(place(host), 1 << 16);
  if (!text) return std::nullopt;
  auto json = base::parse_json(*text, "calibration");
  if (!json) return std::nullopt;
  Calibration out;
  out.memory_bytes_per_s = base::get_or<double>(*json, "memory_bytes_per_s", 0);
  out.cache_bytes_per_s = base::get_or<double>(*json, "cache_bytes_per_s", 0);
  out.flops_per_s = base::get_or<double>(*json, "flops_per_s", 0);
  out.clock_tick_ns = base::get_or<double>(*json, "clock_tick_ns", 0);
  out.call_overhead_ns = base::get_or<double>(*json, "call_overhead_ns", 0);
  return out;
}

base::Status save_calibration(const HostFacts& host, const Calibration& calibration) {
  return base::write_file_atomic(place(host), base::dump_json(to_json(calibration), 2) + "\n");
}

} // namespace ako::loop
