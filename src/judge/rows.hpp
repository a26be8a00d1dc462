// Walking a tensor row by row as doubles. A row is the last axis; leading axes are merged in until
// it has at least k_least_row elements.
#pragma once

#include "judge/compare.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ako::judge {

inline constexpr std::int64_t k_least_row = 32;

struct RowPlan {
  std::int64_t rows = 1, length = 1; ///< of statistics
  std::int64_t last_axis = 1;        ///< extent of the last axis itself
};
RowPlan plan_rows(const model::ResolvedTensor& tensor);

/// Offset in elements of a logical row-major index.
std::int64_t offset_of(const model::ResolvedTensor& tensor, std::int64_t element);
std::vector<std::int64_t> index_of(const model::ResolvedTensor& tensor, std::int64_t element);

/// Elements [first, first + values.size()) of the logical order.
void read_elements(const TensorView& view, std::int64_t first, std::span<double> values);
std::uint64_t code_at(const TensorView& view, std::int64_t element);

} // namespace ako::judge
