#include "keeper/device_buffers.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ako::keeper {

using base::ErrorKind;
using model::TensorRole;

namespace {

constexpr unsigned k_threads = 256;
constexpr std::size_t k_slot_words = 4, k_zone_words = 3;

/// The poison's code repeated over 64 bits, as it lies in packed memory.
std::uint64_t repeated(model::Dtype dtype, inputs::Sentinel sentinel) {
  std::uint64_t word = inputs::poison_code(dtype, sentinel);
  for (int bits = model::bits_of(dtype); bits < 64; bits *= 2) word |= word << bits;
  return word;
}

std::string key_of(const protocol::FillOrder& order, inputs::Recipe recipe) {
  return fmt::format("{} {} {} {} {} {} {}", order.tensor, model::to_string(order.spec.kind),
                     order.spec.low, order.spec.high, order.spec.mean, order.spec.stddev,
                     inputs::to_string(recipe));
}

} // namespace

template <class Params>
base::Status DeviceBuffers::launch(const char* name, const Params& params,
                                   std::uint64_t items) const {
  return m_kernels.launch(name, params, m_kernels.blocks_for(items, k_threads), k_threads,
                          m_gpu.stream());
}

base::Expected<std::unique_ptr<Store>>
DeviceBuffers::make(const device::Gpu& gpu, const device::Kernels& kernels,
                    device::Staging& staging, model::ArenaPlan plan,
                    std::vector<protocol::ArenaTensor> tensors) {
  AKO_TRY_STATUS(check_plan(plan, tensors.size()));
  std::unique_ptr<DeviceBuffers> made(new DeviceBuffers(gpu, kernels, staging));
  auto& buffers = *made;
  AKO_TRY(buffers.m_memory, device::Shared::make(gpu, plan.bytes, plan.address));
  AKO_TRY(const int fd, buffers.m_memory.export_fd());
  buffers.m_fd = base::UniqueFd(fd);
  buffers.m_plan = std::move(plan);
  buffers.m_tensors = std::move(tensors);
  buffers.m_red_seed = random_word();
  buffers.m_sums.resize(buffers.m_plan.places.size());
  buffers.m_poisoned.resize(buffers.m_plan.places.size());
  // As host memory comes: zero, not what another process left there.
  AKO_TRY_STATUS(
      gpu.ok(gpu.api().set_bytes(buffers.m_memory.at(), 0,
                                 static_cast<std::size_t>(buffers.m_plan.bytes), gpu.stream()),
             "clearing new buffers"));
  AKO_TRY_STATUS(buffers.make_mirror());
  AKO_TRY_STATUS(buffers.reserve_results());
  AKO_TRY_STATUS(buffers.zones("ako_zone_paint", {}));
  AKO_TRY_STATUS(gpu.wait());
  return std::unique_ptr<Store>(std::move(made));
}

base::Status DeviceBuffers::make_mirror() {
  m_mirror_fd = base::UniqueFd(memfd_create("ako-mirror", MFD_CLOEXEC));
  if (!m_mirror_fd || ftruncate(m_mirror_fd.get(), m_plan.bytes) != 0)
    return base::fail_errno("no memory for the host's view of device buffers", "keeper", errno);
  AKO_TRY(m_mirror, base::Mapping::map(m_mirror_fd.get(), static_cast<std::size_t>(m_plan.bytes), 0,
                                       base::Access::read_write));
  return {};
}

base::Status DeviceBuffers::reserve_results() {
  const auto places = m_plan.places.size();
  for (std::size_t i = 0; i < places; ++i)
    m_blank.insert(m_blank.end(), {0, ~std::uint64_t{0}, 0, 0});
  for (std::size_t i = 0; i < 2 * places; ++i)
    m_blank.insert(m_blank.end(), {0, ~std::uint64_t{0}, 0});
  AKO_TRY(m_results,
          device::Memory::take(m_gpu, static_cast<std::int64_t>(8 * m_blank.size() + 8)));
  return {};
}

