// This machine's own ceilings, measured by `ako calibrate` and kept beside the caches.
#pragma once

#include "base/error.hpp"
#include "base/json.hpp"
#include "loop/environment.hpp"

#include <optional>

namespace ako::loop {

/// All cores that ako may use together. A kernel on fewer cores cannot exceed them either.
struct Calibration {
  double memory_bytes_per_s = 0; ///< reading a buffer of eight times the last-level cache
  double cache_bytes_per_s = 0;  ///< reading a buffer that lies in the first-level cache
  double flops_per_s = 0;        ///< float32 multiply-add, widest vectors this build uses
  double clock_tick_ns = 0;      ///< smallest step of the monotonic clock
  double call_overhead_ns = 0;   ///< of one timed empty call
};

/// Takes about `seconds`.
Calibration calibrate_host(double seconds);
/// Kept by processor and core count; nullopt when this machine was never calibrated.
std::optional<Calibration> load_calibration(const HostFacts& host);
base::Status save_calibration(const HostFacts& host, const Calibration& calibration);
base::Json to_json(const Calibration& calibration);

} // namespace ako::loop
