#include "evaluation/blocks.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <cmath>
#include <sys/random.h>

namespace ako::evaluation {
namespace {

constexpr double k_warm_pass_ns = 100e3, k_cold_pass_ns = 400e3;
constexpr int k_most_sets = 64;
/// With an eviction of some milliseconds before each call.
constexpr int k_most_evicted_sets = 4;
/// Cold sets are few where each is large: poison and checks move all their bytes.
constexpr std::int64_t k_cold_bytes = 16ll << 20;
constexpr std::int64_t k_most_arena_bytes = 512ll << 20;
/// Wall time that one shape of one placement may take, evictions, fills and checks included.
constexpr double k_placement_ns = 0.25e9, k_device_placement_ns = 0.35e9;
/// Reading twice a cache of 32 MiB takes about 5 ms; fills, poison and checks move each byte of a
/// set about six times at about 4 GB/s.
constexpr double k_evict_ns_per_byte = 5e6 / (64 << 20);
constexpr double k_handle_ns_per_byte = 6 / 4.0;
constexpr int k_least_pairs = 4;

std::vector<int> range(int first, int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = first + i;
  return out;
}

std::int64_t bytes_with(const model::Contract& contract, const model::ResolvedShape& shape,
                        model::Lifetime lifetime) {
  std::int64_t sum = 0;
  for (std::size_t t = 0; t < shape.tensors.size(); ++t)
    if (contract.tensors[t].lifetime == lifetime) sum += shape.tensors[t].bytes;
  return sum;
}

} // namespace

std::vector<int> BlockPlan::timed() const { return range(0, timed_sets); }
std::vector<int> BlockPlan::warmup() const { return range(timed_sets, warmup_sets); }

std::int64_t fresh_bytes(const model::Contract& contract, const model::ResolvedShape& shape) {
  return bytes_with(contract, shape, model::Lifetime::fresh);
}
std::int64_t static_bytes(const model::Contract& contract, const model::ResolvedShape& shape) {
  return bytes_with(contract, shape, model::Lifetime::static_);
}
bool has_inouts(const model::ResolvedShape& shape) {
  return std::any_of(shape.tensors.begin(), shape.tensors.end(),
                     [](const auto& tensor) { return tensor.role == model::TensorRole::inout; });
}

namespace {

/// Calls share the static tensors: one of them that is to be cold must be evicted before each call.
bool shares_cold(const model::Contract& contract, const model::ResolvedShape& shape) {
  for (std::size_t t = 0; t < shape.tensors.size(); ++t) {
    const auto cache = contract.tensors[t].cache.value_or(contract.accept.cache);
    if (contract.tensors[t].lifetime == model::Lifetime::static_ &&
        cache == model::CacheState::cold && shape.tensors[t].bytes > 0)
      return true;
  }
  return false;
}

} // namespace

namespace {

/// Device blocks: gate, eviction by reads at the speed of its memory, a handful of commands.
constexpr double k_device_block_ns = 1.2e6, k_device_evict_ns_per_byte = 1 / 4000.0;
constexpr double k_device_command_ns = 1.5e6; ///< of one block: fill, poison, check and frames
/// Wholly new inputs, marks and checks: seen on an H200, most of it the generator's arithmetic.
constexpr double k_device_handle_ns_per_byte = 1 / 30.0;
constexpr int k_most_device_sets = 32;
constexpr std::int64_t k_most_device_arena_bytes = 512ll << 20;

void plan_device_blocks(BlockPlan& plan, const model::Contract& contract, std::int64_t set_bytes,
                        double call_ns, std::int64_t cache_bytes) {
  const double evict = plan.cache == model::CacheState::cold
                           ? k_device_evict_ns_per_byte * 2.0 * static_cast<double>(cache_bytes)
                           : 2e3;
  const double each = call_ns + evict;
  const auto room = std::max<std::int64_t>(k_most_device_arena_bytes / set_bytes - 1, 1);
  plan.timed_sets = static_cast<int>(std::clamp<std::int64_t>(
      std::min(room, static_cast<std::int64_t>(k_device_block_ns / each)), 1, k_most_device_sets));
  const double handling =
      k_device_handle_ns_per_byte * static_cast<double>(set_bytes) * plan.timed_sets;
  const double pair_ns = 2 * (plan.timed_sets * each + handling + k_device_command_ns);
  plan.pairs = std::clamp(static_cast<int>(k_device_placement_ns / pair_ns),
                          std::min(k_least_pairs, contract.limits.pairs), contract.limits.pairs);
}

} // namespace

BlockPlan plan_blocks(const model::Contract& contract, const model::ResolvedShape& shape,
                      double call_ns, std::int64_t cache_bytes) {
  BlockPlan plan;
  plan.cache = contract.accept.cache;
  for (std::size_t t = 0; t < contract.tensors.size(); ++t)
    if (contract.tensors[t].cache && *contract.tensors[t].cache != plan.cache)
      plan.warm_tensors.push_back(static_cast<int>(t));
  const auto set_bytes = std::max<std::int64_t>(fresh_bytes(contract, shape), 1);
  const double call = std::max(call_ns, 1.0);
  if (contract.kernel.lane != model::Lane::cpu) {
    plan_device_blocks(plan, contract, set_bytes, call, cache_bytes);
    return plan;
  }
  double block_ns = 0;
  if (plan.cache == model::CacheState::warm) {
    const auto room = std::max<std::int64_t>(cache_bytes / 2 / set_bytes, 1);
    const auto wanted = static_cast<std::int64_t>(std::ceil(k_warm_pass_ns / call));
    plan.timed_sets =
        static_cast<int>(std::clamp<std::int64_t>(std::min(room, wanted), 1, k_most_sets));
    block_ns = plan.timed_sets * call;
  } else {
    const bool once = !shares_cold(contract, shape);
    const auto room = std::max<std::int64_t>(k_cold_bytes / set_bytes, 1);
    const auto wanted = static_cast<std::int64_t>(std::ceil(k_cold_pass_ns / call));
    plan.timed_sets = static_cast<int>(std::clamp<std::int64_t>(
        std::min(room, wanted), 1, once ? k_most_sets : k_most_evicted_sets));
    plan.eviction =
        once ? client::SampleJob::Eviction::once : client::SampleJob::Eviction::every_call;
    const double evict = k_evict_ns_per_byte * 2.0 * static_cast<double>(cache_bytes);
    block_ns = plan.timed_sets * call + (once ? 1 : plan.timed_sets) * evict;
  }
  while (plan.timed_sets > 1 && set_bytes * plan.sets() > k_most_arena_bytes) --plan.timed_sets;
  const double handling = k_handle_ns_per_byte * static_cast<double>(set_bytes) * plan.sets();
  const double pair_ns = 2 * (block_ns + handling);
  plan.pairs = std::clamp(static_cast<int>(k_placement_ns / pair_ns),
                          std::min(k_least_pairs, contract.limits.pairs), contract.limits.pairs);
  return plan;
}

std::uint64_t draw_seed() {
  std::uint64_t seed = 0;
  AKO_CHECK(::getrandom(&seed, sizeof seed, 0) == sizeof seed, "the kernel gives no random bytes");
  return seed;
}

} // namespace ako::evaluation