/// Queues a kernel over the red zones of these sets; findings go to the zones' words in order.
base::Status DeviceBuffers::zones(const char* kernel, const std::vector<int>& sets) {
  auto at = m_zone_lists.find(sets);
  if (at == m_zone_lists.end()) {
    std::vector<std::uint64_t> offsets;
    for (const auto& place : m_plan.places) {
      if (!wanted(place, sets)) continue;
      offsets.push_back(static_cast<std::uint64_t>(place.offset - m_plan.red_zone_bytes));
      offsets.push_back(static_cast<std::uint64_t>(place.offset + place.bytes));
    }
    AKO_TRY(auto list,
            device::Memory::take(m_gpu, static_cast<std::int64_t>(8 * offsets.size() + 8)));
    AKO_TRY_STATUS(m_gpu.copy_in(list.at(), std::as_bytes(std::span(offsets))));
    at = m_zone_lists.emplace(sets, std::move(list)).first;
  }
  device::ZoneParams params;
  params.base = m_memory.at();
  params.offsets = at->second.at();
  params.zones = static_cast<std::uint64_t>(at->second.bytes() / 8 - 1);
  params.bytes = static_cast<std::uint64_t>(m_plan.red_zone_bytes);
  params.seed = m_red_seed;
  params.found = m_results.at() + 8 * k_slot_words * m_plan.places.size();
  if (params.zones == 0) return {};
  return launch(kernel, params, params.zones * params.bytes);
}

base::Status DeviceBuffers::clear_results() {
  // From the host's list: small, and the copy is queued before the kernels that add to it.
  return m_gpu.ok(
      m_gpu.api().copy_in(m_results.at(), m_blank.data(), 8 * m_blank.size(), m_gpu.stream()),
      "clearing results");
}

base::Expected<std::vector<std::uint64_t>> DeviceBuffers::fetch_results() {
  std::vector<std::uint64_t> words(m_blank.size());
  AKO_TRY_STATUS(m_gpu.copy_out(std::as_writable_bytes(std::span(words)), m_results.at()));
  return words;
}

base::Expected<DeviceBuffers::Prepared*> DeviceBuffers::prepare(const protocol::FillOrder& order,
                                                                inputs::Recipe recipe) {
  const auto key = key_of(order, recipe);
  const auto at = m_prepared.find(key);
  if (at != m_prepared.end()) return &at->second;
  Prepared prepared;
  const auto& tensor = m_tensors[static_cast<std::size_t>(order.tensor)].resolved;
  prepared.fill = device::device_fill(tensor, order.spec, recipe);
  if (prepared.fill && !prepared.fill->table.empty()) {
    auto& table = prepared.fill->table;
    AKO_TRY(prepared.table, device::Memory::take(m_gpu, static_cast<std::int64_t>(table.size())));
    AKO_TRY_STATUS(m_gpu.copy_in(prepared.table.at(), table));
    prepared.fill->params.table = prepared.table.at();
    table.clear();
  }
  return &m_prepared.emplace(key, std::move(prepared)).first->second;
}

base::Status DeviceBuffers::fill_place(const FillRequest& request, const inputs::Filler& filler,
                                       const Prepared& prepared, std::size_t index) {
  const auto& place = m_plan.places[index];
  const inputs::StreamId stream{request.seed, static_cast<std::uint32_t>(place.tensor),
                                static_cast<std::uint32_t>(place.set), request.epoch};
  if (!prepared.fill) {
    const auto view = mirror(place);
    AKO_TRY_STATUS(filler.fill(view, stream));
    return m_staging.copy_in(m_gpu, at(place), view);
  }
  auto params = prepared.fill->params;
  params.destination = at(place);
  device::set_streams(params, stream);
  return launch("ako_fill", params, params.elements / 8 + 1);
}

base::Status DeviceBuffers::queue_sum(std::size_t index) {
  const auto& place = m_plan.places[index];
  const device::SumParams params{at(place), static_cast<std::uint64_t>(place.bytes),
                                 m_results.at() + 8 * (k_slot_words * index + 3)};
  return launch("ako_sum", params, static_cast<std::uint64_t>(place.bytes) / 32 + 1);
}

