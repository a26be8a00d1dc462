// Non-finite values, whatever tolerance and matched ratio say:
//   expected   got        result
//   -inf       -inf       match
//   -inf       +inf       mismatch, fatal
//   inf        finite     mismatch, fatal
//   finite     NaN, inf   mismatch, fatal
//   NaN        anything   NaN meaningful: match with NaN, else fatal; not meaningful: the reference
//                         is at fault
//   -0.0       0.0        match
//   subnormal  0          match only where flush_subnormals is declared; in float16 and below also
//                         within the row's noise, for there honest sums cancel into that range
//   beyond the type       infinity, NaN or the largest value, as the type's conversions give
#include "judge/compare.hpp"

#include "inputs/codec.hpp"
#include "judge/methods.hpp"
#include "judge/rows.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::judge {

TensorView view(const model::ResolvedTensor& tensor, std::span<const std::byte> bytes) {
  return {&tensor, tensor.dtype, bytes};
}

TensorView expected_view(const model::ResolvedTensor& tensor, model::ErrorPrecision precision,
                         model::Compare compare, std::span<const std::byte> bytes) {
  TensorView out{&tensor, tensor.dtype, bytes};
  const bool widened = compare == model::Compare::close && tensor.role == model::TensorRole::out &&
                       model::class_of(tensor.dtype) == model::DtypeClass::floating;
  if (widened && precision == model::ErrorPrecision::float64) out.dtype = model::Dtype::float64;
  if (widened && precision == model::ErrorPrecision::float32) out.dtype = model::Dtype::float32;
  return out;
}

namespace {

base::Status check_view(const TensorView& view, const char* which) {
  const std::int64_t need = model::bytes_of(view.dtype, view.tensor->span_elements);
  if (static_cast<std::int64_t>(view.bytes.size()) >= need) return {};
  return base::fail(base::ErrorKind::invalid, "a tensor is shorter than its shape",
                    {.where = view.tensor->name,
                     .found = fmt::format("{} bytes {}", view.bytes.size(), which),
                     .allowed = fmt::format("{} bytes", need),
                     .next = {}});
}

/// Two chunks of doubles and the tiles of one band of lines.
std::int64_t close_memory(const model::ResolvedTensor& tensor) {
  const std::int64_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::int64_t tiles = tensor.shape.size() < 2 ? 0 : columns / 64 + 1;
  return 2 * 8 * std::min(k_compare_chunk, std::max<std::int64_t>(tensor.elements, 1)) + 40 * tiles;
}

/// Both rows as sortable positions.
std::int64_t set_memory(const model::ResolvedTensor& tensor) {
  return 2 * 8 * (tensor.shape.empty() ? 1 : tensor.shape.back());
}

} // namespace

std::int64_t memory_need(const CompareRequest& request) {
  switch (request.how) {
  case model::Compare::close: return close_memory(*request.got.tensor);
  case model::Compare::exact: return 0;
  case model::Compare::set: return set_memory(*request.got.tensor);
  case model::Compare::property: return property_memory(request);
  }
  return 0;
}

base::Expected<CompareResult> compare(const CompareRequest& request) {
  AKO_TRY_STATUS(check_view(request.got, "written"));
  if (request.how != model::Compare::property)
    AKO_TRY_STATUS(check_view(request.expected, "expected"));
  const std::int64_t need = memory_need(request);
  if (need > request.memory_limit)
    return base::fail(base::ErrorKind::environment, "checker out of memory",
                      {.where = request.got.tensor->name,
                       .found = fmt::format("a limit of {} bytes", request.memory_limit),
                       .allowed = fmt::format("{} bytes", need),
                       .next = "free memory, or raise the limit; the candidate is not at fault"});
  try {
    switch (request.how) {
    case model::Compare::close: return compare_close(request);
    case model::Compare::exact: return compare_exact(request);
    case model::Compare::set: return compare_set(request);
    case model::Compare::property: return compare_property(request);
    }
  } catch (const std::bad_alloc&) {
    return base::fail(base::ErrorKind::environment, "checker out of memory",
                      {.where = request.got.tensor->name,
                       .found = "no memory from the system",
                       .allowed = fmt::format("{} bytes", need),
                       .next = "free memory; the candidate is not at fault"});
  }
  return base::fail(base::ErrorKind::internal, "unknown comparison", {});
}

namespace {

base::Json json_of(const Difference& difference) {
  if (difference.element < 0) return {};
  return {{"element", difference.element},
          {"index", difference.index},
          {"got", fmt::format("{}", difference.got)},
          {"expected", fmt::format("{}", difference.expected)},
          {"allowed", base::number_or_null(difference.allowed)}};
}

base::Json json_of(const Region& region) {
  return {{"index", region.index},
          {"error", base::number_or_null(region.error)},
          {"mismatches", region.mismatches},
          {"elements", region.elements}};
}

} // namespace

base::Json to_json(const CompareResult& result) {
  return {{"pass", result.pass},
          {"reason", result.reason},
          {"method", result.method},
          {"elements", result.elements},
          {"mismatches", result.mismatches},
          {"flips", result.flips},
          {"flushed", result.flushed},
          {"max_abs", base::number_or_null(result.max_abs)},
          {"max_rel", base::number_or_null(result.max_rel)},
          {"max_quanta", base::number_or_null(result.max_quanta)},
          {"max_of_allowed", base::number_or_null(result.max_of_allowed)},
          {"error_rms", base::number_or_null(result.error_rms)},
          {"slope", base::number_or_null(result.slope)},
          {"bias_quanta", base::number_or_null(result.bias_quanta)},
          {"non_finite_fatal", result.nonfinite.fatal()},
          {"worst", json_of(result.worst)},
          {"first", json_of(result.first)},
          {"worst_row", json_of(result.worst_row)},
          {"worst_tile", json_of(result.worst_tile)}};
}

model::Evidence evidence_of(const CompareResult& result, const model::ResolvedTensor& tensor,
                            const model::ResolvedShape& shape) {
  base::Json data = to_json(result);
  data["tensor"] = tensor.name;
  data["shape"] = shape.tag;
  return {"compare", fmt::format("\"{}\" at shape {}: {}", tensor.name, shape.tag, result.reason),
          std::move(data), true};
}

} // namespace ako::judge
