#include "model/profile.hpp"

namespace ako::model {
namespace {

using base::Json;

Json scaled_or_null(const std::optional<double>& value, double scale = 1) {
  return value ? base::number_or_null(*value * scale) : Json(nullptr);
}

Json to_json(const Finding& finding) {
  Json evidence = Json::array();
  for (const ProfileEvidence& item : finding.evidence)
    evidence.push_back({{"metric", item.metric},
                        {"value", base::number_or_null(item.value)},
                        {"unit", item.unit},
                        {"threshold", scaled_or_null(item.threshold)}});
  if (!finding.gain_basis.empty())
    evidence.push_back({{"metric", "bound of the gain: " + finding.gain_basis},
                        {"value", base::number_or_null(finding.gain_bound * 100)},
                        {"unit", "%"},
                        {"threshold", nullptr}});
  Json moves = Json::array();
  for (const Move& move : finding.moves)
    moves.push_back({{"text", move.text}, {"lane", move.lane}, {"guide", move.guide}});
  Json json = {{"id", finding.id},
               {"rank", finding.rank},
               {"confidence", base::number_or_null(finding.confidence)},
               {"gain_bound_pct", base::number_or_null(finding.gain_bound * 100)},
               {"evidence", std::move(evidence)},
               {"against", finding.against},
               {"moves", std::move(moves)}};
  if (!finding.lines.empty()) json["lines"] = finding.lines;
  return json;
}

Json to_json(const KernelDiagnosis& kernel) {
  Json findings = Json::array();
  for (const Finding& finding : kernel.findings) findings.push_back(to_json(finding));
  return {{"name", kernel.name},
          {"launch", kernel.launch},
          {"device", kernel.device},
          {"duration_ns", scaled_or_null(kernel.duration_ns)},
          {"class", kernel.kind},
          {"at_ceiling_pct", scaled_or_null(kernel.at_ceiling, 100)},
          {"findings", std::move(findings)}};
}

} // namespace

base::Json to_json(const DiagnosisReport& report) {
  Json kernels = Json::array(), skipped = Json::array();
  for (const KernelDiagnosis& kernel : report.kernels) kernels.push_back(to_json(kernel));
  for (const SkippedLine& line : report.skipped)
    skipped.push_back({{"line", line.line}, {"reason", line.reason}});
  return {{"kernels", std::move(kernels)}, {"skipped", std::move(skipped)}};
}

} // namespace ako::model
