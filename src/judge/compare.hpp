// Comparison of what a candidate wrote with what was expected: bytes and values in, numbers out.
// Works in chunks of whole rows; needs `memory_need` bytes besides its arguments.
#pragma once

#include "base/error.hpp"
#include "judge/tolerance.hpp"
#include "model/outcome.hpp"
#include "model/resolved.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ako::judge {

/// A tensor in memory: `tensor` gives shape and strides, `dtype` the elements' type here (expected
/// outputs may be float64 where the tensor is bfloat16; their strides are the same in elements).
struct TensorView {
  const model::ResolvedTensor* tensor = nullptr;
  model::Dtype dtype = model::Dtype::float32;
  std::span<const std::byte> bytes;
};
/// View of a tensor in its own dtype.
TensorView view(const model::ResolvedTensor& tensor, std::span<const std::byte> bytes);
/// View of an expected output: `precision` applies to close-compared floating tensors.
TensorView expected_view(const model::ResolvedTensor& tensor, model::ErrorPrecision precision,
                         model::Compare compare, std::span<const std::byte> bytes);

/// What a comparison found, worst first. `pass` alone decides; `reason` says why not.
struct Difference {
  std::int64_t element = -1;                 ///< row-major logical index; -1 = none
  std::vector<std::int64_t> index;           ///< the same as coordinates
  double got = 0, expected = 0, allowed = 0; ///< values, and the largest allowed |difference|
};
struct Region {                    ///< a row (last axis) or a tile of 64 x 64 of the last two axes
  std::vector<std::int64_t> index; ///< coordinates of its first element
  double error = 0;                ///< rms(got - expected) / rms(expected) over it; inf when
                                   ///< expected is all zero and got is not
  std::int64_t mismatches = 0, elements = 0;
};
/// Indexed by what the expected value is; see the table in compare.cpp.
struct NonFinite {
  std::int64_t matched = 0;      ///< inf with inf of the same sign, NaN with NaN where meaningful
  std::int64_t got_nan = 0;      ///< a number expected
  std::int64_t got_infinity = 0; ///< a finite number expected
  std::int64_t missed_infinity = 0; ///< infinity expected, something else came
  std::int64_t missed_nan = 0;      ///< NaN expected (meaningful), something else came
  std::int64_t expected_nan = 0;    ///< NaN expected and not meaningful: the reference's fault
  std::int64_t fatal() const { return got_nan + got_infinity + missed_infinity + missed_nan; }
};

struct CompareResult {
  bool pass = false;
  /// The reference's fault (non-finite where the contract does not allow it), not the candidate's.
  bool reference_at_fault = false;
  std::string reason; ///< one sentence with numbers and threshold; empty when it passed
  std::int64_t elements = 0, mismatches = 0;
  std::int64_t flips = 0;   ///< fp8, fp4: one quantum off
  std::int64_t flushed = 0; ///< subnormals that came back as zero, allowed or not
  NonFinite nonfinite;
  double max_abs = 0, max_rel = 0; ///< over finite pairs; rel against |expected| (not 0)
  double max_quanta = 0;       ///< |error| in quanta of the candidate's dtype at the expected value
  double max_of_allowed = 0;   ///< largest |error| / allowed: 0.5 = half of the tolerance used
  double error_rms = 0;        ///< rms(got - expected) / rms(expected)
  double slope = 1;            ///< regression of got on expected through 0
  double bias_quanta = 0;      ///< mean signed error towards (-) or away from (+) zero
  std::int64_t bias_count = 0; ///< elements it was taken over
  Difference worst;            ///< by |error| / allowed; a fatal non-finite one first
  Difference first;            ///< the first mismatch
  Region worst_row, worst_tile;
  std::string method; ///< "close", "exact", "set", "property: ..."
};

/// One comparison. `inputs` are only for properties, named by their tensors.
struct CompareRequest {
  TensorView got, expected;
  model::Compare how = model::Compare::close;
  Tolerance tolerance;
  std::string property;
  std::vector<TensorView> others; ///< tensors that a property names, also the expected ones
  std::int64_t memory_limit = std::int64_t{1} << 30; ///< most bytes of own working memory
};

/// Bytes of working memory that compare() will take for this request: what it must have at least.
std::int64_t memory_need(const CompareRequest& request);

/// Kind environment "checker out of memory" when memory_limit or the machine has less than
/// memory_need: the checker's trouble, never the candidate's. Kind invalid: shapes or sizes that do
/// not fit, unknown property.
/// Properties (see property.cpp): clause {";" clause};
///   permutation_of:<t>            each row holds the values of t's row in some order
///   sampled_from:<t>              each element is an index drawn from the distribution in t's row
///                                 (t: probabilities, last axis = outcomes); G-test at 1e-6
///   picks:<t>                     each row: different indices into t's row, which pick values
///                                 equal to those that the expected indices pick
///   product:<a>,<b>=<c>           a . b (last two axes, matrix product) gives c within tolerance
///   sorted | sorted_descending    each row is monotone
///   row_sum:<number>              each row sums to it within tolerance
base::Expected<CompareResult> compare(const CompareRequest& request);

/// Evidence "compare" from a failed result: indices, values, worst row and tile.
model::Evidence evidence_of(const CompareResult& result, const model::ResolvedTensor& tensor,
                            const model::ResolvedShape& shape);
base::Json to_json(const CompareResult& result);

} // namespace ako::judge
