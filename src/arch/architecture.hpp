// One table for each GPU architecture: limits, memories, rates, features. Datasheet and measured
// apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ako::arch {

/// Where a number comes from.
enum class Basis {
  guide,     ///< CUDA C++ Programming Guide, compute-capability tables
  datasheet, ///< the vendor's datasheet or white paper of the product
  derived,   ///< computed from datasheet figures
  measured   ///< read on such a device by this project
};
const char* to_string(Basis basis);

struct Sourced {
  double value = 0;
  Basis basis = Basis::guide;
  const char* source = "";
};

/// What limits how many blocks one multiprocessor holds.
struct SmLimits {
  int threads = 0, warps = 0, blocks = 0;
  int registers = 65536, registers_per_thread = 255;
  int register_unit = 256; ///< registers are given to a warp in multiples of this
  int partitions =
      4; ///< each with a quarter of the registers; a block's warps are dealt out evenly
  int shared_bytes = 0; ///< largest share of the unified cache
  int shared_per_block = 0;
  int shared_unit = 128,
      shared_reserved = 1024; ///< rounding, and what the system takes of each block
  int unified_cache_bytes = 0;
};

/// Results per clock and multiprocessor: fused multiply-adds count once. Zero = the hardware has
/// none.
struct SmRates {
  double fp32 = 0, fp64 = 0, int32 = 0, sfu = 16;
  double shared_bytes = 128, l1_bytes = 64;
};

enum class TensorPath { none, mma_sync, wgmma, tcgen05 };
const char* to_string(TensorPath path);

struct Features {
  TensorPath tensor = TensorPath::mma_sync;
  bool async_copy = true, bulk_tensor_copy = false, clusters = false, fp8 = false,
       fp4_block_scaled = false, tensor_memory = false;
};

/// Dense rates of the matrix units, floating-point operations per second (a multiply-add counts
/// two).
struct TensorPeaks {
  double tf32 = 0, bf16 = 0, fp8 = 0, fp4 = 0, int8 = 0, fp64 = 0;
};

/// A product of the architecture.
struct Device {
  std::string_view name; ///< a part of what the driver calls it
  int sms = 0;
  double boost_hz = 0, dram_bytes_per_s = 0, dram_bytes = 0, l2_bytes = 0;
  TensorPeaks tensor;
  const char* source = "";
  std::optional<Sourced> copy_bytes_per_s; ///< read plus written by the best copy seen
  std::optional<Sourced> bf16_flops;       ///< of the best library product seen
};

struct Architecture {
  int capability = 0; ///< 90 = compute capability 9.0
  std::string_view name, generation;
  SmLimits limits;
  SmRates rates;
  Features features;
  std::span<const int> shared_configurations; ///< bytes the driver can set the shared part to
  std::span<const Device> devices;
  const char* limits_source = "";
  const char* tile_advice = ""; ///< what to start from for a matrix product
  const char* porting = "";     ///< what changes against the neighbour below
};

std::span<const Architecture> architectures();
/// By capability (90), by spelling ("sm_90", "sm_90a", "9.0", "compute_90"); null when there is no
/// table.
const Architecture* find(int capability);
const Architecture* find(std::string_view text);
/// The product whose name stands in `driver_name`; the longest match wins; null when none does.
const Device* find_device(const Architecture& architecture, std::string_view driver_name);

} // namespace ako::arch