base::Status DeviceBuffers::fill(const FillRequest& request, FillLibrary& library) {
  AKO_TRY_STATUS(clear_results());
  std::vector<std::size_t> filled;
  for (const auto& order : request.orders) {
    if (order.tensor < 0 || static_cast<std::size_t>(order.tensor) >= m_tensors.size())
      return base::fail(ErrorKind::invalid, "a fill for no tensor of the arena");
    const auto& tensor = m_tensors[static_cast<std::size_t>(order.tensor)];
    if (!is_filled(tensor.resolved.role)) continue;
    AKO_TRY(const auto sources, library.sources(order));
    AKO_TRY(const auto filler,
            inputs::Filler::make(tensor.resolved, order.spec, request.recipe, sources));
    AKO_TRY(const auto* prepared, prepare(order, request.recipe));
    for (std::size_t i = 0; i < m_plan.places.size(); ++i) {
      const auto& place = m_plan.places[i];
      if (place.tensor != order.tensor || !wanted(place, request.sets)) continue;
      if (request.fresh_only && tensor.lifetime == model::Lifetime::static_ && m_sums[i]) continue;
      AKO_TRY_STATUS(fill_place(request, filler, *prepared, i));
      AKO_TRY_STATUS(queue_sum(i));
      filled.push_back(i);
    }
  }
  for (const auto& place : m_plan.places) {
    const auto& tensor = tensor_of(place);
    if (tensor.resolved.role != TensorRole::workspace ||
        tensor.workspace != model::WorkspaceState::zeroed_once || !wanted(place, request.sets))
      continue;
    AKO_TRY_STATUS(m_gpu.ok(
        m_gpu.api().set_bytes(at(place), 0, static_cast<std::size_t>(place.bytes), m_gpu.stream()),
        "clearing a workspace"));
  }
  AKO_TRY_STATUS(zones("ako_zone_paint", request.sets));
  AKO_TRY(const auto words, fetch_results());
  for (const auto i : filled) m_sums[i] = words[k_slot_words * i + 3];
  return {};
}

base::Status DeviceBuffers::poison(inputs::Sentinel sentinel, const std::vector<int>& sets) {
  AKO_TRY_STATUS(zones("ako_zone_paint", sets));
  for (std::size_t i = 0; i < m_plan.places.size(); ++i) {
    const auto& place = m_plan.places[i];
    const auto& tensor = tensor_of(place);
    if (!wanted(place, sets) || !is_poisoned(tensor)) continue;
    const device::PaintParams params{at(place), static_cast<std::uint64_t>(place.bytes),
                                     repeated(tensor.resolved.dtype, sentinel)};
    AKO_TRY_STATUS(launch("ako_paint", params, params.bytes / 32 + 1));
    m_poisoned[i] = sentinel;
  }
  return m_gpu.wait();
}

base::Status DeviceBuffers::find_on_host(std::size_t index, BufferFinding& finding) {
  const auto& place = m_plan.places[index];
  const auto& tensor = tensor_of(place);
  const auto view = mirror(place);
  AKO_TRY_STATUS(m_staging.copy_out(m_gpu, view, at(place)));
  const auto found = inputs::find_poison(view, tensor.resolved, *m_poisoned[index]);
  (inputs::poison_is_decisive(tensor.resolved.dtype) ? finding.unwritten : finding.doubtful) =
      found.count;
  finding.first = found.first;
  finding.last = found.last;
  finding.gap_damage = found.gap_damage;
  return {};
}

