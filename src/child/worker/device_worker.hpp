// The device side of a worker: its context, the buffers it maps, and timing through the sampler.
#pragma once

#include "base/fd.hpp"
#include "device/sampler.hpp"
#include "protocol/server.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ako::worker {

class DeviceWorker {
public:
  /// Driver, context, timestamps and gate: all before the sandbox closes.
  static base::Expected<std::unique_ptr<DeviceWorker>> open(const std::string& uuid);
  /// Files of the driver that the sandbox must leave open.
  static std::vector<std::string> device_files();

  base::Status share(base::UniqueFd evict, std::int64_t evict_bytes, int image,
                     std::int64_t image_bytes);
  base::Status map(const std::string& arena, base::UniqueFd fd, std::uint64_t address,
                   std::int64_t bytes);
  bool unmap(const std::string& arena) { return m_arenas.erase(arena) > 0; }
  device::Sampler& sampler() { return *m_sampler; }
  const device::Gpu& gpu() const { return m_gpu; }
  base::Json facts() const;
  /// Where a guest finds the device and the stream of its calls.
  base::Json place() const;
  /// Not empty: the context is gone, and with it this process's use.
  const std::string& lost() const { return m_gpu.lost(); }

  /// Limits and persisting cache lines that a call changed, put back; their names.
  std::vector<std::string> restore();

private:
  explicit DeviceWorker(device::Gpu gpu) : m_gpu(std::move(gpu)) {}
  device::Gpu m_gpu;
  std::unique_ptr<device::Sampler> m_sampler;
  device::Shared m_evict;
  std::map<std::string, device::Shared> m_arenas;
  std::map<int, std::size_t> m_limits;
};

} // namespace ako::worker
