// The time that a device cannot go below, and how much of a roof was reached.
#pragma once

#include "arch/architecture.hpp"

#include <string>
#include <vector>

namespace ako::arch {

/// A ceiling in units per second, and where it comes from.
struct Ceilings {
  double dram_bytes_per_s = 0, l2_bytes_per_s = 0; ///< 0 = not known
  double fp32_flops = 0, fp64_flops = 0, tensor_flops = 0;
  Basis basis = Basis::datasheet;
};

enum class TensorType { none, tf32, bf16, fp8, fp4, int8, fp64 };

/// By the datasheet; `device` may be null: then rates per clock times `sms` and `hz`, and no memory
/// roof.
Ceilings ceilings(const Architecture& architecture, const Device* device, int sms, double hz,
                  TensorType type);

/// Work of one call.
struct Work {
  double dram_bytes = 0, l2_bytes = 0, fp32_flops = 0, fp64_flops = 0, tensor_flops = 0;
};

struct RoofShare {
  std::string roof; ///< "dram", "l2", "fp32", "fp64", "tensor"
  double floor_ns = 0,
         share = 0; ///< share = floor / time, 0..1 (above 1: the work or the time is wrong)
};

/// Every roof that the work touches, the tallest first.
std::vector<RoofShare> roofline(const Work& work, const Ceilings& ceilings, double time_ns);

/// Flops per byte above which the tensor (or, without tensor work, fp32) roof is lower than the
/// memory roof.
double ridge(const Ceilings& ceilings, bool tensor);

} // namespace ako::arch
