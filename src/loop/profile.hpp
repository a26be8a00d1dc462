// Looking into a kernel: a capture with Nsight Compute where it can be had, inference where it
// cannot; on record, and held against the capture before.
#pragma once

#include "loop/builds.hpp"
#include "loop/capture.hpp"
#include "loop/session.hpp"
#include "profiles/delta.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

struct ProfileRequest {
  std::string side = "solution"; ///< solution, incumbent, baseline:NAME
  std::string shape;             ///< tag; empty = the one that takes most of the time
  std::string kernel;            ///< part of a kernel's name
  std::int64_t skip = 0, count = 32;
  std::vector<std::string> command;       ///< instead of the lane's launch
  std::optional<Built> built;             ///< `side`, built by the caller
  std::map<std::string, double> times_ns; ///< with `built`: measured time of a call, by shape
  double seconds = 300;
  enum class Way { capture, infer } way = Way::capture; ///< infer: no profiler is started
};

/// What a look at a kernel found.
struct Profiled {
  std::string side, shape;
  base::Hash snapshot; ///< of what was profiled; empty with a command
  bool inferred = false;
  std::string why_inferred; ///< what kept the profiler away
  model::DiagnosisReport report;
  std::optional<Capture> capture; ///< none when inferred
  std::optional<profiles::Delta> delta;
  std::string against; ///< "capture of iteration 4", with delta
  std::int64_t event = 0;
  std::vector<std::string> warnings;
};

/// Records an event `profile` with the pages as blobs. A profiler that cannot work here is no
/// error: the answer is inferred and says why. Errors: the kernel does not build or run, no launch
/// matches, and whatever the ledger says.
base::Expected<Profiled> profile(const Session& session, const ProfileRequest& request,
                                 const model::CommandRunner& runner);

/// The shape with the largest part of the production time: weight x measured time, else weight.
std::string hot_shape(const model::Contract& contract,
                      const std::vector<ledger::ShapeFigure>& figures);

/// One line for the record and for reports.
std::string profile_summary(const Profiled& profiled);

} // namespace ako::loop
