#include "inputs/codec.hpp"

#include "base/error.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace ako::inputs {

using model::Dtype;

namespace {

constexpr std::uint64_t k_one = 1;

/// A binary floating format of at most 32 bits: sign (unless unsigned), exponent, mantissa.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  std::uint32_t largest_code;  ///< largest finite, without sign
  std::uint32_t infinity_code; ///< 0 = none
  std::uint32_t nan_code;      ///< 0 = none
  bool has_sign;
  int sign_shift() const { return exponent_bits + mantissa_bits; }
  int lowest_exponent() const { return 1 - bias; }
};

constexpr Format k_float32{8, 23, 127, 0x7f7fffff, 0x7f800000, 0x7fc00000, true};
constexpr Format k_float16{5, 10, 15, 0x7bff, 0x7c00, 0x7e00, true};
constexpr Format k_bfloat16{8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, true};
constexpr Format k_e4m3fn{4, 3, 7, 0x7e, 0, 0x7f, true};
constexpr Format k_e5m2{5, 2, 15, 0x7b, 0x7c, 0x7e, true};
constexpr Format k_e2m1fn{2, 1, 1, 0x7, 0, 0, true};
constexpr Format k_e8m0fnu{8, 0, 127, 0xfe, 0, 0xff, false};

const Format* format_of(Dtype dtype) {
  switch (dtype) {
  case Dtype::float32: return &k_float32;
  case Dtype::float16: return &k_float16;
  case Dtype::bfloat16: return &k_bfloat16;
  case Dtype::float8_e4m3fn: return &k_e4m3fn;
  case Dtype::float8_e5m2: return &k_e5m2;
  case Dtype::float8_e8m0fnu: return &k_e8m0fnu;
  case Dtype::float4_e2m1fn: return &k_e2m1fn;
  default: return nullptr;
  }
}

enum class Rounding { nearest_even, toward_zero };

/// Significand `sig` of `bits` with the lowest `drop` bits rounded away.
std::uint64_t shift_rounded(std::uint64_t sig, int drop, Rounding rounding) {
  if (drop >= 63) return 0;
  if (drop <= 0) return sig << -drop;
  const std::uint64_t kept = sig >> drop;
  if (rounding == Rounding::toward_zero) return kept;
  const std::uint64_t rest = sig & ((k_one << drop) - 1), half = k_one << (drop - 1);
  return kept + ((rest > half || (rest == half && (kept & 1))) ? 1 : 0);
}

std::uint64_t overflowed(const Format& f, Overflow overflow) {
  if (overflow == Overflow::saturate) return f.largest_code;
  if (f.infinity_code) return f.infinity_code;
  return f.nan_code ? f.nan_code : f.largest_code;
}

/// Powers of two alone: no sign, no zero, code 0 is 2^-127. A tie lies at 1.5 times a power.
std::uint64_t encode_e8m0(double value, Overflow overflow, Rounding rounding) {
  const Format& f = k_e8m0fnu;
  if (std::isnan(value)) return f.nan_code;
  if (value <= 0) return overflow == Overflow::saturate ? 0 : f.nan_code;
  if (std::isinf(value)) return overflowed(f, overflow);
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent) * 2; // [1, 2)
  std::int64_t code = exponent - 1 + f.bias;
  if (rounding == Rounding::nearest_even && code >= 0) {
    if (fraction >= 1.5) ++code; // there is no even mantissa to prefer: ties go up
  }
  // Below the smallest power there is no zero to fall to: half of it and less still rounds to it.
  if (code < 0) return 0;
  return code > f.largest_code ? overflowed(f, overflow) : static_cast<std::uint64_t>(code);
}

