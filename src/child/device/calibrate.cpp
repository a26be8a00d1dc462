#include "device/calibrate.hpp"

#include "base/time.hpp"
#include "device/sampler.hpp"
#include "device/tensor_rates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace ako::device {
namespace {

using base::Json;
using Work = std::function<base::Status(abi::Stream)>;

/// The work travels in the place of the integers: nothing else here uses them.
int call_work(void* const*, const std::int64_t* integers, const double*, void* stream) {
  const auto& work = *reinterpret_cast<const Work*>(integers);
  return work(static_cast<abi::Stream>(stream)) ? 0 : 1;
}

struct Spread {
  double mean = 0, sd = 0, median = 0, low = 0;
  std::size_t count = 0;
};

Spread spread_of(std::vector<double> values) {
  Spread out;
  out.count = values.size();
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  out.low = values.front();
  out.median = values[values.size() / 2];
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(out.count);
  for (const double v : values) out.sd += (v - out.mean) * (v - out.mean);
  out.sd = std::sqrt(out.sd / static_cast<double>(std::max<std::size_t>(1, out.count - 1)));
  return out;
}

class Bench {
public:
  static base::Expected<std::unique_ptr<Bench>> open(const std::string& uuid,
                                                     const std::string& cache) {
    AKO_TRY(auto gpu, Gpu::open(uuid));
    std::unique_ptr<Bench> bench(new Bench(std::move(gpu)));
    AKO_TRY(bench->m_sampler, Sampler::make(bench->m_gpu));
    AKO_TRY(auto image, compile_kernels(bench->m_gpu.facts(), cache));
    AKO_TRY(auto kernels, Kernels::load(bench->m_gpu, std::move(image)));
    const auto l2 = std::max<std::int64_t>(bench->m_gpu.facts().l2_bytes, 1 << 20);
    AKO_TRY(const auto room, bench->m_gpu.room());
    bench->m_bytes = std::min<std::int64_t>(1ll << 30, room.free / 8 / 4096 * 4096);
    AKO_TRY(bench->m_from, Memory::take(bench->m_gpu, bench->m_bytes));
    AKO_TRY(bench->m_to, Memory::take(bench->m_gpu, bench->m_bytes));
    AKO_TRY(bench->m_evict, Memory::take(bench->m_gpu, 2 * l2));
    AKO_TRY(bench->m_word, Memory::take(bench->m_gpu, 64));
    AKO_TRY_STATUS(bench->m_sampler->use(std::move(kernels), bench->m_evict.at(),
                                         static_cast<std::uint64_t>(2 * l2)));
    return bench;
  }

  const Gpu& gpu() const { return m_gpu; }
  Sampler& sampler() { return *m_sampler; }
  std::uint64_t from() const { return m_from.at(); }
  std::uint64_t to() const { return m_to.at(); }
  std::uint64_t word() const { return m_word.at(); }
  std::int64_t bytes() const { return m_bytes; }

  template <class Params>
  Work kernel(const char* name, Params params, unsigned blocks, unsigned threads) {
    return [this, name, params, blocks, threads](abi::Stream stream) {
      return m_sampler->kernels().launch(name, params, blocks, threads, stream);
    };
  }

