// Sources, by the words used below:
//   guide       CUDA C++ Programming Guide 13.0, "Compute Capabilities": technical specifications
//   and throughput of
//               native arithmetic instructions.
//   <product>   the vendor's datasheet or architecture white paper of that product.
//   measured    read on one such device by this project; see bench/gpu.
#include "arch/architecture.hpp"

#include <array>

namespace ako::arch {
namespace {

constexpr double k_mb = 1024.0 * 1024.0, k_gb = 1e9, k_tera = 1e12;

constexpr int kib(int n) { return n * 1024; }
constexpr std::array k_carve_80 = {0,       kib(8),   kib(16),  kib(32),
                                   kib(64), kib(100), kib(132), kib(164)};
constexpr std::array k_carve_100k = {0, kib(8), kib(16), kib(32), kib(64), kib(100)};
constexpr std::array k_carve_90 = {0,        kib(8),   kib(16),  kib(32),  kib(64),
                                   kib(100), kib(132), kib(164), kib(196), kib(228)};

// Datasheets: A100 (2021), rates dense.
constexpr std::array k_devices_80 = {
    Device{"A100-SXM4-80GB",
           108,
           1.41e9,
           2039 * k_gb,
           80 * k_gb,
           40 * k_mb,
           {156 * k_tera, 312 * k_tera, 0, 0, 624 * k_tera, 19.5 * k_tera},
           "NVIDIA A100 datasheet",
           {},
           {}},
    Device{"A100-SXM4-40GB",
           108,
           1.41e9,
           1555 * k_gb,
           40 * k_gb,
           40 * k_mb,
           {156 * k_tera, 312 * k_tera, 0, 0, 624 * k_tera, 19.5 * k_tera},
           "NVIDIA A100 datasheet",
           {},
           {}},
    Device{"A100 80GB PCIe",
           108,
           1.41e9,
           1935 * k_gb,
           80 * k_gb,
           40 * k_mb,
           {156 * k_tera, 312 * k_tera, 0, 0, 624 * k_tera, 19.5 * k_tera},
           "NVIDIA A100 datasheet",
           {},
           {}},
};
// GA102 white paper: the GeForce part accumulates in fp32 at half the rate of the A10.
constexpr std::array k_devices_86 = {
    Device{"A10",
           72,
           1.695e9,
           600 * k_gb,
           24 * k_gb,
           6 * k_mb,
           {62.5 * k_tera, 125 * k_tera, 0, 0, 250 * k_tera, 0},
           "NVIDIA A10 datasheet",
           {},
           {}},
    Device{"A40",
           84,
           1.74e9,
           696 * k_gb,
           48 * k_gb,
           6 * k_mb,
           {74.8 * k_tera, 149.7 * k_tera, 0, 0, 299.3 * k_tera, 0},
           "NVIDIA A40 datasheet",
           {},
           {}},
    Device{"RTX 3090",
           82,
           1.695e9,
           936 * k_gb,
           24 * k_gb,
           6 * k_mb,
           {35.6 * k_tera, 71 * k_tera, 0, 0, 284 * k_tera, 0},
           "NVIDIA GA102 white paper",
           {},
           {}},
};
constexpr std::array k_devices_89 = {
    Device{"L40S",
           142,
           2.52e9,
           864 * k_gb,
           48 * k_gb,
           96 * k_mb,
           {183 * k_tera, 362 * k_tera, 733 * k_tera, 0, 733 * k_tera, 0},
           "NVIDIA L40S datasheet",
           {},
           {}},
    Device{"L4",
           58,
           2.04e9,
           300 * k_gb,
           24 * k_gb,
           48 * k_mb,
           {60 * k_tera, 121 * k_tera, 242.5 * k_tera, 0, 242.5 * k_tera, 0},
           "NVIDIA L4 datasheet, halved to dense",
           {},
           {}},
    Device{"RTX 4090",
           128,
           2.52e9,
           1008 * k_gb,
           24 * k_gb,
           72 * k_mb,
           {82.6 * k_tera, 165.2 * k_tera, 330.3 * k_tera, 0, 660.6 * k_tera, 0},
           "NVIDIA Ada white paper",
           {},
           {}},
};
// Datasheets of H100 and H200 print rates with sparsity; dense is half. Measured on one H200
// (driver 580, clocks free).
constexpr std::array k_devices_90 = {
    Device{"H200",
           132,
           1.98e9,
           4800 * k_gb,
           141 * k_gb,
           60 * k_mb,
           {494.5 * k_tera, 989.5 * k_tera, 1979 * k_tera, 0, 1979 * k_tera, 67 * k_tera},
           "NVIDIA H200 datasheet, halved to dense; L2 as the driver reports",
           Sourced{4.3e12, Basis::measured, "device-to-device copy of 4 GiB"},
           Sourced{788e12, Basis::measured, "8192 x 8192 x 8192 library product on random data"}},
    Device{"H100",
           132,
           1.98e9,
           3350 * k_gb,
           80 * k_gb,
           50 * k_mb,
           {494.5 * k_tera, 989.5 * k_tera, 1979 * k_tera, 0, 1979 * k_tera, 67 * k_tera},
           "NVIDIA H100 datasheet (SXM), halved to dense",
           {},
           {}},
    Device{"H100 PCIe",
           114,
           1.755e9,
           2000 * k_gb,
           80 * k_gb,
           50 * k_mb,
           {378 * k_tera, 756 * k_tera, 1513 * k_tera, 0, 1513 * k_tera, 51 * k_tera},
           "NVIDIA H100 datasheet (PCIe), halved to dense",
           {},
           {}},
};
constexpr std::array k_devices_100 = {
    Device{"B200",
           148,
           1.965e9,
           8000 * k_gb,
           180 * k_gb,
           126 * k_mb,
           {1100 * k_tera, 2250 * k_tera, 4500 * k_tera, 9000 * k_tera, 4500 * k_tera, 37 * k_tera},
           "NVIDIA DGX B200 datasheet divided by eight, dense",
           {},
           {}},
};
constexpr std::array k_devices_103 = {
    Device{
        "B300",
        148,
        1.92e9,
        8000 * k_gb,
        288 * k_gb,
        126 * k_mb,
        {1100 * k_tera, 2250 * k_tera, 4500 * k_tera, 13500 * k_tera, 150 * k_tera, 1.2 * k_tera},
        "NVIDIA DGX B300 datasheet divided by eight, dense",
        {},
        {}},
};
constexpr std::array k_devices_120 = {
    Device{"RTX 5090",
           170,
           2.407e9,
           1792 * k_gb,
           32 * k_gb,
           96 * k_mb,
           {104.8 * k_tera, 209.5 * k_tera, 419 * k_tera, 1676 * k_tera, 838 * k_tera, 0},
           "NVIDIA RTX Blackwell white paper, dense, fp32 accumulation",
           {},
           {}},
    Device{"RTX PRO 6000",
           188,
           2.617e9,
           1792 * k_gb,
           96 * k_gb,
           128 * k_mb,
           {251.9 * k_tera, 503.8 * k_tera, 1007.6 * k_tera, 2015.2 * k_tera, 1007.6 * k_tera, 0},
           "NVIDIA RTX PRO 6000 Blackwell data sheet, halved to dense",
           {},
           {}},
};

constexpr SmLimits limits(int threads, int blocks, int shared_kib, int unified_kib) {
  SmLimits all;
  all.threads = threads, all.warps = threads / 32, all.blocks = blocks;
  all.shared_bytes = kib(shared_kib), all.shared_per_block = kib(shared_kib - 1),
  all.unified_cache_bytes = kib(unified_kib);
  return all;
}

constexpr const char* k_guide = "CUDA C++ Programming Guide 13.0, compute capabilities";

constexpr Features k_ampere{TensorPath::mma_sync, true, false, false, false, false, false};
constexpr Features k_ada{TensorPath::mma_sync, true, false, false, true, false, false};
constexpr Features k_hopper{TensorPath::wgmma, true, true, true, true, false, false};
constexpr Features k_blackwell{TensorPath::tcgen05, true, true, true, true, true, true};
constexpr Features k_blackwell_rtx{TensorPath::mma_sync, true, true, true, true, true, false};

// fp32, fp64, int32 multiply-add, sfu: results per clock and multiprocessor (guide); L1 by the
// tuning guides.
constexpr std::array k_all = {
    Architecture{80,
                 "sm_80",
                 "Ampere",
                 limits(2048, 32, 164, 192),
                 {64, 32, 64, 16, 128, 64},
                 k_ampere,
                 k_carve_80,
                 k_devices_80,
                 k_guide,
                 "128 x 256 x 32 bf16 in 3 to 4 cp.async stages, 8 warps",
                 "from sm_70: cp.async, bf16 and tf32 on the tensor cores"},
    Architecture{86,
                 "sm_86",
                 "Ampere",
                 limits(1536, 16, 100, 128),
                 {128, 2, 64, 16, 128, 64},
                 k_ampere,
                 k_carve_100k,
                 k_devices_86,
                 k_guide,
                 "128 x 128 x 32 bf16 in 3 stages: 99 KiB a block is the limit",
                 "from sm_80: less shared memory, 48 warps, fp64 at 1/64 of fp32"},
    Architecture{89,
                 "sm_89",
                 "Ada",
                 limits(1536, 24, 100, 128),
                 {128, 2, 64, 16, 128, 64},
                 k_ada,
                 k_carve_100k,
                 k_devices_89,
                 k_guide,
                 "128 x 128 x 64 fp8 or x 32 bf16 in 3 stages",
                 "from sm_86: fp8 on mma.sync, 24 blocks, an L2 ten times larger"},
    Architecture{
        90,
        "sm_90",
        "Hopper",
        limits(2048, 32, 228, 256),
        {128, 64, 64, 16, 128, 64},
        k_hopper,
        k_carve_90,
        k_devices_90,
        k_guide,
        "128 x 256 x 64 bf16, two consumer warpgroups, TMA producer, 4 stages, clusters of 2",
        "from sm_80: wgmma, TMA, mbarrier pipelines, clusters; mma.sync reaches about 60 % of "
        "wgmma"},
    Architecture{100,
                 "sm_100",
                 "Blackwell",
                 limits(2048, 32, 228, 256),
                 {128, 64, 64, 16, 128, 64},
                 k_blackwell,
                 k_carve_90,
                 k_devices_100,
                 k_guide,
                 "256 x 256 x 64 bf16 over a pair of blocks, accumulators in tensor memory, TMA, 4 "
                 "stages or more",
                 "from sm_90: tcgen05 replaces wgmma, tensor memory, block scales, fp4"},
    Architecture{103,
                 "sm_103",
                 "Blackwell",
                 limits(2048, 32, 228, 256),
                 {128, 2, 64, 16, 128, 64},
                 k_blackwell,
                 k_carve_90,
                 k_devices_103,
                 k_guide,
                 "as sm_100; K 96 for fp4",
                 "from sm_100: fp4 half again as fast, fp64 and int8 tensor rates cut"},
    Architecture{120,
                 "sm_120",
                 "Blackwell",
                 limits(1536, 24, 100, 128),
                 {128, 2, 64, 16, 128, 64},
                 k_blackwell_rtx,
                 k_carve_100k,
                 k_devices_120,
                 k_guide,
                 "128 x 128 x 64 fp8 on mma.sync with TMA, 2 to 3 stages",
                 "from sm_89: TMA, clusters of one, block-scaled fp4 and fp8 mma.sync; no tcgen05, "
                 "no wgmma"},
};

} // namespace

const char* to_string(Basis basis) {
  switch (basis) {
  case Basis::guide: return "programming guide";
  case Basis::datasheet: return "datasheet";
  case Basis::derived: return "derived";
  case Basis::measured: return "measured";
  }
  return "?";
}

const char* to_string(TensorPath path) {
  switch (path) {
  case TensorPath::none: return "none";
  case TensorPath::mma_sync: return "mma.sync";
  case TensorPath::wgmma: return "wgmma";
  case TensorPath::tcgen05: return "tcgen05";
  }
  return "?";
}

std::span<const Architecture> architectures() { return k_all; }

const Architecture* find(int capability) {
  for (const Architecture& one : k_all)
    if (one.capability == capability) return &one;
  return nullptr;
}

const Architecture* find(std::string_view text) {
  for (std::string_view prefix : {"sm_", "compute_"})
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  if (!text.empty() && (text.back() == 'a' || text.back() == 'f')) text.remove_suffix(1);
  int number = 0, digits = 0;
  for (char c : text) {
    if (c == '.') continue;
    if (c < '0' || c > '9' || ++digits > 4) return nullptr;
    number = number * 10 + (c - '0');
  }
  return digits ? find(number) : nullptr;
}

const Device* find_device(const Architecture& architecture, std::string_view driver_name) {
  const Device* best = nullptr;
  for (const Device& device : architecture.devices)
    if (driver_name.find(device.name) != std::string_view::npos &&
        (!best || device.name.size() > best->name.size()))
      best = &device;
  return best;
}

} // namespace ako::arch
