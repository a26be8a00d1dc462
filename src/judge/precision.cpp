#include "judge/precision.hpp"

#include "inputs/codec.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::judge {

const char* to_string(PrecisionClass value) {
  switch (value) {
  case PrecisionClass::same: return "same";
  case PrecisionClass::better: return "better";
  case PrecisionClass::lower: return "lower";
  case PrecisionClass::unknown: return "unknown";
  }
  return "unknown";
}

Precision classify_precision(const CompareResult& candidate, const CompareResult& baseline,
                             model::Dtype output, model::Dtype expected, std::int64_t length) {
  Precision out;
  out.candidate_error = candidate.error_rms;
  out.baseline_error = baseline.error_rms;
  const auto& narrow = inputs::numbers_of(output);
  const auto& wide = inputs::numbers_of(expected);
  if (model::class_of(output) != model::DtypeClass::floating) {
    out.reason = "the output is not of floating point";
    return out;
  }
  out.floor = narrow.unit_roundoff / std::sqrt(12.0);
  const bool errs_as_well = wide.significand_bits <= narrow.significand_bits;
  const bool sums_alike = output == model::Dtype::float32 || output == model::Dtype::float64;
  if (sums_alike) out.floor = narrow.unit_roundoff;
  if (errs_as_well) {
    const double sums = output == model::Dtype::float64 ? 0x1p-53 : 0x1p-24;
    out.floor = narrow.unit_roundoff + std::sqrt(static_cast<double>(length)) * sums;
  }
  if (!std::isfinite(out.candidate_error) || !std::isfinite(out.baseline_error)) {
    out.reason = "an error is not finite";
    return out;
  }
  out.ratio = std::max(out.candidate_error, out.floor) / std::max(out.baseline_error, out.floor);
  out.kind = out.ratio > 2     ? PrecisionClass::lower
             : out.ratio < 0.5 ? PrecisionClass::better
                               : PrecisionClass::same;
  out.reason = fmt::format("error {:.3g} against {:.3g} of what it replaces: {:.2f} times",
                           out.candidate_error, out.baseline_error, out.ratio);
  if (errs_as_well)
    out.reason += fmt::format(", of a reference that errs by {:.3g} itself", out.floor);
  return out;
}

std::vector<model::Evidence> precision_evidence(const Precision& precision,
                                                model::PrecisionRule rule,
                                                const std::optional<double>& ratio_limit,
                                                const std::string& where) {
  if (precision.kind == PrecisionClass::unknown) return {};
  const bool beyond_limit = ratio_limit && precision.ratio > *ratio_limit;
  const bool lower = precision.kind == PrecisionClass::lower;
  if (!beyond_limit && !lower) return {};
  const bool decisive = beyond_limit || rule == model::PrecisionRule::fixed;
  std::string text = fmt::format("precision changed at {}: {}", where, precision.reason);
  if (beyond_limit) text += fmt::format(", {:.2f} is allowed", *ratio_limit);
  base::Json data = {{"ratio", base::number_or_null(precision.ratio)},
                     {"candidate_error", base::number_or_null(precision.candidate_error)},
                     {"baseline_error", base::number_or_null(precision.baseline_error)},
                     {"class", to_string(precision.kind)},
                     {"limit", ratio_limit ? base::Json(*ratio_limit) : base::Json()},
                     {"where", where}};
  return {{"precision", std::move(text), std::move(data), decisive}};
}

} // namespace ako::judge
