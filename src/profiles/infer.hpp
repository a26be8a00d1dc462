// What can be said of a kernel that no profiler counted: from the compiler's report, the measured
// time and the contract's cost. Always labelled as inference, never with high confidence.
#pragma once

#include "arch/architecture.hpp"
#include "model/profile.hpp"
#include "profiles/sass.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::profiles {

/// The text that every inferred finding carries in `against`.
inline constexpr const char* k_inference = "inference: no counter was read";

struct InferenceInput {
  std::string name, device, lane;
  double time_ns = 0;          ///< of one call, as measured
  double flops = 0, bytes = 0; ///< the contract's lower bounds for one call; 0 = not stated
  double memory_bytes_per_s = 0, cache_bytes_per_s = 0, flops_per_s = 0; ///< ceilings; 0 = unknown
  std::string ceilings_from; ///< "measured by ako calibrate", "datasheet"
  double cache_bytes = 0;    ///< of the last level; bytes that fit are served from there when warm
  bool warm = false;
  std::vector<ResourceUse> resources; ///< of its kernels, where the compiler reported them
  int capability = 0;                 ///< 90; 0 = no GPU
};

/// Findings ranked as in a diagnosis; at_ceiling is the share of the taller roof.
model::KernelDiagnosis infer(const InferenceInput& input);

} // namespace ako::profiles
