#include "keeper/buffers.hpp"

#include "base/hash.hpp"
#include "base/parallel.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace ako::keeper {

using base::ErrorKind;
using model::TensorRole;

namespace {

/// Elements that one thread fills at a time, and bytes below which one thread does it all.
constexpr std::int64_t k_part_elements = 1 << 19;
constexpr std::int64_t k_alone_bytes = 4 << 20;

} // namespace

base::Expected<std::unique_ptr<Store>> Buffers::make(model::ArenaPlan plan,
                                                     std::vector<protocol::ArenaTensor> tensors,
                                                     const std::string& tag,
                                                     std::vector<int> cores) {
  AKO_TRY_STATUS(check_plan(plan, tensors.size()));
  auto made = std::make_unique<Buffers>();
  auto& buffers = *made;
  const auto bytes = static_cast<std::size_t>(plan.bytes);
  AKO_TRY(buffers.m_fd, base::make_memfd("ako-arena-" + tag, bytes));
  AKO_TRY(buffers.m_mapping,
          base::Mapping::map(buffers.m_fd.get(), bytes, plan.address, base::Access::read_write));
  buffers.m_plan = std::move(plan);
  buffers.m_tensors = std::move(tensors);
  buffers.m_red_seed = random_word();
  buffers.m_cores = std::move(cores);
  buffers.m_sums.resize(buffers.m_plan.places.size());
  buffers.m_poisoned.resize(buffers.m_plan.places.size());
  for (const auto& place : buffers.m_plan.places) buffers.lay_red_zones(place);
  return made;
}

std::span<std::byte> Buffers::bytes_of(const model::BufferPlace& place) const {
  return {m_mapping.data() + place.offset, static_cast<std::size_t>(place.bytes)};
}

base::Expected<Region> Buffers::region(int tensor, int set) const {
  for (const auto& place : m_plan.places)
    if (place.tensor == tensor && place.set == set)
      return Region{reinterpret_cast<std::uint64_t>(bytes_of(place).data()), place.bytes};
  return base::fail(ErrorKind::invalid, "no such buffer in the arena",
                    {.found = fmt::format("tensor {} set {}", tensor, set)});
}

base::Status Buffers::move(const Region& to, const Region& from) {
  std::memmove(reinterpret_cast<void*>(to.at), reinterpret_cast<const void*>(from.at),
               static_cast<std::size_t>(from.bytes));
  return {};
}

base::Status Buffers::fill(const FillRequest& request, FillLibrary& library) {
  for (const auto& order : request.orders) {
    if (order.tensor < 0 || static_cast<std::size_t>(order.tensor) >= m_tensors.size())
      return base::fail(ErrorKind::invalid, "a fill for no tensor of the arena");
    const auto& tensor = m_tensors[static_cast<std::size_t>(order.tensor)];
    if (!is_filled(tensor.resolved.role)) continue;
    AKO_TRY(const auto sources, library.sources(order));
    AKO_TRY(const auto filler,
            inputs::Filler::make(tensor.resolved, order.spec, request.recipe, sources));
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < m_plan.places.size(); ++i) {
      const auto& place = m_plan.places[i];
      if (place.tensor != order.tensor || !wanted(place, request.sets)) continue;
      if (request.fresh_only && tensor.lifetime == model::Lifetime::static_ && m_sums[i]) continue;
      places.push_back(i);
    }
    // A user's function was never promised that it would be called twice at a time.
    const bool alone = order.spec.kind == model::Fill::custom;
    AKO_TRY_STATUS(fill_places(filler, request, places, alone));
  }
  for (const auto& place : m_plan.places) {
    const auto& tensor = tensor_of(place);
    if (tensor.resolved.role == TensorRole::workspace &&
        tensor.workspace == model::WorkspaceState::zeroed_once && wanted(place, request.sets)) {
      const auto bytes = bytes_of(place);
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
    }
  }
  return {};
}

