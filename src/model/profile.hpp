// What a profile says: findings with their evidence, as plain values.
#pragma once

#include "base/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ako::model {

/// One number that speaks for a finding. `threshold` is what it was compared with, where it was.
struct ProfileEvidence {
  std::string metric;
  double value = 0;
  std::string unit;
  std::optional<double> threshold;
};

/// What to try next. `guide` is the id of a guide of the reading list.
struct Move {
  std::string text, lane, guide;
};

struct Finding {
  std::string id;        ///< "dram_bandwidth_bound", ...
  std::string kind;      ///< compute, memory, latency, occupancy, launch, synchronisation or layout
  int rank = 0;          ///< from 1
  double confidence = 0; ///< 0..1
  double gain_bound = 0; ///< share of the kernel's time that could go at most, 0..1
  std::string gain_basis; ///< how the bound was computed
  std::vector<ProfileEvidence> evidence;
  std::vector<std::string> against; ///< what speaks against it
  std::vector<std::string> lines;   ///< "file:line" or an address, hottest first, where known
  std::vector<Move> moves;
};

struct KernelDiagnosis {
  std::string name;
  std::int64_t launch = 0; ///< ncu's id of the launch; for a timeline the first launch's place
  std::string device;      ///< "NVIDIA H200 (sm_90)" or what is known of it
  std::optional<double> duration_ns; ///< of this launch; of all launches for a timeline
  std::string kind;                  ///< the class of the first finding
  std::string roof;                  ///< the most used roof: "dram", "l2", "l1", "tensor", ...
  std::optional<double> at_ceiling;  ///< share of that roof, 0..1
  bool done = false;                 ///< at its ceiling: nothing left but the roof itself
  std::vector<Finding> findings;
};

struct SkippedLine {
  std::int64_t line = 0; ///< from 1
  std::string reason;
};

struct DiagnosisReport {
  std::vector<KernelDiagnosis> kernels;
  std::vector<SkippedLine> skipped;
};

/// {"kernels":[{"name","launch","device","duration_ns","class","at_ceiling_pct","findings":[{"id","rank",
/// "confidence","gain_bound_pct","evidence":[{"metric","value","unit","threshold"}],"against",
/// "moves":[{"text","lane","guide"}]}]}],"skipped":[{"line","reason"}]}; unknown numbers are null.
/// How the bound of the gain was computed is the last evidence of a finding, without a threshold.
/// A finding whose source lines are known has "lines":["file:line ..."] as well.
base::Json to_json(const DiagnosisReport& report);

} // namespace ako::model
