#include "device/fill.hpp"

#include "inputs/codec.hpp"
#include "inputs/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ako::device {
namespace {

using model::Dtype;
using model::DtypeClass;
using model::Fill;

constexpr double k_exact = 9007199254740992.0; // 2^53: whole doubles up to here are exact

template <class T> std::vector<std::byte> as_table(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

/// Whole numbers of 32 and 64 bits: the range as inputs::Values has it.
bool whole(DeviceFill& fill, const model::ResolvedTensor& tensor, const model::FillSpec& spec) {
  if (spec.kind == Fill::normal) return false; // drawn as a float and rounded: the host's business
  auto& p = fill.params;
  const int bits = model::bits_of(tensor.dtype);
  if (spec.kind == Fill::index) {
    p.low = 0;
    p.count = static_cast<std::uint64_t>(std::max<std::int64_t>(1, tensor.fill_limit));
  } else {
    const auto& numbers = inputs::numbers_of(tensor.dtype);
    p.low = std::ceil(std::max(spec.low, numbers.lowest));
    p.high = std::floor(std::min(spec.high, numbers.largest));
    p.count = p.high >= p.low ? static_cast<std::uint64_t>(p.high - p.low) + 1 : 1;
    if (std::abs(p.low) >= k_exact || std::abs(p.high) >= k_exact) return false;
  }
  p.kind = bits == 32 ? FillKind::whole_i32 : FillKind::whole_i64;
  return bits == 64 || p.count <= (std::uint64_t{1} << 32);
}

bool floating(DeviceFill& fill, const model::ResolvedTensor& tensor, const model::FillSpec& spec) {
  auto& p = fill.params;
  p.low = spec.low;
  p.high = spec.high;
  p.mean = spec.mean;
  p.stddev = spec.stddev;
  if (spec.kind == Fill::uniform) {
    p.kind = tensor.dtype == Dtype::float32 ? FillKind::uniform_f32 : FillKind::uniform_f64;
    return true;
  }
  if (spec.kind != Fill::normal || tensor.dtype != Dtype::float32) return false;
  p.kind = FillKind::normal_f32;
  fill.table = as_table(std::span<const std::int32_t>(inputs::normal_quantiles()));
  return true;
}

} // namespace

std::optional<DeviceFill> device_fill(const model::ResolvedTensor& tensor,
                                      const model::FillSpec& spec, inputs::Recipe recipe) {
  const bool data =
      spec.kind == Fill::uniform || spec.kind == Fill::normal || spec.kind == Fill::index;
  if (!data) return std::nullopt;
  const inputs::Values values(tensor, spec, recipe);
  if (values.bends()) return std::nullopt;
  DeviceFill fill;
  const int bits = model::bits_of(tensor.dtype);
  fill.params.element_bits = static_cast<std::uint32_t>(bits);
  fill.params.elements = static_cast<std::uint64_t>(tensor.span_elements);
  if (inputs::random_bits_of(tensor.dtype) == 16) {
    std::vector<std::uint16_t> codes(65536);
    for (std::uint32_t draw = 0; draw < 65536; ++draw)
      codes[draw] = static_cast<std::uint16_t>(values.plain_code(draw));
    fill.params.kind = FillKind::table;
    fill.table = as_table(std::span<const std::uint16_t>(codes));
    return fill;
  }
  const bool is_float = model::class_of(tensor.dtype) == DtypeClass::floating;
  if (is_float && spec.kind == Fill::index) return std::nullopt;
  if (is_float ? floating(fill, tensor, spec) : whole(fill, tensor, spec)) return fill;
  return std::nullopt;
}

void set_streams(FillParams& params, const inputs::StreamId& stream) {
  const auto values = inputs::BitStream(stream, inputs::Purpose::values).words();
  params.key0 = values[0];
  params.key1 = values[1];
  params.high0 = values[2];
  params.high1 = values[3];
}

} // namespace ako::device
