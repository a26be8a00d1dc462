#include "keeper/device_keeper.hpp"

#include "keeper/device_buffers.hpp"
#include "protocol/addresses.hpp"

#include <fmt/format.h>

namespace ako::keeper {

using base::Json;

base::Expected<std::unique_ptr<DeviceKeeper>> DeviceKeeper::make(const std::string& uuid,
                                                                 const std::string& cache) {
  AKO_TRY(auto gpu, device::Gpu::open(uuid, {protocol::k_first_address, protocol::k_last_address}));
  if (!gpu.facts().virtual_memory || !gpu.facts().posix_handles)
    return base::fail(base::ErrorKind::unsupported,
                      "this device's memory cannot be shared between processes",
                      {.where = uuid,
                       .allowed = "a device with virtual memory management and POSIX handles",
                       .next = "measure on another device; WSL and some virtual GPUs lack this"});
  std::unique_ptr<DeviceKeeper> keeper(new DeviceKeeper(std::move(gpu)));
  AKO_TRY(auto image, device::compile_kernels(keeper->m_gpu.facts(), cache));
  AKO_TRY(keeper->m_image_fd, base::make_memfd("ako-kernels", image.size()));
  AKO_TRY_STATUS(base::write_all(keeper->m_image_fd.get(), std::as_bytes(std::span(image)),
                                 base::Deadline::never()));
  AKO_TRY(keeper->m_kernels, device::Kernels::load(keeper->m_gpu, std::move(image)));
  AKO_TRY(keeper->m_sink, device::Memory::take(keeper->m_gpu, 64));
  AKO_TRY_STATUS(keeper->share_eviction());
  if (auto telemetry = device::Telemetry::open(uuid)) keeper->m_telemetry = *telemetry;
  return keeper;
}

base::Status DeviceKeeper::share_eviction() {
  const auto bytes = 2 * m_gpu.facts().l2_bytes;
  AKO_TRY(m_evict, device::Shared::make(m_gpu, bytes, 0));
  // Written once and never again; the first sweeps push its dirty lines out.
  AKO_TRY_STATUS(m_gpu.ok(
      m_gpu.api().set_bytes(m_evict.at(), 0x5a, static_cast<std::size_t>(bytes), m_gpu.stream()),
      "filling the eviction buffer"));
  AKO_TRY_STATUS(m_gpu.wait());
  AKO_TRY(const int fd, m_evict.export_fd());
  m_evict_fd = base::UniqueFd(fd);
  return {};
}

Json DeviceKeeper::facts() const {
  const auto& facts = m_gpu.facts();
  Json device{{"uuid", facts.uuid},
              {"name", facts.name},
              {"architecture", fmt::format("sm_{}{}", facts.major, facts.minor)},
              {"sm_count", facts.sm_count},
              {"memory_bytes", facts.memory_bytes},
              {"l2_bytes", facts.l2_bytes},
              {"cuda", facts.driver_version},
              {"addresses_bytes", m_gpu.window().bytes()},
              {"watched", m_telemetry.has_value()}};
  if (const auto room = m_gpu.room()) device["free_bytes"] = room->free;
  return Json{{"evict_bytes", 2 * facts.l2_bytes},
              {"cache_bytes", facts.l2_bytes},
              {"image_bytes", m_kernels->image().size()},
              {"device", device}};
}

std::vector<int> DeviceKeeper::fds() const { return {m_evict_fd.get(), m_image_fd.get()}; }

base::Expected<Json> DeviceKeeper::state() const {
  AKO_TRY_STATUS(
      m_kernels->launch("ako_mark", device::ReadParams{0, 0, m_sink.at()}, 1, 32, m_gpu.stream()));
  AKO_TRY_STATUS(m_gpu.wait());
  if (!m_telemetry) return Json::object();
  return device::to_json(m_telemetry->read());
}

base::Expected<std::unique_ptr<Store>>
DeviceKeeper::make_store(model::ArenaPlan plan, std::vector<protocol::ArenaTensor> tensors) {
  return DeviceBuffers::make(m_gpu, *m_kernels, m_staging, std::move(plan), std::move(tensors));
}

} // namespace ako::keeper
