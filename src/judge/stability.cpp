#include "judge/stability.hpp"

#include "inputs/codec.hpp"

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

std::int64_t differing(model::Dtype dtype, std::span<const std::byte> a,
                       std::span<const std::byte> b, std::int64_t elements) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < elements; ++i)
    count += inputs::load_code(dtype, a, i) != inputs::load_code(dtype, b, i);
  return count;
}

} // namespace

base::Expected<StabilityResult> classify_repeats(const model::ResolvedTensor& tensor,
                                                 std::span<const std::span<const std::byte>> runs,
                                                 model::Compare how, const Tolerance& tolerance) {
  StabilityResult out;
  out.runs = static_cast<int>(runs.size());
  for (std::size_t r = 1; r < runs.size(); ++r) {
    const auto bytes = static_cast<std::size_t>(tensor.bytes);
    if (runs[r].size() < bytes || runs[0].size() < bytes)
      return base::fail(base::ErrorKind::invalid, "a run is shorter than its tensor",
                        {.where = tensor.name, .found = {}, .allowed = {}, .next = {}});
    if (std::memcmp(runs[0].data(), runs[r].data(), bytes) == 0) continue;
    ++out.different_runs;
    out.different_elements = std::max(
        out.different_elements, differing(tensor.dtype, runs[0], runs[r], tensor.span_elements));
    CompareRequest request;
    request.got = view(tensor, runs[r]);
    request.expected = view(tensor, runs[0]);
    request.how = how == model::Compare::property ? model::Compare::exact : how;
    request.tolerance = tolerance;
    // Statistics of the whole tensor say nothing about two runs of one kernel.
    request.tolerance.slope_limit = request.tolerance.bias_limit = 0;
    AKO_TRY(CompareResult result, compare(request));
    out.largest = std::max(out.largest, result.max_of_allowed);
    const bool close = how == model::Compare::close || how == model::Compare::set;
    if (close && result.pass)
      out.kind = std::max(out.kind, how == model::Compare::set ? Stability::stable
                                                               : Stability::reorder_noise);
    else out.kind = Stability::unstable;
  }
  if (out.different_runs > 0)
    out.reason = fmt::format("{} of {} runs on the same content differ from the first, in up to {} "
                             "elements; the largest difference is {:.2g} of the tolerance",
                             out.different_runs, out.runs - 1, out.different_elements, out.largest);
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
