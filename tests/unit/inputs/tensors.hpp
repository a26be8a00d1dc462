// Small resolved tensors for tests.
#pragma once

#include "model/resolved.hpp"

namespace ako::test {

inline model::ResolvedTensor tensor_of(model::Dtype dtype, std::vector<std::int64_t> shape,
                                       std::vector<std::int64_t> strides = {}) {
  model::ResolvedTensor t;
  t.name = "x";
  t.dtype = dtype;
  t.shape = std::move(shape);
  t.elements = 1;
  for (const auto extent : t.shape) t.elements *= extent;
  t.strides.assign(t.shape.size(), 1);
  for (std::size_t axis = t.shape.size(); axis-- > 1;) {
    t.strides[axis - 1] = t.strides[axis] * t.shape[axis];
  }
  t.contiguous = strides.empty() || strides == t.strides;
  if (!strides.empty()) t.strides = std::move(strides);
  t.span_elements = t.elements ? 1 : 0;
  for (std::size_t axis = 0; axis < t.shape.size() && t.elements; ++axis) {
    t.span_elements += (t.shape[axis] - 1) * t.strides[axis];
  }
  t.bytes = model::bytes_of(dtype, t.span_elements);
  return t;
}

} // namespace ako::test
