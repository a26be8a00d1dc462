#include "evaluation/counted.hpp"

namespace ako::evaluation {

void Counted::Sum::add(std::int64_t value, int of) {
  if (value < 0) return;
  count += static_cast<double>(value);
  calls += of;
}

base::Json Counted::Sum::mean() const {
  return calls == 0 ? base::Json() : base::Json(count / static_cast<double>(calls));
}

void Counted::add(const std::string& shape, model::Side side, const client::SampleReport& block) {
  const client::Counters& got = block.counters;
  if (block.calls <= 0 || (got.cycles < 0 && got.instructions < 0 && got.cache_misses < 0)) return;
  Sums& sums = m_sums[{shape, side}];
  sums.calls += block.calls;
  sums.cycles.add(got.cycles, block.calls);
  sums.instructions.add(got.instructions, block.calls);
  sums.misses.add(got.cache_misses, block.calls);
}

base::Json Counted::json() const {
  base::Json out = base::Json::array();
  for (const auto& [key, sums] : m_sums)
    out.push_back({{"shape", key.first},
                   {"side", model::to_string(key.second)},
                   {"calls", sums.calls},
                   {"cycles", sums.cycles.mean()},
                   {"instructions", sums.instructions.mean()},
                   {"cache_misses", sums.misses.mean()}});
  return out;
}

} // namespace ako::evaluation
