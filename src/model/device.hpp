// Which device something is for. Devices are named by UUID, never by index: an index changes with
// CUDA_VISIBLE_DEVICES and with every reboot.
#pragma once

#include <optional>
#include <string>

namespace ako::model {

struct DeviceId {
  std::string uuid; ///< "GPU-0a1b2c3d-...", "MIG-..." as the driver spells it

  bool operator==(const DeviceId&) const = default;
};

/// What ako_call returns when the CUDA runtime reports an error: this less the cudaError_t.
inline constexpr int k_launch_status = -80000;
/// What it returns for a cutlass::Status that is not kSuccess: this less the status.
inline constexpr int k_cutlass_status = -70000;

/// An error of the CUDA runtime, or a status of CUTLASS, in words: name, usual cause, remedy.
struct LaunchTrouble {
  int error = 0;    ///< the cudaError_t or cutlass::Status
  std::string name; ///< "cudaErrorNoKernelImageForDevice"; "cudaError_t 123" where it is not known
  std::string cause, next;
  bool machine = false; ///< the machine's fault rather than the candidate's
  bool sticky = false;  ///< the context is lost: nothing more can run in that process
};

/// Nothing for a status that comes from neither.
std::optional<LaunchTrouble> launch_trouble(int status);

} // namespace ako::model
