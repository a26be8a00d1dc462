// What is measured on, and with what: the identity that must match before two results are compared.
#pragma once

#include "ledger/events.hpp"
#include "loop/target.hpp"
#include "model/build_plan.hpp"

#include <string>
#include <vector>

namespace ako::loop {

inline constexpr const char* k_ako_version = "0.1.0";

struct HostFacts {
  std::string cpu; ///< "AMD EPYC 9V74"
  int cores = 0;   ///< this process may use
  std::int64_t cache_bytes = 0, memory_bytes = 0;
  std::string kernel, distribution;
  std::string governor; ///< cpufreq's, or "none"
};
HostFacts host_facts();

/// `compiler`: its identity line; it is recorded and not part of the identity (the toolchain
/// belongs to the candidate).
ledger::Environment environment_of(const HostFacts& host, const Target& target,
                                   const std::string& compiler);

/// Cores a measured worker may use: the last `threads` of those allowed here; 0 = all of them.
std::vector<int> measuring_cores(int threads);

} // namespace ako::loop
