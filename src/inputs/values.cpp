#include "inputs/values.hpp"

#include "inputs/codec.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ako::inputs {

using model::Dtype;
using model::DtypeClass;
using model::Fill;

namespace {

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// The upper 32 bits as a number in [0, 1).
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 32) * 0x1p-32; }

/// Powers of two by which `large` and `tiny` scale a normal fill and stay well inside the type.
int large_shift(Dtype dtype) {
  switch (dtype) {
  case Dtype::float4_e2m1fn: return 1;
  case Dtype::float8_e4m3fn: return 5;
  case Dtype::float8_e5m2:
  case Dtype::float16: return 7;
  default: return 10;
  }
}
int tiny_shift(Dtype dtype) {
  switch (dtype) {
  case Dtype::float4_e2m1fn: return 1;
  case Dtype::float8_e4m3fn: return 4;
  case Dtype::float8_e5m2:
  case Dtype::float16: return 8;
  default: return 12;
  }
}

std::int64_t tail_start(std::int64_t row_length) {
  return row_length - std::max<std::int64_t>(1, (row_length + 99) / 100);
}

/// 0..1 along the last axis for even tensors, along the rows for odd ones.
double ramp(const Spot& spot, std::uint32_t tensor) {
  const bool by_column = (tensor % 2 == 0 && spot.row_length > 1) || spot.rows == 1;
  const double at = static_cast<double>(by_column ? spot.column : spot.row);
  const auto length = static_cast<double>(by_column ? spot.row_length : spot.rows);
  return (at + 0.5) / length;
}

} // namespace

int random_bits_of(Dtype dtype) { return std::max(16, model::bits_of(dtype)); }

Values::Values(const model::ResolvedTensor& tensor, const model::FillSpec& fill, Recipe recipe)
    : m_dtype(tensor.dtype), m_kind(fill.kind), m_recipe(recipe),
      m_width(random_bits_of(tensor.dtype)), m_low(fill.low), m_high(fill.high), m_mean(fill.mean),
      m_stddev(fill.stddev) {
  const DtypeClass cls = model::class_of(m_dtype);
  if (m_kind == Fill::index) {
    m_count = static_cast<std::uint64_t>(std::max<std::int64_t>(1, tensor.fill_limit));
    m_whole = true;
    m_low = 0;
  } else if (m_kind == Fill::uniform && cls == DtypeClass::integer) {
    const DtypeNumbers& n = numbers_of(m_dtype);
    m_low = std::ceil(std::max(fill.low, n.lowest));
    m_high = std::floor(std::min(fill.high, n.largest));
    m_count = m_high >= m_low ? static_cast<std::uint64_t>(m_high - m_low) + 1 : 1;
    m_whole = true;
  }
  m_bends = recipe != Recipe::plain && cls != DtypeClass::boolean && m_kind != Fill::index;
  if (!tensor.shape.empty()) m_row_length = std::max<std::int64_t>(1, tensor.shape.back());
  m_rows = std::max<std::int64_t>(1, tensor.elements / m_row_length);
}

double Values::plain(std::uint64_t bits) const {
  if (m_whole) {
    const std::uint64_t drawn = scaled(bits, m_count, m_width);
    return m_low + static_cast<double>(drawn);
  }
  if (m_kind == Fill::uniform) {
    const double u = m_width == 64 ? static_cast<double>(bits >> 11) * 0x1p-53
                                   : std::ldexp(static_cast<double>(2 * bits + 1), -m_width - 1);
    return m_low + (m_high - m_low) * u;
  }
  double z = 0;
  if (m_width == 16) {
    z = normal_quantiles()[bits & 0xffff] * 0x1p-28;
  } else if (m_width == 32) {
    z = normal_fixed(static_cast<std::uint32_t>(bits)) * 0x1p-28;
  } else { // the lower bits fill the mantissa below the interpolated step
    const auto low = static_cast<double>(static_cast<std::int32_t>(bits));
    z = normal_fixed(static_cast<std::uint32_t>(bits >> 32)) * 0x1p-28 + low * 0x1p-60;
  }
  return m_mean + m_stddev * z;
}

bool Values::by_bits() const {
  return !m_bends || m_recipe == Recipe::ties || m_recipe == Recipe::large ||
         m_recipe == Recipe::tiny;
}

bool Values::draws_floats() const { return m_dtype == Dtype::float32 && !m_bends && !m_whole; }

void Values::floats(const std::byte* random, std::int64_t count, float* out) const {
  constexpr double k_largest = std::numeric_limits<float>::max();
  const auto each = [&](auto&& value_of) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, random + 4 * i, 4);
      out[i] = static_cast<float>(std::clamp(value_of(bits), -k_largest, k_largest));
    }
  };
  if (m_kind == Fill::uniform)
    return each([&](std::uint32_t bits) {
      return m_low +
             (m_high - m_low) * (static_cast<double>(2 * std::uint64_t{bits} + 1) * 0x1p-33);
    });
  const auto table = normal_quantiles();
  each([&](std::uint32_t bits) {
    return m_mean + m_stddev * (normal_fixed(table, bits) * 0x1p-28);
  });
}

