// Device timestamps of every kernel, copy and set of this process, by CUPTI's activity records.
#pragma once

#include "device/gpu.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ako::device {

struct Record {
  enum class Kind { kernel, copy, set };
  Kind kind = Kind::kernel;
  std::uint64_t start_ns = 0, end_ns = 0; ///< the device's clock
  std::uint32_t stream = 0, correlation = 0;
  std::int64_t bytes = 0; ///< copies and sets
  std::string name;       ///< kernels
};

/// One per process: CUPTI's callbacks know no owner.
class Activity {
public:
  /// Kind unsupported with a reason where CUPTI is missing or refuses.
  static base::Expected<Activity*> start();
  void pause();  ///< no records from here on: for the call clock
  void resume(); ///< idempotent, as pause
  /// Everything recorded since the last collect(), by start. The device must be idle.
  base::Expected<std::vector<Record>> collect();
  std::int64_t dropped() const { return m_dropped; } ///< records lost for want of room
  int version() const { return m_version; }

private:
  Activity() = default;
  const Cupti* m_api = nullptr;
  bool m_on = false;
  int m_version = 0;
  std::int64_t m_dropped = 0;
};

} // namespace ako::device
