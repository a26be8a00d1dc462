// Where a task's calls run: the host's cores, or one device named by UUID.
#pragma once

#include "executors/devices.hpp"
#include "executors/lease.hpp"
#include "model/contract.hpp"
#include "model/device.hpp"

#include <optional>
#include <string>

namespace ako::loop {

struct Target {
  std::optional<executors::Device> device; ///< absent = the host
  std::string name() const;                ///< "NVIDIA H200", or the processor
  std::string architecture() const;        ///< "sm_90"; empty on the host
  std::optional<model::DeviceId> id() const;
};

/// Lanes whose calls run on a device.
bool needs_device(model::Lane lane);

/// The device that `wish` names (index, UUID, its beginning), else $AKO_DEVICE, else the first that
/// CUDA_VISIBLE_DEVICES lets through; the host for lanes that need no device. Kind environment when
/// a device is needed and there is none.
base::Expected<Target> find_target(model::Lane lane, const std::optional<std::string>& wish);

/// Among several devices like the first, one on which nobody measures at this moment; the first
/// when all are busy. For what is compared with nothing on record.
base::Expected<Target> find_free_target(model::Lane lane, const std::optional<std::string>& wish);

/// The right to measure there; waits for other ako processes and says so. Taken for measuring, not
/// for compiling.
base::Expected<executors::Lease> take_lease(const Target& target);

} // namespace ako::loop
