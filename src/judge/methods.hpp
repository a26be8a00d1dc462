// The ways to compare behind compare(); each expects views that were checked.
#pragma once

#include "judge/compare.hpp"

namespace ako::judge {

/// Elements that are decoded at once.
inline constexpr std::int64_t k_compare_chunk = 4096;

base::Expected<CompareResult> compare_close(const CompareRequest& request);
base::Expected<CompareResult> compare_exact(const CompareRequest& request);
base::Expected<CompareResult> compare_set(const CompareRequest& request);
base::Expected<CompareResult> compare_property(const CompareRequest& request);
std::int64_t property_memory(const CompareRequest& request);

} // namespace ako::judge