/// Large ones in parts on several cores: nothing is timed while buffers are filled.
base::Status Buffers::fill_places(const inputs::Filler& filler, const FillRequest& request,
                                  const std::vector<std::size_t>& places, bool alone) {
  if (places.empty()) return {};
  const auto& tensor = tensor_of(m_plan.places[places.front()]).resolved;
  alone = alone || tensor.bytes * static_cast<std::int64_t>(places.size()) < k_alone_bytes;
  const std::int64_t part =
      alone ? std::max<std::int64_t>(tensor.span_elements, 1) : k_part_elements;
  const auto parts =
      static_cast<std::size_t>(std::max<std::int64_t>(1, (tensor.span_elements + part - 1) / part));
  std::vector<base::Status> failed(places.size() * parts);
  const std::vector<int> cores = alone ? std::vector<int>{} : m_cores;
  base::in_parallel(failed.size(), cores, [&](std::size_t n) {
    const auto& place = m_plan.places[places[n / parts]];
    const inputs::StreamId stream{request.seed, static_cast<std::uint32_t>(place.tensor),
                                  static_cast<std::uint32_t>(place.set), request.epoch};
    const std::int64_t first = static_cast<std::int64_t>(n % parts) * part;
    failed[n] = filler.fill_part(bytes_of(place), stream, first,
                                 std::min(part, tensor.span_elements - first));
  });
  for (auto& each : failed) AKO_TRY_STATUS(std::move(each));
  base::in_parallel(places.size(), cores, [&](std::size_t n) {
    m_sums[places[n]] = base::checksum(bytes_of(m_plan.places[places[n]]));
    lay_red_zones(m_plan.places[places[n]]);
  });
  return {};
}

base::Status Buffers::poison(inputs::Sentinel sentinel, const std::vector<int>& sets) {
  for (std::size_t i = 0; i < m_plan.places.size(); ++i) {
    const auto& place = m_plan.places[i];
    const auto& tensor = tensor_of(place);
    if (!wanted(place, sets)) continue;
    lay_red_zones(place);
    if (!is_poisoned(tensor)) continue;
    inputs::poison(bytes_of(place), tensor.resolved.dtype, sentinel);
    m_poisoned[i] = sentinel;
  }
  return {};
}

void Buffers::lay_red_zones(const model::BufferPlace& place) {
  const auto zone = static_cast<std::size_t>(m_plan.red_zone_bytes);
  for (const auto offset : {place.offset - m_plan.red_zone_bytes, place.offset + place.bytes})
    inputs::paint_red_zone({m_mapping.data() + offset, zone}, static_cast<std::uint64_t>(offset),
                           m_red_seed);
}

void Buffers::check_red_zones(const model::BufferPlace& place, BufferFinding& finding) const {
  const auto zone = static_cast<std::size_t>(m_plan.red_zone_bytes);
  const auto damage_at = [&](std::int64_t offset) {
    return inputs::check_red_zone({m_mapping.data() + offset, zone},
                                  static_cast<std::uint64_t>(offset), m_red_seed);
  };
  const auto before = damage_at(place.offset - m_plan.red_zone_bytes);
  const auto after = damage_at(place.offset + place.bytes);
  finding.red_before = before.bytes;
  finding.red_after = after.bytes;
  if (before.bytes > 0) finding.red_distance = before.last - m_plan.red_zone_bytes;
  if (after.bytes > 0) finding.red_distance = after.first;
}

void Buffers::check_content(std::size_t index, BufferFinding& finding) const {
  const auto& place = m_plan.places[index];
  const auto& tensor = tensor_of(place);
  const auto bytes = bytes_of(place);
  if (is_input(tensor.resolved.role) && m_sums[index])
    finding.input_changed = base::checksum(bytes) != *m_sums[index];
  if (tensor.resolved.role != TensorRole::out || !m_poisoned[index]) return;
  const auto found = inputs::find_poison(bytes, tensor.resolved, *m_poisoned[index]);
  (inputs::poison_is_decisive(tensor.resolved.dtype) ? finding.unwritten : finding.doubtful) =
      found.count;
  finding.first = found.first;
  finding.last = found.last;
  finding.gap_damage = found.gap_damage;
}

base::Expected<std::vector<BufferFinding>> Buffers::check(const std::vector<int>& sets,
                                                          std::int64_t& bytes_checked) {
  std::vector<std::size_t> places;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < m_plan.places.size(); ++i) {
    if (!wanted(m_plan.places[i], sets)) continue;
    places.push_back(i);
    bytes += m_plan.places[i].bytes + 2 * m_plan.red_zone_bytes;
  }
  bytes_checked += bytes;
  std::vector<BufferFinding> findings(places.size());
  const std::vector<int> cores = bytes < k_alone_bytes ? std::vector<int>{} : m_cores;
  base::in_parallel(places.size(), cores, [&](std::size_t n) {
    const auto& place = m_plan.places[places[n]];
    findings[n].tensor = place.tensor;
    findings[n].set = place.set;
    check_red_zones(place, findings[n]);
    check_content(places[n], findings[n]);
  });
  std::erase_if(findings, [](const BufferFinding& each) { return each.clean(); });
  return findings;
}

base::Expected<std::vector<std::uint64_t>> Buffers::sums() {
  std::vector<std::uint64_t> sums;
  for (const auto& place : m_plan.places)
    sums.push_back(is_input(tensor_of(place).resolved.role) ? base::checksum(bytes_of(place)) : 0);
  return sums;
}

} // namespace ako::keeper