std::uint64_t encode_format(const Format& f, double value, Overflow overflow, Rounding rounding) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = (bits >> 63) << f.sign_shift();
  const std::uint64_t magnitude = bits & ~(k_one << 63);
  if (magnitude > 0x7ff0000000000000) return f.nan_code ? (sign | f.nan_code) : 0;
  if (magnitude == 0x7ff0000000000000) return sign | overflowed(f, overflow);
  if (magnitude < (k_one << 52)) return sign; // a subnormal double is below half of every smallest
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  const std::uint64_t sig = (magnitude & ((k_one << 52) - 1)) | (k_one << 52);
  const int lowest = f.lowest_exponent();
  const int below = exponent < lowest ? lowest - exponent : 0;
  const std::uint64_t kept = shift_rounded(sig, 52 - f.mantissa_bits + below, rounding);
  // `kept` holds the hidden bit of normals, so adding it carries into the exponent by itself.
  const std::uint64_t code =
      below ? kept : (static_cast<std::uint64_t>(exponent - lowest) << f.mantissa_bits) + kept;
  if (code > f.largest_code) {
    return sign | overflowed(f, rounding == Rounding::toward_zero ? Overflow::saturate : overflow);
  }
  return sign | code;
}

double decode_format(const Format& f, std::uint64_t code) {
  const std::uint64_t magnitude = code & ((k_one << f.sign_shift()) - 1);
  const bool negative = f.has_sign && ((code >> f.sign_shift()) & 1);
  if (!f.has_sign) { // e8m0
    return magnitude == f.nan_code ? std::numeric_limits<double>::quiet_NaN()
                                   : std::ldexp(1.0, static_cast<int>(magnitude) - f.bias);
  }
  double value = 0;
  if (f.infinity_code && magnitude == f.infinity_code) {
    value = std::numeric_limits<double>::infinity();
  } else if (magnitude > f.largest_code) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
    const std::uint64_t mantissa = magnitude & ((k_one << f.mantissa_bits) - 1);
    const std::uint64_t sig = exponent ? mantissa | (k_one << f.mantissa_bits) : mantissa;
    value =
        std::ldexp(static_cast<double>(sig), (exponent ? exponent : 1) - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

std::int64_t sign_extend(std::uint64_t code, int bits) {
  return static_cast<std::int64_t>(code << (64 - bits)) >> (64 - bits);
}

bool is_signed_integer(Dtype dtype) {
  return dtype == Dtype::int64 || dtype == Dtype::int32 || dtype == Dtype::int16 ||
         dtype == Dtype::int8 || dtype == Dtype::int4;
}

std::uint64_t encode_integer(Dtype dtype, double value, Rounding rounding) {
  if (std::isnan(value)) return 0;
  const double whole =
      rounding == Rounding::toward_zero ? std::trunc(value) : std::nearbyint(value);
  const int bits = model::bits_of(dtype);
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (k_one << bits) - 1;
  if (is_signed_integer(dtype)) {
    const double edge = std::ldexp(1.0, bits - 1); // exact; the largest value is edge - 1
    if (whole >= edge) return mask >> 1;
    if (whole < -edge) return k_one << (bits - 1);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)) & mask;
  }
  if (whole >= std::ldexp(1.0, bits)) return mask;
  return whole <= 0 ? 0 : static_cast<std::uint64_t>(whole);
}

DtypeNumbers make_numbers(Dtype dtype) {
  DtypeNumbers n;
  const int bits = model::bits_of(dtype);
  if (const Format* f = format_of(dtype)) {
    n.significand_bits = f->mantissa_bits + 1;
    n.largest = decode_format(*f, f->largest_code);
    n.lowest = f->has_sign ? -n.largest : std::ldexp(1.0, -f->bias);
    n.smallest_normal = std::ldexp(1.0, f->has_sign ? f->lowest_exponent() : -f->bias);
    n.smallest = f->has_sign ? std::ldexp(n.smallest_normal, -f->mantissa_bits) : n.smallest_normal;
    n.has_infinity = f->infinity_code != 0;
    n.has_nan = f->nan_code != 0;
    n.has_zero = n.has_sign = f->has_sign;
  } else if (dtype == Dtype::float64) {
    using L = std::numeric_limits<double>;
    n = {53, 0, L::max(), -L::max(), L::min(), L::denorm_min(), true, true, true, true};
  } else {
    const bool is_signed = is_signed_integer(dtype);
    n.significand_bits = bits;
    n.has_sign = is_signed;
    n.largest = dtype == Dtype::boolean ? 1 : std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1;
    n.lowest = is_signed ? -std::ldexp(1.0, bits - 1) : 0;
    n.smallest_normal = n.smallest = 1;
  }
  n.unit_roundoff = std::ldexp(1.0, -n.significand_bits);
  return n;
}

} // namespace

