// Clocks, power and neighbours of a device, by NVML.
#pragma once

#include "base/json.hpp"
#include "device/tables.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::device {

struct DeviceState {
  int sm_mhz = 0, memory_mhz = 0, sm_max_mhz = 0;
  double power_w = 0, power_limit_w = 0;
  int temperature_c = 0;
  std::uint64_t reasons = 0;       ///< clock event reasons, NVML's bits
  std::vector<unsigned> processes; ///< that have a compute context, as the driver numbers them
};

// Clock event reasons: bits of DeviceState::reasons.
inline constexpr std::uint64_t k_reason_software_power = 0x4, k_reason_hardware_slowdown = 0x8,
                               k_reason_software_thermal = 0x20, k_reason_hardware_thermal = 0x40,
                               k_reason_power_brake = 0x80;
/// Slow-downs that spoil a block: not the idle state, not application settings, not the power cap.
bool is_hardware_limit(std::uint64_t reasons);
/// "software power cap, hardware slow-down"; empty = none that matters.
std::string reason_words(std::uint64_t reasons);

class Telemetry {
public:
  static base::Expected<Telemetry> open(const std::string& uuid);
  DeviceState read() const;
  /// The parts that do not change: limits, modes.
  base::Json facts() const;

private:
  const Nvml* m_api = nullptr;
  abi::NvmlDevice m_device = nullptr;
};

base::Json to_json(const DeviceState& state);

} // namespace ako::device
