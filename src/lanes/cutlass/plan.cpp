// From a request to a build plan: that of the cuda lane, with CUTLASS beside it.
#include "lanes/cuda/plan.hpp"
#include "lanes/cuda/nvcc.hpp"
#include "lanes/cutlass/driver.hpp"
#include "lanes/cutlass/headers.hpp"
#include "lanes/native/read.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::lanes::cutlass {

using base::Expected;
namespace fs = base::fs;

namespace {

/// constexpr functions of the standard library are called in device code everywhere.
constexpr const char* k_relaxed = "--expt-relaxed-constexpr";
/// An assert in the main loop is a function call, across which products run one after the other.
constexpr const char* k_release = "-DNDEBUG";

/// Headers of a system folder are no candidate's: what they warn of is nobody's to mend.
cuda::Dialect dialect_of(const std::string& include) {
  cuda::Dialect dialect{model::Lane::cutlass, "-std=c++17", {k_relaxed, k_release}};
  // The host compiler's own place must keep its own place in the order.
  if (include != "/usr/include") dialect.words.insert(dialect.words.end(), {"-isystem", include});
  return dialect;
}

/// Collectives of one device kind compile for its plain architecture too, into code that prints a
/// line and stops on the device: told before, not after minutes.
base::Status check_architecture(const BuildRequest& request) {
  AKO_TRY(const auto architectures, cuda::architectures_of(request));
  const auto uses = cuda::find_features(request.sources);
  for (const auto& use : uses) {
    const bool had = std::any_of(architectures.begin(), architectures.end(),
                                 [&](const auto& built) { return use.had_by(built); });
    if (use.only_with_a.empty() || had) continue;
    return tl::unexpected(cuda::explain_feature(use.feature, architectures.front(), uses));
  }
  return {};
}

} // namespace

Expected<Tool> Driver::find_tool(const model::Contract& contract,
                                 const Surroundings& around) const {
  AKO_TRY(const Headers headers, find_headers(around));
  AKO_TRY(Tool tool,
          cuda::find_nvcc(contract.kernel.lane == lane() ? contract.kernel.compiler : "", around));
  AKO_TRY(const std::string identity, identity_of(headers, around.memo_dir));
  tool.version += fmt::format(", CUTLASS {}", headers.version.text());
  tool.identity += " | " + identity;
  tool.system_dirs.push_back(headers.include.string());
  return tool;
}

Expected<model::BuildPlan> Driver::plan(const BuildRequest& request, const Tool& tool,
                                        const Surroundings& around) const {
  AKO_TRY(const Headers headers, find_headers(around));
  AKO_TRY(const auto needs, needs_of(request.sources));
  AKO_TRY_STATUS(check_version(needs, headers));
  AKO_TRY_STATUS(check_architecture(request));
  return cuda::plan_in(dialect_of(headers.include.string()), request, tool, around);
}

Expected<model::SourceText> Driver::microbench(const model::Contract& contract) const {
  return cuda::microbench_in(dialect_of("\"$CUTLASS_PATH/include\""), contract);
}

model::LaunchSpec Driver::launch_spec(const BuildRequest& request,
                                      const model::Artifact& artifact) const {
  return native::launch_spec_of(request, artifact, lane());
}

Probe Driver::probe(const std::string& compiler, const Surroundings& around,
                    const fs::path& scratch) const {
  std::vector<std::string> looked;
  const auto headers = find_headers(around, &looked);
  if (!headers) {
    Probe probe;
    probe.looked = std::move(looked);
    probe.summary = headers.error().message;
    probe.next = headers.error().next;
    return probe;
  }
  cuda::ProbeMore more{dialect_of(headers->include.string()).words,
                       "#include <cutlass/numeric_types.h>\n"};
  more.words.emplace_back("-std=c++17");
  Probe probe = cuda::probe_nvcc(compiler, around, scratch, more);
  probe.looked.insert(probe.looked.end(), looked.begin(), looked.end());
  if (probe.works)
    probe.summary = fmt::format("CUTLASS {} at {}, chosen by {}; {}", headers->version.text(),
                                headers->include.string(), headers->chosen_by, probe.summary);
  return probe;
}

} // namespace ako::lanes::cutlass
