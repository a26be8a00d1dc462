#include "judge/stability.hpp"

#include "inputs/codec.hpp"
#include "judge/rows.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace ako::judge {

const char* to_string(Stability value) {
  switch (value) {
  case Stability::stable: return "stable";
  case Stability::reorder_noise: return "reorder noise";
  case Stability::unstable: return "unstable";
  }
  return "unstable";
}

namespace {

/// Elements alone: between strides lie marks, other ones for every run.
std::int64_t differing(const model::ResolvedTensor& tensor, std::span<const std::byte> a,
                       std::span<const std::byte> b) {
  const auto bytes = static_cast<std::size_t>(tensor.bytes);
  if (std::memcmp(a.data(), b.data(), bytes) == 0) return 0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tensor.elements; ++i) {
    const std::int64_t at = offset_of(tensor, i);
    count += inputs::load_code(tensor.dtype, a, at) != inputs::load_code(tensor.dtype, b, at);
  }
  return count;
}

base::Expected<CompareResult> against_first(const model::ResolvedTensor& tensor,
                                            std::span<const std::byte> first,
                                            std::span<const std::byte> run, model::Compare how,
                                            const Tolerance& tolerance) {
  CompareRequest request;
  request.got = view(tensor, run);
  request.expected = view(tensor, first);
  request.how = how;
  request.tolerance = tolerance;
  // Statistics of the whole tensor say nothing about two runs of one kernel, and whether NaN may
  // stand there was asked when it was graded.
  request.tolerance.slope_limit = request.tolerance.bias_limit = 0;
  request.tolerance.nan_meaningful = true;
  return compare(request);
}

} // namespace

base::Expected<StabilityResult> classify_repeats(const model::ResolvedTensor& tensor,
                                                 std::span<const std::span<const std::byte>> runs,
                                                 model::Compare how, const Tolerance& tolerance,
                                                 const RunJudge& by_property) {
  AKO_CHECK(how != model::Compare::property || by_property, "a property needs its judge");
  StabilityResult out;
  out.runs = static_cast<int>(runs.size());
  for (std::size_t r = 1; r < runs.size(); ++r) {
    const auto bytes = static_cast<std::size_t>(tensor.bytes);
    if (runs[r].size() < bytes || runs[0].size() < bytes)
      return base::fail(base::ErrorKind::invalid, "a run is shorter than its tensor",
                        {.where = tensor.name, .found = {}, .allowed = {}, .next = {}});
    const std::int64_t elements = differing(tensor, runs[0], runs[r]);
    if (elements == 0) continue;
    ++out.different_runs;
    out.different_elements = std::max(out.different_elements, elements);
    CompareResult result;
    if (how == model::Compare::property) {
      // The last one is graded anyway; the first may be the one that is wrong.
      AKO_TRY(result, by_property(r));
      if (result.pass && out.different_runs == 1) {
        AKO_TRY(result, by_property(0));
      }
    } else {
      AKO_TRY(result, against_first(tensor, runs[0], runs[r], how, tolerance));
    }
    out.largest = std::max(out.largest, result.max_of_allowed);
    out.kind = std::max(out.kind, result.pass ? Stability::reorder_noise : Stability::unstable);
  }
  if (out.different_runs == 0) return out;
  out.reason = fmt::format("{} of {} runs on the same content differ from the first, in up to {} "
                           "elements",
                           out.different_runs, out.runs - 1, out.different_elements);
  if (how == model::Compare::close)
    out.reason += fmt::format("; the largest difference is {:.2g} of the tolerance", out.largest);
  return out;
}

std::vector<model::Evidence> stability_evidence(const StabilityResult& result,
                                                Determinism determinism, const std::string& where) {
  const bool broken_promise =
      determinism == Determinism::declared && result.kind != Stability::stable;
  if (result.kind != Stability::unstable && !broken_promise) return {};
  std::string text = fmt::format("{} at {}: {}", to_string(result.kind), where, result.reason);
  if (broken_promise) text += "; the contract declares it deterministic";
  return {{"stability",
           std::move(text),
           {{"class", to_string(result.kind)},
            {"runs", result.runs},
            {"different_runs", result.different_runs},
            {"different_elements", result.different_elements},
            {"largest", base::number_or_null(result.largest)},
            {"where", where}},
           true}};
}

} // namespace ako::judge
