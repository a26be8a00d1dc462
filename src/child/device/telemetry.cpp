#include "device/telemetry.hpp"

#include <fmt/format.h>

namespace ako::device {
namespace {

constexpr int k_clock_sm = 1, k_clock_memory = 2, k_temperature_core = 0;

struct Reason {
  std::uint64_t bit;
  const char* words;
};
constexpr Reason k_reasons[] = {{k_reason_software_power, "software power cap"},
                                {k_reason_hardware_slowdown, "hardware slow-down"},
                                {k_reason_software_thermal, "software thermal slow-down"},
                                {k_reason_hardware_thermal, "hardware thermal slow-down"},
                                {k_reason_power_brake, "power brake"}};

} // namespace

bool is_hardware_limit(std::uint64_t reasons) {
  return (reasons & (k_reason_hardware_slowdown | k_reason_software_thermal |
                     k_reason_hardware_thermal | k_reason_power_brake)) != 0;
}

std::string reason_words(std::uint64_t reasons) {
  std::string words;
  for (const auto& reason : k_reasons)
    if (reasons & reason.bit) words += (words.empty() ? "" : ", ") + std::string(reason.words);
  return words;
}

base::Expected<Telemetry> Telemetry::open(const std::string& uuid) {
  Telemetry telemetry;
  AKO_TRY(telemetry.m_api, nvml());
  const auto failed = [&](abi::Result result) {
    const char* text = reinterpret_cast<const char* (*)(abi::Result)>(
        reinterpret_cast<void*>(telemetry.m_api->error_text))(result);
    return base::fail(base::ErrorKind::unsupported, "clocks and power cannot be read",
                      {.where = uuid, .found = text ? text : fmt::format("error {}", result)});
  };
  if (const auto result = telemetry.m_api->init()) return failed(result);
  if (const auto result = telemetry.m_api->by_uuid(uuid.c_str(), &telemetry.m_device))
    return failed(result);
  return telemetry;
}

DeviceState Telemetry::read() const {
  DeviceState state;
  const auto number = [](auto call, auto&&... arguments) {
    unsigned value = 0;
    return call(arguments..., &value) == 0 ? value : 0u;
  };
  state.sm_mhz = static_cast<int>(number(m_api->clock, m_device, k_clock_sm));
  state.memory_mhz = static_cast<int>(number(m_api->clock, m_device, k_clock_memory));
  state.power_w = number(m_api->power, m_device) / 1000.0;
  state.temperature_c = static_cast<int>(number(m_api->temperature, m_device, k_temperature_core));
  unsigned long long reasons = 0;
  if (m_api->reasons(m_device, &reasons) == 0) state.reasons = reasons;
  unsigned count = 64;
  abi::NvmlProcess list[64] = {};
  if (m_api->processes(m_device, &count, list) == 0)
    for (unsigned i = 0; i < count && i < 64; ++i) state.processes.push_back(list[i].pid);
  return state;
}

base::Json Telemetry::facts() const {
  base::Json facts = base::Json::object();
  const auto add = [&](const char* name, auto call, double scale, auto&&... arguments) {
    unsigned value = 0;
    if (call(m_device, arguments..., &value) == 0) facts[name] = value * scale;
    else facts[name] = nullptr;
  };
  add("sm_max_mhz", m_api->clock_max, 1, k_clock_sm);
  add("memory_max_mhz", m_api->clock_max, 1, k_clock_memory);
  add("power_limit_w", m_api->power_limit, 0.001);
  add("persistence_mode", m_api->persistence, 1);
  char version[96] = {};
  if (m_api->driver_version(version, sizeof version) == 0) facts["driver"] = version;
  unsigned mig = 0, pending = 0;
  facts["mig"] =
      m_api->mig_mode(m_device, &mig, &pending) == 0 ? base::Json(mig != 0) : base::Json(nullptr);
  return facts;
}

base::Json to_json(const DeviceState& state) {
  return {{"sm_mhz", state.sm_mhz},
          {"memory_mhz", state.memory_mhz},
          {"power_w", state.power_w},
          {"temperature_c", state.temperature_c},
          {"reasons", fmt::format("{:#x}", state.reasons)},
          {"reason_words", reason_words(state.reasons)},
          {"hardware_limit", is_hardware_limit(state.reasons)},
          {"processes", state.processes.size()}};
}

} // namespace ako::device