base::Expected<std::vector<BufferFinding>> DeviceBuffers::check(const std::vector<int>& sets,
                                                                std::int64_t& bytes_checked) {
  AKO_TRY_STATUS(clear_results());
  AKO_TRY_STATUS(zones("ako_zone_check", sets));
  const auto searched = [&](std::size_t i) {
    return tensor_of(m_plan.places[i]).resolved.role == TensorRole::out && m_poisoned[i];
  };
  for (std::size_t i = 0; i < m_plan.places.size(); ++i) {
    const auto& place = m_plan.places[i];
    const auto& tensor = tensor_of(place).resolved;
    if (!wanted(place, sets)) continue;
    if (is_input(tensor.role) && m_sums[i]) AKO_TRY_STATUS(queue_sum(i));
    if (!searched(i) || !tensor.contiguous) continue;
    const device::SearchParams params{at(place), static_cast<std::uint64_t>(tensor.elements),
                                      static_cast<std::uint64_t>(model::bits_of(tensor.dtype)),
                                      inputs::poison_code(tensor.dtype, *m_poisoned[i]),
                                      m_results.at() + 8 * k_slot_words * i};
    AKO_TRY_STATUS(launch("ako_search", params, params.elements / 4 + 1));
  }
  AKO_TRY(const auto words, fetch_results());
  std::vector<BufferFinding> findings;
  auto zone = words.begin() + static_cast<std::ptrdiff_t>(k_slot_words * m_plan.places.size());
  for (std::size_t i = 0; i < m_plan.places.size(); ++i) {
    const auto& place = m_plan.places[i];
    const auto& tensor = tensor_of(place).resolved;
    if (!wanted(place, sets)) continue;
    BufferFinding finding;
    finding.tensor = place.tensor;
    finding.set = place.set;
    const auto number = [](std::uint64_t word) { return static_cast<std::int64_t>(word); };
    finding.red_before = number(zone[0]);
    if (zone[0] > 0) finding.red_distance = number(zone[2]) - 1 - m_plan.red_zone_bytes;
    zone += k_zone_words;
    finding.red_after = number(zone[0]);
    if (zone[0] > 0) finding.red_distance = number(zone[1]);
    zone += k_zone_words;
    const auto* slot = words.data() + k_slot_words * i;
    if (is_input(tensor.role) && m_sums[i]) finding.input_changed = slot[3] != *m_sums[i];
    if (searched(i) && !tensor.contiguous) {
      AKO_TRY_STATUS(find_on_host(i, finding));
    } else if (searched(i) && slot[0] > 0) {
      (inputs::poison_is_decisive(tensor.dtype) ? finding.unwritten : finding.doubtful) =
          number(slot[0]);
      finding.first = number(slot[1]);
      finding.last = number(slot[2]) - 1;
    }
    bytes_checked += place.bytes + 2 * m_plan.red_zone_bytes;
    if (!finding.clean()) findings.push_back(finding);
  }
  return findings;
}

base::Expected<std::vector<std::uint64_t>> DeviceBuffers::sums() {
  AKO_TRY_STATUS(clear_results());
  for (std::size_t i = 0; i < m_plan.places.size(); ++i)
    if (is_input(tensor_of(m_plan.places[i]).resolved.role)) AKO_TRY_STATUS(queue_sum(i));
  AKO_TRY(const auto words, fetch_results());
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < m_plan.places.size(); ++i)
    sums.push_back(words[k_slot_words * i + 3]);
  return sums;
}

base::Expected<Region> DeviceBuffers::region(int tensor, int set) const {
  for (const auto& place : m_plan.places)
    if (place.tensor == tensor && place.set == set) return Region{at(place), place.bytes};
  return base::fail(ErrorKind::invalid, "no such buffer in the arena",
                    {.found = fmt::format("tensor {} set {}", tensor, set)});
}

base::Status DeviceBuffers::move(const Region& to, const Region& from) {
  AKO_TRY_STATUS(m_gpu.ok(
      m_gpu.api().copy_within(to.at, from.at, static_cast<std::size_t>(from.bytes), m_gpu.stream()),
      "copying a buffer"));
  return m_gpu.wait();
}

base::Status DeviceBuffers::read(int tensor, int set) {
  AKO_TRY(const auto from, region(tensor, set));
  const auto offset = from.at - m_memory.at();
  return m_staging.copy_out(m_gpu, {m_mirror.data() + offset, static_cast<std::size_t>(from.bytes)},
                            from.at);
}

base::Status DeviceBuffers::write(int tensor, int set) {
  AKO_TRY(const auto to, region(tensor, set));
  const auto offset = to.at - m_memory.at();
  return m_staging.copy_in(m_gpu, to.at,
                           {m_mirror.data() + offset, static_cast<std::size_t>(to.bytes)});
}

} // namespace ako::keeper