  base::Expected<std::vector<double>> times(const Work& work, std::size_t count,
                                            Clock clock = Clock::device,
                                            Cache cache = Cache::warm) {
    SampleJob job;
    job.call = call_work;
    job.integers = reinterpret_cast<const std::int64_t*>(&work);
    job.sets.assign(count, nullptr);
    job.warmup.assign(2, nullptr);
    job.clock = clock;
    job.cache = cache;
    AKO_TRY(auto result, m_sampler->run(job));
    if (result.code != 0 || !result.fault.empty())
      return base::fail(base::ErrorKind::environment, "a calibration kernel failed",
                        {.where = m_gpu.facts().uuid, .found = result.fault});
    m_how = result.how;
    return std::move(result.call_ns);
  }
  const std::string& how() const { return m_how; }

private:
  explicit Bench(Gpu gpu) : m_gpu(std::move(gpu)) {}
  Gpu m_gpu;
  std::unique_ptr<Sampler> m_sampler;
  Memory m_from, m_to, m_evict, m_word;
  std::int64_t m_bytes = 0;
  std::string m_how;
};

unsigned blocks_per_sm(const Bench& bench, unsigned times) {
  return static_cast<unsigned>(std::max(1, bench.gpu().facts().sm_count)) * times;
}

/// Reads plus writes over the fastest of several ways to copy.
base::Status copies(Bench& bench, Json& out) {
  const auto bytes = static_cast<std::uint64_t>(bench.bytes());
  const auto rate = [&](const std::vector<double>& times) {
    return 2.0 * static_cast<double>(bytes) / (spread_of(times).median * 1e-9);
  };
  Json each = Json::object();
  double best = 0;
  const Work driver = [&bench, bytes](abi::Stream stream) {
    return bench.gpu().ok(bench.gpu().api().copy_within(bench.to(), bench.from(), bytes, stream),
                          "copying");
  };
  AKO_TRY(const auto by_driver, bench.times(driver, 12));
  each["driver"] = rate(by_driver);
  best = std::max(best, rate(by_driver));
  const CopyParams params{bench.from(), bench.to(), bytes};
  for (const unsigned threads : {256u, 512u, 1024u})
    for (const unsigned per_sm : {1u, 2u, 4u, 8u, 16u}) {
      if (threads * per_sm > 4096) continue;
      AKO_TRY(const auto times,
              bench.times(
                  bench.kernel("copy_kernel", params, blocks_per_sm(bench, per_sm), threads), 6));
      each[std::to_string(threads) + "x" + std::to_string(per_sm)] = rate(times);
      best = std::max(best, rate(times));
    }
  out["copies"] = each;
  out["copy_bytes_per_s"] = best;
  return {};
}

base::Status reads(Bench& bench, Json& out) {
  double best = 0;
  for (const unsigned per_sm : {2u, 4u, 8u}) {
    const ReadParams params{bench.from(), static_cast<std::uint64_t>(bench.bytes()), bench.word()};
    AKO_TRY(const auto times,
            bench.times(bench.kernel("read_kernel", params, blocks_per_sm(bench, per_sm), 512), 8));
    best = std::max(best, static_cast<double>(bench.bytes()) / (spread_of(times).median * 1e-9));
  }
  out["read_bytes_per_s"] = best;
  // Two sizes that fit: the slope has no launch in it.
  const auto l2 = static_cast<std::uint64_t>(bench.gpu().facts().l2_bytes);
  double time[2] = {};
  const std::uint64_t sizes[2] = {l2 / 8, l2 / 3};
  for (int i = 0; i < 2; ++i) {
    const ReadParams params{bench.from(), sizes[i] / 4096 * 4096, bench.word()};
    AKO_TRY(const auto times,
            bench.times(bench.kernel("read_kernel", params, blocks_per_sm(bench, 4), 512), 40));
    time[i] = spread_of(times).median;
  }
  out["l2_bytes_per_s"] =
      time[1] > time[0] ? Json(static_cast<double>(sizes[1] - sizes[0]) / (time[1] - time[0]) * 1e9)
                        : Json(nullptr);
  return {};
}

base::Status arithmetic(Bench& bench, Json& out) {
  constexpr std::uint64_t k_rounds = 20000;
  const unsigned blocks = blocks_per_sm(bench, 8), threads = 256;
  AKO_TRY(const auto times,
          bench.times(
              bench.kernel("fma_kernel", WorkParams{k_rounds, bench.word()}, blocks, threads), 8));
  const double flops = 2.0 * 8 * static_cast<double>(k_rounds) * blocks * threads;
  out["flops_per_s"] = flops / (spread_of(times).median * 1e-9);
  return {};
}

/// Operations a second of each tensor instruction; what cannot be had is named with its reason.
base::Status tensor_cores(Bench& bench, const std::string& cache, Json& out) {
  constexpr std::uint64_t k_rounds = 1000;
  const int major = bench.gpu().facts().major, minor = bench.gpu().facts().minor;
  out["tensor"] = Json::object();
  if (tensor_rates(major, minor).empty()) return {};
  auto image =
      compile_source(tensor_source(major, minor), tensor_architecture(major, minor), cache);
  if (!image) {
    out["tensor"]["unavailable"] = image.error().text();
    return {};
  }
  AKO_TRY(const Kernels kernels, Kernels::load(bench.gpu(), std::move(*image)));
  for (const TensorRate& rate : tensor_rates(major, minor)) {
    const unsigned blocks = blocks_per_sm(bench, rate.blocks_per_sm);
    const Work work = [&](abi::Stream stream) {
      return kernels.launch(rate.kernel.c_str(), WorkParams{k_rounds, bench.word()}, blocks,
                            rate.threads, stream);
    };
    AKO_TRY(const auto times, bench.times(work, 20));
    const double ns = spread_of(times).median;
    out["tensor"][rate.dtype] = {{"ops_per_s", rate.ops_a_round * k_rounds * blocks / (ns * 1e-9)},
                                 {"how", rate.how}};
  }
  return {};
}

/// The instrument on a kernel that takes a set time: slope and constant by least squares.
base::Status spins(Bench& bench, Json& out) {
  Json rows = Json::array();
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const std::uint64_t asked :
       {0u, 500u, 1000u, 2000u, 5000u, 10000u, 20000u, 50000u, 100000u, 1000000u, 10000000u}) {
    const auto work = bench.kernel("spin_kernel", SpinParams{asked, 0, 0, bench.word()}, 1, 32);
    AKO_TRY(const auto times, bench.times(work, asked >= 1000000 ? 10
                                                : asked > 20000  ? 200
                                                                 : 1000));
    const auto spread = spread_of(times);
    rows.push_back({{"asked_ns", asked},
                    {"mean_ns", spread.mean},
                    {"sd_ns", spread.sd},
                    {"records", spread.count}});
    if (asked < 10000) continue;
    // Relative errors count alike at every length.
    const double x = static_cast<double>(asked), w = 1 / (x * x);
    n += w;
    sx += w * x;
    sy += w * spread.mean;
    sxx += w * x * x;
    sxy += w * x * spread.mean;
  }
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  out["spin"] = rows;
  out["spin_slope"] = slope;
  out["spin_constant_ns"] = (sy - slope * sx) / n;
  return {};
}

