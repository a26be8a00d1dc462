// What moved between two captures of what should be the same kernel.
#pragma once

#include "base/json.hpp"
#include "model/profile.hpp"
#include "profiles/facts.hpp"
#include "profiles/ncu.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::profiles {

struct MetricDelta {
  std::string metric, unit;
  double before = 0, after = 0;
  /// after / before - 1; none where before is zero.
  std::optional<double> change() const;
};

enum class Move { gone, fresh, weaker, stronger, same };
const char* to_string(Move move);

/// A finding of either capture. Bounds are shares of the kernel's own time.
struct FindingDelta {
  std::string id;
  Move move = Move::same;
  int rank_before = 0, rank_after = 0; ///< 0 = not there
  double bound_before = 0, bound_after = 0;
};

struct KernelDelta {
  std::string name, name_before;
  std::optional<double> ns_before, ns_after, ceiling_before, ceiling_after;
  std::string roof_before, roof_after;
  bool done_before = false, done_after = false;
  std::vector<FindingDelta> findings; ///< what came and went first
  std::vector<MetricDelta> metrics;   ///< the largest change first; those that stayed are left out
};

struct Delta {
  std::vector<KernelDelta> kernels;
  std::vector<std::string> only_before, only_after;
  std::vector<std::string> notes; ///< why the two may not be comparable
};

/// Kernels are matched by name, then by the function's short name, then by being alone.
/// `before_raw` and `after_raw` hold the launches behind the reports where they came from ncu; else
/// empty.
Delta delta_of(const model::DiagnosisReport& before, const model::DiagnosisReport& after,
               const std::vector<NcuKernel>& before_raw = {},
               const std::vector<NcuKernel>& after_raw = {});

base::Json to_json(const Delta& delta);
std::string to_text(const Delta& delta);
/// "18.2 -> 14.1 us (-22.5 %); gone: register_spills; new: dram_bandwidth_bound"
std::string summary(const KernelDelta& delta);

} // namespace ako::profiles
