// Element codecs: every Dtype to and from double. Codes are the stored bits, right aligned. Packed
// arrays hold 4-bit types two per byte, low nibble first; everything else is little endian.
#pragma once

#include "model/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ako::inputs {

/// What happens to values beyond the largest finite one. `ieee`: infinity where the type has one,
/// else NaN where it has one, else the largest. `saturate`: the largest finite value (NaN stays NaN
/// where the type has one). Integers always saturate; NaN becomes 0 in types without a NaN.
enum class Overflow { ieee, saturate };

/// Numbers of a floating type; for integers significand_bits = bits and the limits are those of the
/// type.
struct DtypeNumbers {
  int significand_bits = 0; ///< with the hidden bit: float32 24, bfloat16 8, float4_e2m1fn 2
  double unit_roundoff = 0; ///< 2^-significand_bits: the largest relative error of rounding
  double largest = 0;       ///< largest finite
  double lowest = 0;        ///< smallest (most negative) finite
  double smallest_normal = 0, smallest = 0; ///< smallest positive normal, and positive at all
  bool has_infinity = false, has_nan = false, has_zero = true, has_sign = true;
};
const DtypeNumbers& numbers_of(model::Dtype dtype);

/// 64-bit integers beyond 2^53 are rounded to the nearest double; compare those by code.
double decode(model::Dtype dtype, std::uint64_t code);
/// Round to nearest, ties to even, straight from double (no double rounding; ties of
/// float8_e8m0fnu go up, as in ml_dtypes). -0.0 keeps its sign
/// where the type has one; float8_e8m0fnu turns negative values, zero included, into NaN when
/// `ieee` and the smallest power when `saturate`. Booleans: anything but 0 is 1.
std::uint64_t encode(model::Dtype dtype, double value, Overflow overflow = Overflow::ieee);
/// Towards zero instead of to nearest: what a wrong conversion does.
std::uint64_t encode_truncated(model::Dtype dtype, double value);

/// Distance between neighbouring values of the type around `value` (integers: 1).
double quantum(model::Dtype dtype, double value);
/// Position in value order, so that neighbours differ by 1; -0.0 and 0.0 share a position. NaN has
/// none: INT64_MAX.
std::int64_t ordinal(model::Dtype dtype, std::uint64_t code);

std::uint64_t load_code(model::Dtype dtype, std::span<const std::byte> packed, std::int64_t index);
void store_code(model::Dtype dtype, std::span<std::byte> packed, std::int64_t index,
                std::uint64_t code);
double load(model::Dtype dtype, std::span<const std::byte> packed, std::int64_t index);
void store(model::Dtype dtype, std::span<std::byte> packed, std::int64_t index, double value,
           Overflow overflow = Overflow::ieee);

/// `values.size()` consecutive elements from element `first` on.
void decode_range(model::Dtype dtype, std::span<const std::byte> packed, std::int64_t first,
                  std::span<double> values);
void encode_range(model::Dtype dtype, std::span<const double> values, std::span<std::byte> packed,
                  std::int64_t first, Overflow overflow = Overflow::ieee);

} // namespace ako::inputs
