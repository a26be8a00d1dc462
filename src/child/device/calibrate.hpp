// This device's own ceilings and the instrument's constants, measured: what `ako calibrate` keeps.
#pragma once

#include "base/error.hpp"
#include "base/json.hpp"

#include <string>

namespace ako::device {

/// {uuid, name, how, copy_bytes_per_s, copies: {...}, read_bytes_per_s, l2_bytes_per_s,
///  flops_per_s, datasheet_bytes_per_s, empty_kernel_ns, gap_ns, launch_ns, graph_ns, event_ns,
///  spin: [{asked_ns, mean_ns, sd_ns, records}], spin_slope, spin_constant_ns,
///  noise: {asked_mean_ns, mean_ns, asked_sd_ns, sd_ns}, residency: {...}}.
/// Takes one to two seconds of device time. `cache`: where compiled kernels are kept.
base::Expected<base::Json> calibrate(const std::string& uuid, const std::string& cache);

} // namespace ako::device
