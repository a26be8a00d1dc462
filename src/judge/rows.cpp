#include "judge/rows.hpp"

#include "inputs/codec.hpp"

#include <algorithm>

namespace ako::judge {

RowPlan plan_rows(const model::ResolvedTensor& tensor) {
  RowPlan out;
  out.last_axis = tensor.shape.empty() ? 1 : tensor.shape.back();
  out.length = 1;
  for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
    if (out.length >= k_least_row) break;
    out.length *= tensor.shape[axis];
  }
  out.rows = out.length > 0 ? tensor.elements / out.length : 0;
  return out;
}

std::vector<std::int64_t> index_of(const model::ResolvedTensor& tensor, std::int64_t element) {
  std::vector<std::int64_t> out(tensor.shape.size());
  for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
    out[axis] = element % tensor.shape[axis];
    element /= tensor.shape[axis];
  }
  return out;
}

std::int64_t offset_of(const model::ResolvedTensor& tensor, std::int64_t element) {
  if (tensor.contiguous) return element;
  std::int64_t offset = 0;
  for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
    offset += element % tensor.shape[axis] * tensor.strides[axis];
    element /= tensor.shape[axis];
  }
  return offset;
}

void read_elements(const TensorView& view, std::int64_t first, std::span<double> values) {
  const auto& tensor = *view.tensor;
  if (tensor.contiguous) {
    inputs::decode_range(view.dtype, view.bytes, first, values);
    return;
  }
  const std::int64_t last = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::int64_t step = tensor.strides.empty() ? 1 : tensor.strides.back();
  std::size_t done = 0;
  while (done < values.size()) {
    const std::int64_t element = first + static_cast<std::int64_t>(done);
    const std::int64_t run = std::min<std::int64_t>(
        last - element % last, static_cast<std::int64_t>(values.size() - done));
    const std::int64_t offset = offset_of(tensor, element);
    if (step == 1) {
      inputs::decode_range(view.dtype, view.bytes, offset,
                           values.subspan(done, static_cast<std::size_t>(run)));
    } else {
      for (std::int64_t i = 0; i < run; ++i)
        values[done + static_cast<std::size_t>(i)] =
            inputs::load(view.dtype, view.bytes, offset + i * step);
    }
    done += static_cast<std::size_t>(run);
  }
}

std::uint64_t code_at(const TensorView& view, std::int64_t element) {
  return inputs::load_code(view.dtype, view.bytes, offset_of(*view.tensor, element));
}

} // namespace ako::judge
