#include "worker/device_worker.hpp"

#include "protocol/addresses.hpp"

#include <filesystem>
#include <fmt/format.h>

namespace ako::worker {

namespace {

struct LimitName {
  int limit;
  const char* name;
};
constexpr LimitName k_limits[] = {{device::abi::k_limit_stack, "stack"},
                                  {device::abi::k_limit_printf, "printf"},
                                  {device::abi::k_limit_heap, "heap"},
                                  {device::abi::k_limit_fetch, "l2_fetch"},
                                  {device::abi::k_limit_persisting, "persisting_l2"}};

} // namespace

base::Expected<std::unique_ptr<DeviceWorker>> DeviceWorker::open(const std::string& uuid) {
  AKO_TRY(auto gpu, device::Gpu::open(uuid, {protocol::k_first_address, protocol::k_last_address}));
  std::unique_ptr<DeviceWorker> worker(new DeviceWorker(std::move(gpu)));
  AKO_TRY(worker->m_sampler, device::Sampler::make(worker->m_gpu));
  for (const auto& [limit, name] : k_limits) {
    std::size_t value = 0;
    if (worker->m_gpu.api().limit_get(&value, limit) == device::abi::k_success)
      worker->m_limits[limit] = value;
  }
  return worker;
}

std::vector<std::string> DeviceWorker::device_files() {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored))
    if (entry.path().filename().string().starts_with("nvidia"))
      files.push_back(entry.path().string());
  for (const char* path : {"/dev/dxg", "/proc/driver/nvidia", "/sys/bus/pci", "/sys/devices"})
    if (std::filesystem::exists(path, ignored)) files.emplace_back(path);
  return files;
}

base::Status DeviceWorker::share(base::UniqueFd evict, std::int64_t evict_bytes, int image,
                                 std::int64_t image_bytes) {
  std::string text(static_cast<std::size_t>(std::max<std::int64_t>(0, image_bytes)), '\0');
  if (lseek(image, 0, SEEK_SET) != 0)
    return base::fail_errno("ako's kernels cannot be read", "share", errno);
  AKO_TRY_STATUS(
      base::read_all(image, std::as_writable_bytes(std::span(text)), base::Deadline::never()));
  AKO_TRY(auto kernels, device::Kernels::load(m_gpu, std::move(text)));
  // Read only: nothing that runs here leaves dirty lines in it.
  AKO_TRY(m_evict, device::Shared::adopt(m_gpu, evict.get(), evict_bytes, 0, device::Mapped::read));
  return m_sampler->use(std::move(kernels), m_evict.at(), static_cast<std::uint64_t>(evict_bytes));
}

base::Status DeviceWorker::map(const std::string& arena, base::UniqueFd fd, std::uint64_t address,
                               std::int64_t bytes) {
  AKO_TRY(auto shared,
          device::Shared::adopt(m_gpu, fd.get(), bytes, address, device::Mapped::read_write));
  m_arenas[arena] = std::move(shared);
  return {};
}

base::Json DeviceWorker::facts() const {
  return {{"uuid", m_gpu.facts().uuid},
          {"timestamps", m_sampler->fallback().empty() ? "cupti" : "events"},
          {"fallback", m_sampler->fallback()},
          {"addresses_bytes", m_gpu.window().bytes()}};
}

base::Json DeviceWorker::place() const {
  const auto& facts = m_gpu.facts();
  return {{"ordinal", facts.ordinal},
          {"uuid", facts.uuid},
          {"name", facts.name},
          {"architecture", fmt::format("sm_{}{}", facts.major, facts.minor)},
          {"stream", fmt::format("{:#x}", reinterpret_cast<std::uintptr_t>(m_sampler->stream()))}};
}

std::vector<std::string> DeviceWorker::restore() {
  std::vector<std::string> changed;
  if (!lost().empty()) return changed;
  (void)m_gpu.api().persisting_reset(); // no way to ask whether there are any
  device::abi::StreamPolicy policy;
  auto* stream = m_sampler->stream();
  if (m_gpu.api().stream_get(stream, device::abi::k_stream_policy, &policy) ==
          device::abi::k_success &&
      policy.bytes != 0) {
    changed.emplace_back("stream_policy");
    const device::abi::StreamPolicy none;
    (void)m_gpu.api().stream_set(stream, device::abi::k_stream_policy, &none);
  }
  for (const auto& [limit, name] : k_limits) {
    const auto before = m_limits.find(limit);
    std::size_t now = 0;
    if (before == m_limits.end() || m_gpu.api().limit_get(&now, limit) != device::abi::k_success ||
        now == before->second)
      continue;
    changed.push_back(fmt::format("device_limit:{}", name));
    (void)m_gpu.api().limit_set(limit, before->second);
    // What the driver grants may differ from what is asked: that is the state from here on.
    if (m_gpu.api().limit_get(&now, limit) == device::abi::k_success) m_limits[limit] = now;
  }
  return changed;
}

} // namespace ako::worker
