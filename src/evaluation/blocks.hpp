// How a shape is cut into timed blocks: pure arithmetic over sizes and a first timing.
#pragma once

#include "client/worker.hpp"
#include "model/contract.hpp"
#include "model/resolved.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace ako::evaluation {

struct BlockPlan {
  int timed_sets = 1;  ///< each called exactly once a block, never seen before
  int warmup_sets = 1; ///< called before, untimed
  int pairs = 10;      ///< of blocks, per placement
  model::CacheState cache = model::CacheState::cold;
  client::SampleJob::Eviction eviction = client::SampleJob::Eviction::every_call; ///< cold
  std::vector<int> warm_tensors; ///< tensors that differ from `cache`
  int sets() const { return timed_sets + warmup_sets; }
  std::vector<int> timed() const;
  std::vector<int> warmup() const;
};

/// Bytes that one set adds: fresh tensors of any role, without static ones.
std::int64_t fresh_bytes(const model::Contract& contract, const model::ResolvedShape& shape);
std::int64_t static_bytes(const model::Contract& contract, const model::ResolvedShape& shape);
bool has_inouts(const model::ResolvedShape& shape);

/// `call_ns`: a first estimate of one call. Warm: as many sets as keep half of the cache free, up
/// to a pass of about 100 us. Cold: one eviction a block where no tensor is shared between sets (as
/// many sets as make 400 us), else one a call (few sets). Long calls take fewer pairs, so that a
/// placement of one shape stays near a third of a second; never fewer than 4.
/// On a device every call is timed alone by device timestamps, evicted (or warmed) before each; a
/// block is about 2 ms of device time.
BlockPlan plan_blocks(const model::Contract& contract, const model::ResolvedShape& shape,
                      double call_ns, std::int64_t cache_bytes);

/// Counter-seeded generator for coins and choices, so that a run can be repeated from its seed.
class Coins {
public:
  explicit Coins(std::uint64_t seed) : m_engine(seed) {}
  bool flip() { return (m_engine() & 1u) != 0; }
  std::uint64_t draw() { return m_engine(); }
  int below(int bound) { return static_cast<int>(m_engine() % static_cast<std::uint64_t>(bound)); }

private:
  std::mt19937_64 m_engine;
};

/// From the machine's entropy; what is secret until after the candidate is loaded.
std::uint64_t draw_seed();

} // namespace ako::evaluation
