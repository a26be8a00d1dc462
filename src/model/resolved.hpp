// A contract at one shape: every size a number.
#pragma once

#include "model/contract.hpp"

namespace ako::model {

struct ResolvedTensor {
  std::string name;
  TensorRole role = TensorRole::in;
  Dtype dtype = Dtype::float32;
  std::vector<std::int64_t> shape, strides; ///< elements; strides as declared or row-major
  std::int64_t elements = 0;                ///< product of shape
  std::int64_t span_elements = 0; ///< 1 + last reachable element; >= elements when strided
  std::int64_t bytes = 0;         ///< of the span
  std::int64_t align = 64;
  std::int64_t fill_limit = 0; ///< index, offsets: evaluated limit
  bool contiguous = true;      ///< row-major without gaps
};

struct ResolvedShape {
  std::string tag; ///< the contract's, or "edge:M=127"
  AxisValues axes; ///< var, const and expr axes
  std::map<std::string, Dtype> dtypes;
  double weight = 1;
  std::vector<ResolvedTensor> tensors; ///< contract order
  std::vector<double> scalars;         ///< contract order
  double flops = 0, bytes = 0;         ///< declared lower bounds
  std::int64_t accumulate = 1; ///< length of the longest sum: tolerance.accumulate, or the product
                               ///< of the axes that inputs have and outputs have not
};

base::Expected<ResolvedShape> resolve(const Contract& contract, const ShapeCase& shape);
/// All of the contract's shapes.
base::Expected<std::vector<ResolvedShape>> resolve_all(const Contract& contract);
/// Lawful edge cases: per var axis min, tile-1, tile, tile+1, a prime multiple, and max where the
/// whole stays below `most_bytes`; the other axes as in the smallest contract shape. Without
/// duplicates, tagged "edge:AXIS=VALUE".
std::vector<ShapeCase> edge_shapes(const Contract& contract, std::int64_t most_bytes);
/// `count` lawful shapes drawn by `seed` that are neither the contract's nor edges: for second
/// opinions.
/// Fewer where fewer can be found. Weight 0, tagged "hidden:1", ...
std::vector<ShapeCase> hidden_shapes(const Contract& contract, std::uint64_t seed, int count,
                                     std::int64_t most_bytes);

base::Json to_json(const ResolvedShape& shape);

} // namespace ako::model