std::uint64_t Values::to_code(double value) const {
  return encode(m_dtype, value, Overflow::saturate);
}

std::uint64_t Values::plain_code(std::uint64_t bits) const {
  if (model::class_of(m_dtype) == DtypeClass::boolean) return bits >> (m_width - 1) & 1;
  if (m_kind == Fill::index && model::bits_of(m_dtype) == 64 &&
      model::class_of(m_dtype) == DtypeClass::integer) { // beyond 2^53 a double would round
    return scaled(bits, m_count, m_width);
  }
  return to_code(plain(bits));
}

double Values::bent_normal(double v, double before, const Spot& spot, std::uint64_t row_bits,
                           std::uint64_t element_bits, std::uint32_t tensor) const {
  switch (m_recipe) {
  case Recipe::scaled_shifted: {
    const double scale = std::ldexp(1.0, static_cast<int>(row_bits % 6) - 2);
    const double sign = row_bits & 64 ? 1 : -1;
    return scale * (v + sign * (1 + 2 * unit(row_bits)) * m_stddev);
  }
  case Recipe::tail_mass:
    return spot.column >= tail_start(spot.row_length) ? std::abs(v) + 8 * m_stddev : v * 0.125;
  case Recipe::cancelling:
    return spot.column % 2 ? -before * (1 + 0.03125 * unit(element_bits)) : v;
  case Recipe::ill_conditioned: return std::ldexp(v, static_cast<int>(element_bits % 17) - 8);
  case Recipe::large: return std::ldexp(v, large_shift(m_dtype));
  case Recipe::tiny: return std::ldexp(v, -tiny_shift(m_dtype));
  case Recipe::asymmetric:
    return v * (1 + tensor % 4) + m_stddev * (4 * ramp(spot, tensor) - 1 + 0.5 * (tensor % 4));
  case Recipe::plain:
  case Recipe::ties: return v;
  }
  return v;
}

double Values::bent_uniform(double v, double before, const Spot& spot, std::uint64_t row_bits,
                            std::uint64_t element_bits, std::uint32_t tensor) const {
  const double span = m_high - m_low;
  const double u = span > 0 ? (v - m_low) / span : 0;
  const double nearest_zero = std::clamp(0.0, m_low, m_high);
  switch (m_recipe) {
  case Recipe::scaled_shifted: {
    const double centre = 0.2 + 0.6 * unit(row_bits);
    const double half = 0.05 + 0.15 * unit(row_bits << 16);
    return m_low + span * (centre + half * (2 * u - 1));
  }
  case Recipe::tail_mass: {
    if (spot.column < tail_start(spot.row_length)) return nearest_zero + (v - nearest_zero) / 16;
    const double end = std::abs(m_high) >= std::abs(m_low) ? m_high : m_low;
    return end + (nearest_zero - end) * 0.1 * u;
  }
  case Recipe::cancelling:
    if (m_low >= 0 || m_high <= 0 || spot.column % 2 == 0) return v;
    return -before * (1 - 0.03125 * unit(element_bits));
  case Recipe::ill_conditioned:
    return nearest_zero + std::ldexp(v - nearest_zero, -static_cast<int>(element_bits % 16));
  case Recipe::large: return m_low + span * (u < 0.5 ? u / 8 : 1 - (1 - u) / 8);
  case Recipe::tiny: return nearest_zero + (v - nearest_zero) / 64;
  case Recipe::asymmetric: return m_low + span * (0.5 * u + 0.5 * ramp(spot, tensor));
  case Recipe::plain:
  case Recipe::ties: return v;
  }
  return v;
}

std::uint64_t Values::code(std::uint64_t bits, std::uint64_t before, std::int64_t index,
                           const StreamId& stream, std::uint64_t keys) const {
  if (!m_bends) return plain_code(bits);
  const double v = plain(bits);
  if (m_recipe == Recipe::ties) {
    const std::uint64_t odd = to_code(v) | 1;
    const double value = decode(m_dtype, odd);
    const bool inside = m_kind == Fill::normal || (value >= m_low && value <= m_high);
    return inside && std::isfinite(value) ? odd : to_code(v);
  }
  Spot spot{index / m_row_length, index % m_row_length, m_rows, m_row_length};
  const std::uint64_t row_bits = mix(keys + static_cast<std::uint64_t>(spot.row) * 2 + 1);
  const std::uint64_t element_bits = mix(~keys + static_cast<std::uint64_t>(index) * 2);
  const double partner = spot.column % 2 ? plain(before) : 0;
  double bent = 0;
  if (m_kind == Fill::normal) {
    bent = bent_normal(v, partner, spot, row_bits, element_bits, stream.tensor);
  } else {
    bent = std::clamp(bent_uniform(v, partner, spot, row_bits, element_bits, stream.tensor), m_low,
                      m_high);
  }
  return to_code(bent);
}

} // namespace ako::inputs