base::Status noise(Bench& bench, Json& out) {
  constexpr std::uint64_t k_base = 10000, k_spread = 4000; // uniform: sd = spread / sqrt(12)
  const std::uint64_t zero = 0;
  AKO_TRY_STATUS(bench.gpu().copy_in(bench.word(), std::as_bytes(std::span(&zero, 1))));
  const auto work = bench.kernel(
      "spin_kernel", SpinParams{k_base, k_spread, bench.word(), bench.word() + 8}, 1, 32);
  AKO_TRY(const auto times, bench.times(work, 1000));
  const auto spread = spread_of(times);
  out["noise"] = {{"asked_mean_ns", static_cast<double>(k_base) + k_spread / 2.0},
                  {"mean_ns", spread.mean},
                  {"asked_sd_ns", k_spread / std::sqrt(12.0)},
                  {"sd_ns", spread.sd},
                  {"records", spread.count}};
  return {};
}

base::Status launches(Bench& bench, Json& out) {
  const auto empty = bench.kernel("empty_kernel", ReadParams{0, 0, bench.word()}, 1, 32);
  const auto median = [&](const Work& work, Clock clock) -> base::Expected<double> {
    AKO_TRY(auto times, bench.times(work, 200, clock));
    return spread_of(times).median;
  };
  AKO_TRY(out["empty_kernel_ns"], median(empty, Clock::device));
  AKO_TRY(out["graph_ns"], median(empty, Clock::graph));
  AKO_TRY(out["event_ns"], median(empty, Clock::events));
  AKO_TRY(out["call_ns"], median(empty, Clock::call));
  const Work twice = [&empty](abi::Stream stream) -> base::Status {
    AKO_TRY_STATUS(empty(stream));
    return empty(stream);
  };
  AKO_TRY(const double both, median(twice, Clock::device));
  out["gap_ns"] = both - 2 * out["empty_kernel_ns"].get<double>();
  const auto begin = base::monotonic_ns();
  constexpr int k_launches = 200;
  for (int i = 0; i < k_launches; ++i) AKO_TRY_STATUS(empty(bench.sampler().stream()));
  out["launch_ns"] = static_cast<double>(base::monotonic_ns() - begin) / k_launches;
  return bench.gpu().ok(bench.gpu().api().stream_wait(bench.sampler().stream()), "launching");
}

} // namespace

base::Expected<Json> calibrate(const std::string& uuid, const std::string& cache) {
  AKO_TRY(auto bench, Bench::open(uuid, cache));
  const auto& facts = bench->gpu().facts();
  Json out{{"uuid", facts.uuid}, {"name", facts.name}};
  // Two transfers a clock and lane: double data rate, as datasheets count.
  out["datasheet_bytes_per_s"] = 2.0 * facts.memory_clock_khz * 1e3 * facts.memory_bus_bits / 8;
  AKO_TRY_STATUS(copies(*bench, out));
  AKO_TRY_STATUS(reads(*bench, out));
  AKO_TRY_STATUS(arithmetic(*bench, out));
  AKO_TRY_STATUS(tensor_cores(*bench, cache, out));
  AKO_TRY_STATUS(spins(*bench, out));
  AKO_TRY_STATUS(noise(*bench, out));
  AKO_TRY_STATUS(launches(*bench, out));
  AKO_TRY(const auto residency, bench->sampler().probe(bench->from(), 4 << 20));
  out["residency"] = {{"cached_cycles", residency.cached_cycles},
                      {"evicted_cycles", residency.evicted_cycles},
                      {"memory_cycles", residency.memory_cycles},
                      {"resident_share", residency.resident_share}};
  out["how"] = bench->how();
  return out;
}

} // namespace ako::device