const DtypeNumbers& numbers_of(Dtype dtype) {
  static const std::vector<DtypeNumbers> table = [] {
    std::vector<DtypeNumbers> all;
    for (const Dtype d : model::all_dtypes()) {
      const auto at = static_cast<std::size_t>(d);
      if (all.size() <= at) all.resize(at + 1);
      all[at] = make_numbers(d);
    }
    return all;
  }();
  return table[static_cast<std::size_t>(dtype)];
}

double decode(Dtype dtype, std::uint64_t code) {
  if (dtype == Dtype::float32) return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  if (const Format* f = format_of(dtype)) return decode_format(*f, code);
  if (dtype == Dtype::float64) return std::bit_cast<double>(code);
  if (is_signed_integer(dtype)) {
    return static_cast<double>(sign_extend(code, model::bits_of(dtype)));
  }
  return dtype == Dtype::boolean ? (code ? 1.0 : 0.0) : static_cast<double>(code);
}

std::uint64_t encode(Dtype dtype, double value, Overflow overflow) {
  if (dtype == Dtype::float64) {
    if (overflow == Overflow::saturate && std::isinf(value)) {
      value = std::copysign(std::numeric_limits<double>::max(), value);
    }
    return std::bit_cast<std::uint64_t>(value);
  }
  if (dtype == Dtype::float8_e8m0fnu) return encode_e8m0(value, overflow, Rounding::nearest_even);
  if (const Format* f = format_of(dtype)) {
    return encode_format(*f, value, overflow, Rounding::nearest_even);
  }
  if (dtype == Dtype::boolean) return value != 0 && !std::isnan(value) ? 1 : 0;
  return encode_integer(dtype, value, Rounding::nearest_even);
}

std::uint64_t encode_truncated(Dtype dtype, double value) {
  if (dtype == Dtype::float64 || dtype == Dtype::boolean) return encode(dtype, value);
  if (dtype == Dtype::float8_e8m0fnu) {
    return encode_e8m0(value, Overflow::saturate, Rounding::toward_zero);
  }
  if (const Format* f = format_of(dtype)) {
    return encode_format(*f, value, Overflow::ieee, Rounding::toward_zero);
  }
  return encode_integer(dtype, value, Rounding::toward_zero);
}

double quantum(Dtype dtype, double value) {
  const DtypeNumbers& n = numbers_of(dtype);
  if (model::class_of(dtype) != model::DtypeClass::floating) return 1;
  const double magnitude = std::abs(value);
  if (!(magnitude > n.smallest_normal)) return n.smallest;
  const int exponent = std::ilogb(magnitude < n.largest ? magnitude : n.largest);
  return std::ldexp(1.0, exponent - (n.significand_bits - 1));
}

std::int64_t ordinal(Dtype dtype, std::uint64_t code) {
  const int bits = model::bits_of(dtype);
  if (model::class_of(dtype) == model::DtypeClass::floating) {
    if (std::isnan(decode(dtype, code))) return std::numeric_limits<std::int64_t>::max();
    if (dtype == Dtype::float8_e8m0fnu) return static_cast<std::int64_t>(code);
    const auto magnitude = static_cast<std::int64_t>(code & ((k_one << (bits - 1)) - 1));
    return (code >> (bits - 1)) & 1 ? -magnitude : magnitude;
  }
  if (is_signed_integer(dtype)) return sign_extend(code, bits);
  // The upper half of uint64 does not fit: shift all of it, differences stay right.
  if (dtype == Dtype::uint64) return static_cast<std::int64_t>(code ^ (k_one << 63));
  return static_cast<std::int64_t>(code);
}

} // namespace ako::inputs
