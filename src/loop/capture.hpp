// Running Nsight Compute on a command and reading what it wrote. The command runner is injected:
// tests give scripted tools.
#pragma once

#include "model/build_plan.hpp"
#include "model/profile.hpp"
#include "profiles/diagnose.hpp"
#include "profiles/ncu_run.hpp"

#include <map>
#include <string>
#include <vector>

namespace ako::loop {

struct CaptureRequest {
  std::vector<std::string> target;
  std::string kernel;
  std::int64_t skip = 0, count = 1;
  profiles::ProfileFrom from = profiles::ProfileFrom::start;
  std::string working_folder;
  std::string lane;                               ///< moves of this lane only
  std::map<std::string, std::string> environment; ///< of the target, besides the caller's own
  double seconds = 300;
};

struct Capture {
  std::string ncu, version, command; ///< command: as it was run
  std::string raw, details, source;  ///< the pages as printed; details and source may be empty
  model::DiagnosisReport report;
  std::vector<profiles::NcuKernel> kernels;
  std::vector<std::string> warnings;
};

/// AKO_NCU, PATH, then the usual folders of a toolkit; environment when there is none.
base::Expected<std::string> find_ncu();

/// One run of ncu and one export a page. Errors as judge_capture and the readers name them.
base::Expected<Capture> capture_with_ncu(const std::string& ncu, const CaptureRequest& request,
                                         const model::CommandRunner& runner);

} // namespace ako::loop
