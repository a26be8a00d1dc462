// What can be said of a lane that compiles while it runs where there is no device: it compiles for
// a named target, and its interpreter gives right answers. Neither is ever timed.
#pragma once

#include "loop/builds.hpp"
#include "loop/setup.hpp"

#include <string>
#include <vector>

namespace ako::loop {

/// Whether the side holds kernels that are compiled while it runs.
bool compiles_at_run(const Built& side);

struct AheadReport {
  base::Json resources;                  ///< the artifact's, with what was compiled
  std::optional<model::Outcome> trouble; ///< why it does not compile, and at which shape
};

/// Compiles the side's kernels at every shape of the contract for `architecture` ("sm_90a");
/// launches nothing.
base::Expected<AheadReport> compile_ahead(const workspace::Workdir& workdir,
                                          const model::Contract& contract,
                                          const std::vector<model::ResolvedShape>& shapes,
                                          const Built& side, const std::string& architecture);

struct InterpretReport {
  std::vector<std::string> shapes; ///< that were judged
  std::optional<model::Outcome> trouble;
};

/// Judges the side under Triton's interpreter, on the host, at shapes small enough for it.
base::Expected<InterpretReport> judge_interpreted(const workspace::Workdir& workdir,
                                                  const model::Contract& contract,
                                                  const std::vector<model::ResolvedShape>& shapes,
                                                  const Sides& sides,
                                                  const std::vector<inputs::Recipe>& recipes);

} // namespace ako::loop
