// Used by the readers of this room only.
#pragma once

#include "profiles/scope.hpp"

namespace ako::profiles {

/// ScopeReport::source of what ncu profiled.
inline constexpr const char* k_ncu_source = "ncu report";

/// Completes a report whose kernels are sums without a timeline: shares, families, order and proof.
base::Expected<ScopeReport> scope_sums(ScopeReport report, const ScopeOptions& options);

} // namespace ako::profiles
