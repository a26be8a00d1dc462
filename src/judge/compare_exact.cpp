#include "inputs/codec.hpp"
#include "judge/methods.hpp"
#include "judge/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace ako::judge {
namespace {

/// Equal values: equal codes, or both zero, or both NaN (whatever their payload).
bool equal(model::Dtype dtype, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  if (model::class_of(dtype) == model::DtypeClass::floating &&
      std::isnan(inputs::decode(dtype, a)) && std::isnan(inputs::decode(dtype, b)))
    return true;
  const std::int64_t left = inputs::ordinal(dtype, a), right = inputs::ordinal(dtype, b);
  return left == right && left != INT64_MAX;
}

/// NaN says nothing unless the contract calls it meaningful: then the reference is at fault,
/// whatever came.
bool reference_fails(const CompareRequest& request, CompareResult& out) {
  if (request.tolerance.nan_meaningful ||
      model::class_of(request.expected.dtype) != model::DtypeClass::floating)
    return false;
  std::int64_t first = -1;
  for (std::int64_t i = 0; i < out.elements; ++i) {
    if (!std::isnan(inputs::decode(request.expected.dtype, code_at(request.expected, i)))) continue;
    if (first < 0) first = i;
    ++out.nonfinite.expected_nan;
  }
  if (first < 0) return false;
  out.reference_at_fault = true;
  out.reason = fmt::format("the reference gives NaN for {} of {} elements, the first at [{}], and "
                           "the contract does not call NaN meaningful",
                           out.nonfinite.expected_nan, out.elements,
                           fmt::join(index_of(*request.got.tensor, first), ","));
  return true;
}

void note(CompareResult& out, const CompareRequest& request, std::int64_t element) {
  ++out.mismatches;
  if (out.first.element >= 0) return;
  out.first.element = element;
  out.first.index = index_of(*request.got.tensor, element);
  out.first.got = inputs::decode(request.got.dtype, code_at(request.got, element));
  out.first.expected = inputs::decode(request.expected.dtype, code_at(request.expected, element));
  out.worst = out.first;
}

} // namespace

base::Expected<CompareResult> compare_exact(const CompareRequest& request) {
  CompareResult out;
  out.method = "exact";
  out.elements = request.got.tensor->elements;
  if (reference_fails(request, out)) return out;
  const auto& tensor = *request.got.tensor;
  const auto bytes = static_cast<std::size_t>(tensor.bytes);
  const bool same_bytes =
      tensor.contiguous && request.got.dtype == request.expected.dtype &&
      std::memcmp(request.got.bytes.data(), request.expected.bytes.data(), bytes) == 0 &&
      model::class_of(request.got.dtype) != model::DtypeClass::floating;
  for (std::int64_t i = 0; i < out.elements && !same_bytes; ++i)
    if (!equal(request.got.dtype, code_at(request.got, i), code_at(request.expected, i)))
      note(out, request, i);
  out.pass = out.mismatches == 0;
  if (!out.pass)
    out.reason = fmt::format("{} of {} elements differ, the first at [{}]: got {}, expected {}",
                             out.mismatches, out.elements, fmt::join(out.first.index, ","),
                             out.first.got, out.first.expected);
  return out;
}

base::Expected<CompareResult> compare_set(const CompareRequest& request) {
  CompareResult out;
  out.method = "set";
  const auto& tensor = *request.got.tensor;
  out.elements = tensor.elements;
  if (reference_fails(request, out)) return out;
  const std::int64_t length = tensor.shape.empty() ? 1 : tensor.shape.back();
  std::vector<std::int64_t> got(static_cast<std::size_t>(length)), expected(got.size());
  for (std::int64_t first = 0; first < out.elements; first += length) {
    for (std::int64_t i = 0; i < length; ++i) {
      got[static_cast<std::size_t>(i)] =
          inputs::ordinal(request.got.dtype, code_at(request.got, first + i));
      expected[static_cast<std::size_t>(i)] =
          inputs::ordinal(request.expected.dtype, code_at(request.expected, first + i));
    }
    std::sort(got.begin(), got.end());
    std::sort(expected.begin(), expected.end());
    std::int64_t missing = 0;
    for (std::size_t i = 0; i < got.size(); ++i) missing += got[i] != expected[i];
    if (missing == 0) continue;
    if (out.first.element < 0) {
      out.first.element = first;
      out.first.index = index_of(tensor, first);
      out.worst_row = {out.first.index, INFINITY, missing, length};
    }
    out.mismatches += missing;
  }
  out.pass = out.mismatches == 0;
  if (!out.pass)
    out.reason = fmt::format("{} elements are not among the expected ones of their row, the first "
                             "row at [{}]",
                             out.mismatches, fmt::join(out.first.index, ","));
  return out;
}

} // namespace ako::judge
