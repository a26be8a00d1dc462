// Going through a tensor in row-major order.
#pragma once

#include "base/error.hpp"
#include "model/resolved.hpp"

#include <algorithm>
#include <vector>

namespace ako::inputs {

/// visit(logical row-major index, place in elements from the tensor's start) for every element.
template <class Visit> void walk(const model::ResolvedTensor& tensor, Visit&& visit) {
  if (tensor.contiguous || tensor.shape.empty()) {
    for (std::int64_t i = 0; i < tensor.elements; ++i) visit(i, i);
    return;
  }
  const std::size_t rank = tensor.shape.size();
  std::vector<std::int64_t> at(rank, 0);
  std::int64_t place = 0;
  for (std::int64_t element = 0; element < tensor.elements; ++element) {
    visit(element, place);
    for (std::size_t axis = rank; axis-- > 0;) {
      place += tensor.strides[axis];
      if (++at[axis] < tensor.shape[axis]) break;
      place -= tensor.strides[axis] * tensor.shape[axis];
      at[axis] = 0;
    }
  }
}

/// Place in elements of a logical row-major index.
inline std::int64_t place_of(const model::ResolvedTensor& tensor, std::int64_t element) {
  if (tensor.contiguous) return element;
  std::int64_t place = 0;
  for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
    place += element % tensor.shape[axis] * tensor.strides[axis];
    element /= tensor.shape[axis];
  }
  return place;
}

} // namespace ako::inputs
