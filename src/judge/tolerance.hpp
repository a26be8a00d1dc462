// How far a candidate's numbers may lie from the expected ones.
//
// An element passes when |got - expected| <= atol + row_factor * rms(row of expected) + rtol *
// |expected|. "Row" is the last axis; leading axes are merged in until a row has at least 32
// elements, so that outputs of shape [n, 1] are not judged purely relatively. An output of fewer
// elements than that has no such row: its magnitude is then at least `scale`, the rms over other
// contents, for a single sum that happens to cancel says nothing about the size of its terms.
//
// Derived values, with u = unit roundoff of the output (2^-8 for bfloat16), u_in of the narrowest
// floating input, u_acc = 2^-24 (2^-53 for float64 outputs), L = length of the longest sum:
//   rtol       = 3 u for types below 32 bits: 1.5 quanta, the correct rounding or its neighbour
//                32 u for float32 and float64: a few units in the last place of an elementary
//                function
//   row_factor = 8 sqrt(L) u_acc + (2.5 u_in if u_in > u_acc) + (2^-11 with inputs of 8 bits and
//                less): rounding errors of a sum in any order walk randomly; intermediates may be
//                rounded once to the inputs' type, which leaves an error of 0.41 u_in rms, and the
//                worst of millions lies six times as far; tensor cores add products of fp8 with
//                some 13 bits. It multiplies the row's magnitude since a sum's error does not
//                shrink where its terms cancel.
//   both doubled when the reference has the output's own precision, for then it errs as well.
// fp8 and fp4 outputs are held against the correctly rounded value: any other value is a flip, and
// flips may make up flip_share of the tensor (5 %: three times what intermediates in bfloat16
// cause); more than one quantum off and outside the sum above is a mismatch. Statistics over the
// whole tensor see what no element shows: `slope_limit` bounds the regression of got on expected
// around 1 (0.004, or a quarter of a given rtol: shows a scale of 1.01 in bfloat16), `bias_limit`
// the mean signed error in quanta of the elements that needed rounding and lie within one quantum
// (truncation makes -0.5, rounding to nearest 0). Both need 256 elements and five standard errors.
// The derived atol is the smallest subnormal: no value lies nearer to its neighbours than that.
// A given atol replaces the derived one and the row's share; a given rtol the derived one.
#pragma once

#include "base/error.hpp"
#include "model/resolved.hpp"

#include <optional>
#include <string>

namespace ako::judge {

struct Tolerance {
  double rtol = 0, atol = 0, row_factor = 0;
  double scale = 0;      ///< the least magnitude of a row, in the output's unit
  double flip_share = 1; ///< fp8, fp4
  double matched_ratio =
      1; ///< share of elements that must pass; never forgives a non-finite mismatch
  std::optional<double>
      max_error_cap;      ///< no |got - expected| above it, whatever matched_ratio says
  double slope_limit = 0; ///< 0 = not looked at
  double bias_limit = 0;  ///< in quanta, 0 = not looked at
  std::optional<double> ratio_to_baseline; ///< judged by precision.hpp
  bool flush_subnormals = false, nan_meaningful = false;
  std::string formula; ///< one line: the numbers and where each comes from
};

/// Length used for the derived tolerance: tolerance.accumulate where given, else the product of the
/// axes that are summed over, or the output's last axis where that is longer, but of that 4096 at
/// most: rows may be normalised or scanned, and an elementwise kernel sums nothing, however long
/// its tensors are.
std::int64_t accumulate_length(const model::Contract& contract, const model::ResolvedShape& shape,
                               int tensor);

/// Whether the magnitude of this output shows over several contents only.
bool needs_scale(const model::Tensor& declared, const model::ResolvedTensor& resolved);

/// The task's values where given, the rest derived. Kind invalid when the tensor is not compared
/// closely or a given value is negative or not finite.
base::Expected<Tolerance> derive_tolerance(const model::Contract& contract,
                                           const model::ResolvedShape& shape, int tensor);

} // namespace ako::judge
