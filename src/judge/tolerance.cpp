#include "judge/tolerance.hpp"

#include "inputs/codec.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::judge {
namespace {

constexpr double k_float32_roundoff = 0x1p-24, k_float64_roundoff = 0x1p-53;

/// Share of one-quantum flips in narrow outputs: three times what bfloat16 intermediates cause.
constexpr double k_flip_share = 0.05;
/// A scale error of 0.5 % in the output is no rounding; rounding noise moves the slope by far less
/// than this on the few hundred elements it is asked for.
constexpr double k_slope_limit = 0.004;
/// Truncation has a mean signed error of -0.5 quanta, rounding to nearest 0.
constexpr double k_bias_limit = 0.25;
/// Intermediates rounded once to the inputs' type: six times the rms of what that leaves.
constexpr double k_rounded_once = 2.5;
/// Sums of fp8 products on tensor cores; seen on an H200: 1e-4 of the row's rms.
constexpr double k_fp8_sums = 0x1p-11;
/// Terms of a sum that no shape shows: rows are normalised, and scanned.
constexpr std::int64_t k_unseen_sum = 4096;
/// Elements whose rms says how large one of them usually is.
constexpr std::int64_t k_few = 32;

double narrowest_input_roundoff(const model::ResolvedShape& shape) {
  double out = 0;
  for (const auto& tensor : shape.tensors)
    if (tensor.role != model::TensorRole::out && tensor.role != model::TensorRole::workspace &&
        model::class_of(tensor.dtype) == model::DtypeClass::floating &&
        tensor.dtype != model::Dtype::float8_e8m0fnu && model::bits_of(tensor.dtype) >= 16)
      out = std::max(out, inputs::numbers_of(tensor.dtype).unit_roundoff);
  return out;
}

bool has_narrow_input(const model::ResolvedShape& shape) {
  return std::any_of(shape.tensors.begin(), shape.tensors.end(), [](const auto& tensor) {
    return tensor.role == model::TensorRole::in && model::bits_of(tensor.dtype) <= 8 &&
           model::class_of(tensor.dtype) == model::DtypeClass::floating &&
           tensor.dtype != model::Dtype::float8_e8m0fnu;
  });
}

base::Status check_given(const std::optional<double>& value, const char* key) {
  if (!value || (std::isfinite(*value) && *value >= 0)) return {};
  return base::fail(base::ErrorKind::invalid, "a tolerance must be a finite number, not negative",
                    {.where = std::string("tolerance.") + key,
                     .found = fmt::format("{}", *value),
                     .allowed = "0 or more",
                     .next = "leave it out to have it derived"});
}

} // namespace

std::int64_t accumulate_length(const model::Contract& contract, const model::ResolvedShape& shape,
                               int tensor) {
  if (!contract.tolerance.accumulate.empty() && shape.accumulate > 0) return shape.accumulate;
  const auto& output = shape.tensors[static_cast<std::size_t>(tensor)].shape;
  const std::int64_t row = output.empty() ? 1 : output.back();
  return std::max(shape.accumulate, std::min(row, k_unseen_sum));
}

bool needs_scale(const model::Tensor& declared, const model::ResolvedTensor& resolved) {
  return declared.compare == model::Compare::close && resolved.elements < k_few &&
         resolved.role != model::TensorRole::in && resolved.role != model::TensorRole::workspace &&
         model::class_of(resolved.dtype) == model::DtypeClass::floating;
}

base::Expected<Tolerance> derive_tolerance(const model::Contract& contract,
                                           const model::ResolvedShape& shape, int tensor) {
  const auto index = static_cast<std::size_t>(tensor);
  const model::Tensor& declared = contract.tensors[index];
  const model::ResolvedTensor& resolved = shape.tensors[index];
  if (declared.compare != model::Compare::close)
    return base::fail(base::ErrorKind::invalid, "only close-compared tensors have a tolerance",
                      {.where = declared.name,
                       .found = model::to_string(declared.compare),
                       .allowed = "compare = \"close\"",
                       .next = {}});
  const model::ToleranceSpec& given = contract.tolerance;
  AKO_TRY_STATUS(check_given(given.atol, "atol"));
  AKO_TRY_STATUS(check_given(given.rtol, "rtol"));
  AKO_TRY_STATUS(check_given(given.max_error_cap, "max_error_cap"));
  AKO_TRY_STATUS(check_given(given.matched_ratio, "matched_ratio"));
  Tolerance out;
  out.matched_ratio = given.matched_ratio.value_or(1);
  out.max_error_cap = given.max_error_cap;
  out.ratio_to_baseline = given.ratio_to_baseline;
  out.flush_subnormals = declared.flush_subnormals;
  out.nan_meaningful = declared.nan_meaningful;
  const int bits = model::bits_of(resolved.dtype);
  const bool floating = model::class_of(resolved.dtype) == model::DtypeClass::floating;
  const double u = floating ? inputs::numbers_of(resolved.dtype).unit_roundoff : 0;
  const double u_acc =
      resolved.dtype == model::Dtype::float64 ? k_float64_roundoff : k_float32_roundoff;
  const double u_in = narrowest_input_roundoff(shape);
  const std::int64_t length = accumulate_length(contract, shape, tensor);
  if (!floating) {
    // Integers compared closely hold quantised values: off by one is the other rounding.
    out.atol = 1;
  } else {
    out.rtol = bits < 32 ? 3 * u : 32 * u;
    out.row_factor = 8 * std::sqrt(static_cast<double>(length)) * u_acc +
                     (u_in > u_acc && bits < 32 ? k_rounded_once * u_in : 0) +
                     (has_narrow_input(shape) ? k_fp8_sums : 0);
    if (contract.reference.precision == model::ErrorPrecision::native) {
      out.rtol *= 2;
      out.row_factor *= 2;
    }
    if (bits > 8) out.atol = inputs::numbers_of(resolved.dtype).smallest;
    if (bits <= 8) out.flip_share = k_flip_share;
    if (bits == 16) out.bias_limit = k_bias_limit;
    out.slope_limit = k_slope_limit;
  }
  // A given atol stands for all that does not scale with the element: the row's share goes with it.
  if (given.atol) {
    out.atol = *given.atol;
    out.row_factor = 0;
  }
  if (given.rtol) {
    out.rtol = *given.rtol;
    out.slope_limit = std::max(out.slope_limit, *given.rtol / 4);
  }
  const auto origin = [](bool is_given) { return is_given ? "given" : "derived"; };
  out.formula = fmt::format("|error| <= {:.3g} ({}) + {:.3g} rms(row) + {:.3g} ({}) |expected|; "
                            "u = {:.3g}, longest sum {}",
                            out.atol, origin(given.atol.has_value()), out.row_factor, out.rtol,
                            origin(given.rtol.has_value()), u, length);
  return out;
}

} // namespace ako::judge
