// A device's own ceilings and the instrument's constants, measured by `ako calibrate --device` and
// kept by UUID.
#pragma once

#include "base/error.hpp"
#include "base/json.hpp"
#include "executors/devices.hpp"

#include <optional>

namespace ako::loop {

/// Runs ako-child calibrate on it (a second or two of device time) and keeps the answer; its
/// members are those of the child's device/calibrate.hpp.
base::Expected<base::Json> calibrate_device(const executors::Device& device);
/// nullopt when this device was never calibrated.
std::optional<base::Json> device_calibration(const std::string& uuid);

} // namespace ako::loop
