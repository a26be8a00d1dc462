// The keeper's hold on one device: context, kernels, eviction buffer, watch.
#pragma once

#include "base/json.hpp"
#include "device/kernels.hpp"
#include "device/staging.hpp"
#include "device/telemetry.hpp"
#include "keeper/store.hpp"

#include <memory>

namespace ako::keeper {

class DeviceKeeper {
public:
  /// `cache`: folder where compiled kernels are kept; empty = none. Kind unsupported where the
  /// driver, NVRTC or shared memory is missing, with the remedy.
  static base::Expected<std::unique_ptr<DeviceKeeper>> make(const std::string& uuid,
                                                            const std::string& cache);
  /// {evict_bytes, cache_bytes, image_bytes, device: {...}}, and in this order the descriptors of
  /// the eviction buffer and of the kernels' image.
  base::Json facts() const;
  std::vector<int> fds() const;
  /// Clocks, power, reasons, neighbours; runs a small kernel, so that a device which is lost is
  /// noticed here.
  base::Expected<base::Json> state() const;
  base::Expected<std::unique_ptr<Store>> make_store(model::ArenaPlan plan,
                                                    std::vector<protocol::ArenaTensor> tensors);

private:
  explicit DeviceKeeper(device::Gpu gpu) : m_gpu(std::move(gpu)) {}
  base::Status share_eviction();

  device::Gpu m_gpu;
  device::Staging m_staging; ///< of every arena
  std::optional<device::Kernels> m_kernels;
  std::optional<device::Telemetry> m_telemetry;
  device::Shared m_evict;
  device::Memory m_sink;
  base::UniqueFd m_evict_fd, m_image_fd;
};

} // namespace ako::keeper
