// The host CPU: what the cpu lane's roofline needs.
#pragma once

#include "base/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace ako::arch {

struct CacheLevel {
  int level = 0;
  std::string type; ///< "Data", "Instruction", "Unified"
  double bytes = 0;
  int shared_by = 1; ///< logical processors
};

struct HostCpu {
  std::string vendor, model;
  int logical = 0, cores = 0; ///< online; cores 0 = not known
  double max_hz = 0;          ///< 0 = the system does not say
  std::vector<std::string>
      vector_sets; ///< of "sse2 avx avx2 fma avx512f avx512_bf16 amx_bf16 neon sve", those there
  std::vector<CacheLevel> caches; ///< of logical processor 0
  /// Single-precision operations per clock and core with the widest set, two FMA units assumed: a
  /// derived bound.
  double fp32_flops_per_clock() const;
  double last_level_bytes() const;
};

/// Reads `root`/proc/cpuinfo and `root`/sys; environment when there is no cpuinfo.
base::Expected<HostCpu> read_host_cpu(const std::filesystem::path& root = "/");

} // namespace ako::arch
