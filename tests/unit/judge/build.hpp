// Tensors, contracts and comparisons for the judge's tests.
#pragma once

#include "../inputs/tensors.hpp"
#include "inputs/codec.hpp"
#include "judge/compare.hpp"
#include "judge/tolerance.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace ako::test {

using Bytes = std::vector<std::byte>;
using Values = std::vector<double>;

inline Bytes encoded(const model::ResolvedTensor& tensor, model::Dtype dtype,
                     const Values& values) {
  Bytes bytes(static_cast<std::size_t>(model::bytes_of(dtype, tensor.span_elements)));
  inputs::encode_range(dtype, values, bytes, 0);
  return bytes;
}

inline Values normal_values(std::int64_t count, unsigned seed = 1, double scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, scale);
  Values values(static_cast<std::size_t>(count));
  for (auto& v : values) v = normal(random);
  return values;
}

/// One input x and one output y of the same type.
inline model::Contract contract_of(model::Dtype dtype, model::ErrorPrecision precision) {
  model::Contract contract;
  model::Tensor in, out;
  in.name = "x";
  in.dtype = out.dtype = dtype;
  out.name = "y";
  out.role = model::TensorRole::out;
  contract.tensors = {in, out};
  contract.reference.precision = precision;
  return contract;
}

inline model::ResolvedShape shape_of(const model::ResolvedTensor& in, model::ResolvedTensor out,
                                     std::int64_t accumulate = 1) {
  model::ResolvedShape shape;
  shape.tag = "test";
  out.name = "y";
  out.role = model::TensorRole::out;
  shape.tensors = {in, out};
  shape.accumulate = accumulate;
  return shape;
}

/// Close comparison of y = `got` (own type) with `expected` (float64) under the derived tolerance.
struct CloseCase {
  model::Contract contract;
  model::ResolvedShape shape;
  judge::Tolerance tolerance;

  CloseCase(model::Dtype dtype, std::vector<std::int64_t> extents, std::int64_t accumulate = 1)
      : contract(contract_of(dtype, model::ErrorPrecision::float64)),
        shape(shape_of(tensor_of(dtype, extents), tensor_of(dtype, extents), accumulate)) {
    derive();
  }
  void derive() {
    auto derived = judge::derive_tolerance(contract, shape, 1);
    ASSERT_TRUE(derived) << derived.error().text();
    tolerance = *derived;
  }
  const model::ResolvedTensor& y() const { return shape.tensors[1]; }
  judge::CompareResult compare(const Bytes& got, const Values& expected) const {
    Bytes wide(expected.size() * 8);
    inputs::encode_range(model::Dtype::float64, expected, wide, 0);
    judge::CompareRequest request;
    request.got = judge::view(y(), got);
    request.expected =
        judge::expected_view(y(), model::ErrorPrecision::float64, model::Compare::close, wide);
    request.tolerance = tolerance;
    auto result = judge::compare(request);
    EXPECT_TRUE(result) << result.error().text();
    return result ? *result : judge::CompareResult{};
  }
  judge::CompareResult compare(const Values& got, const Values& expected) const {
    return compare(encoded(y(), y().dtype, got), expected);
  }
};

} // namespace ako::test
