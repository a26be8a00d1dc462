// Which device something is for. Devices are named by UUID, never by index: an index changes with
// CUDA_VISIBLE_DEVICES and with every reboot.
#pragma once

#include <string>

namespace ako::model {

struct DeviceId {
  std::string uuid; ///< "GPU-0a1b2c3d-...", "MIG-..." as the driver spells it

  bool operator==(const DeviceId&) const = default;
};

} // namespace ako::model
