#include "evaluation/crowds.hpp"

#include <algorithm>
#include <map>

namespace ako::evaluation {
namespace {

constexpr std::size_t k_least_readings = 50; ///< before a block is called crowded

using Free = std::array<std::optional<double>, 2>;

Free free_times(const PairParts& parts, double free_core) {
  return {stats::free_time(parts.stretches[0], free_core),
          stats::free_time(parts.stretches[1], free_core)};
}

void put(model::Sample& row, double ns, std::uint32_t flags) {
  row.device_ns = ns;
  row.flags &= ~(model::sample_flag::free_calls | model::sample_flag::crowded);
  row.flags |= flags;
}

} // namespace

std::vector<stats::Stretch> parts_of(const client::SampleReport& report) {
  std::vector<stats::Stretch> out;
  for (const auto& each : report.stretches) out.push_back({each.ns, each.calls, each.crowding});
  return out;
}

void Crowds::add(std::size_t placement, std::size_t shape, std::size_t pair,
                 const stats::Pair& as_measured, PairParts parts) {
  for (const auto& side : parts.stretches)
    for (const auto& each : side) m_readings.push_back(each.crowding);
  m_entries.push_back({placement, shape, pair, as_measured, std::move(parts)});
}

bool Crowds::crowded(const PairParts& parts) const {
  if (m_readings.size() < k_least_readings) return false;
  if (parts.stretches[0].empty() || parts.stretches[1].empty()) return false;
  const Free free = free_times(parts, stats::free_core(m_readings));
  return !free[0] || !free[1];
}

void Crowds::apply(stats::Series& series, std::vector<model::Sample>& rows) const {
  const double free_core = stats::free_core(m_readings);
  if (!(free_core > 0)) return;
  std::map<std::pair<std::size_t, std::size_t>, Group> groups;
  for (const Entry& entry : m_entries)
    if (entry.placement < series.placements.size())
      groups[{entry.placement, entry.shape}].push_back(&entry);
  for (const auto& [where, group] : groups) apply(group, free_core, series, rows);
}

void Crowds::apply(const Group& group, double free_core, stats::Series& series,
                   std::vector<model::Sample>& rows) const {
  std::vector<Free> free;
  std::size_t quiet = 0, enough = 0;
  for (const Entry* entry : group) {
    free.push_back(free_times(entry->parts, free_core));
    if (entry->as_measured.condition == stats::Condition::disturbed) continue;
    ++quiet;
    enough += free.back()[0] && free.back()[1];
  }
  const bool choose = enough >= 2 && 2 * enough >= group.size() && quiet > 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Entry& entry = *group[i];
    stats::Pair& pair = series.placements[entry.placement].pairs[entry.shape][entry.pair];
    pair = entry.as_measured;
    std::uint32_t flags = 0;
    if (choose && free[i][0] && free[i][1]) {
      pair.old_ns = *free[i][0];
      pair.new_ns = *free[i][1];
      flags = model::sample_flag::free_calls;
    } else if (choose) {
      pair.condition = stats::Condition::disturbed;
      flags = model::sample_flag::crowded;
    }
    put(rows[entry.parts.rows[0]], pair.old_ns, flags);
    put(rows[entry.parts.rows[1]], pair.new_ns, flags);
  }
}

} // namespace ako::evaluation
