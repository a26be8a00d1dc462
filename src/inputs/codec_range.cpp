// Packed arrays: single elements and ranges. The loops are written so that the compiler makes
// vector code of them.
#include "inputs/codec.hpp"

#include "base/error.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace ako::inputs {

using model::Dtype;

namespace {

template <class T> T read_at(std::span<const std::byte> bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <class T> void write_at(std::span<std::byte> bytes, std::int64_t index, T value) {
  std::memcpy(bytes.data() + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

void check_range(Dtype dtype, std::size_t bytes, std::int64_t first, std::size_t count) {
  AKO_CHECK(first >= 0 && model::bytes_of(dtype, first + static_cast<std::int64_t>(count)) <=
                              static_cast<std::int64_t>(bytes),
            "element range outside its bytes");
}

/// Values of all codes of an 8-bit or 4-bit type.
const std::array<double, 256>& small_table(Dtype dtype) {
  static const auto tables = [] {
    std::array<std::array<double, 256>, 32> all{};
    for (const Dtype d : model::all_dtypes()) {
      if (model::bits_of(d) > 8) continue;
      const auto codes = static_cast<std::uint64_t>(1) << model::bits_of(d);
      for (std::uint64_t code = 0; code < 256; ++code) {
        all[static_cast<std::size_t>(d)][code] = decode(d, code % codes);
      }
    }
    return all;
  }();
  return tables[static_cast<std::size_t>(dtype)];
}

template <class T>
void decode_plain(std::span<const std::byte> packed, std::int64_t first, std::span<double> values) {
  const std::byte* from = packed.data() + first * static_cast<std::int64_t>(sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
}

void decode_bfloat16(std::span<const std::byte> packed, std::int64_t first,
                     std::span<double> values) {
  const std::byte* from = packed.data() + first * 2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t code;
    std::memcpy(&code, from + i * 2, 2);
    values[i] = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16));
  }
}

void decode_float16(std::span<const std::byte> packed, std::int64_t first,
                    std::span<double> values) {
  const std::byte* from = packed.data() + first * 2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t code;
    std::memcpy(&code, from + i * 2, 2);
    // Mantissa and exponent moved to float32's places, then the bias corrected by a power of two;
    // infinities and NaNs get the full exponent back.
    const std::uint32_t magnitude = static_cast<std::uint32_t>(code & 0x7fff) << 13;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
    const std::uint32_t special = (code & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u;
    const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x8000) << 16;
    values[i] = static_cast<double>(
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign));
  }
}

void decode_small(Dtype dtype, std::span<const std::byte> packed, std::int64_t first,
                  std::span<double> values) {
  const std::array<double, 256>& table = small_table(dtype);
  if (model::bits_of(dtype) == 8) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = table[static_cast<std::size_t>(packed[static_cast<std::size_t>(first) + i])];
    }
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = table[load_code(dtype, packed, first + static_cast<std::int64_t>(i))];
  }
}

} // namespace

std::uint64_t load_code(Dtype dtype, std::span<const std::byte> packed, std::int64_t index) {
  switch (model::bits_of(dtype)) {
  case 64: return read_at<std::uint64_t>(packed, index);
  case 32: return read_at<std::uint32_t>(packed, index);
  case 16: return read_at<std::uint16_t>(packed, index);
  case 8: return read_at<std::uint8_t>(packed, index);
  default: return (read_at<std::uint8_t>(packed, index / 2) >> (index % 2 * 4)) & 0xf;
  }
}

void store_code(Dtype dtype, std::span<std::byte> packed, std::int64_t index, std::uint64_t code) {
  switch (model::bits_of(dtype)) {
  case 64: return write_at(packed, index, code);
  case 32: return write_at(packed, index, static_cast<std::uint32_t>(code));
  case 16: return write_at(packed, index, static_cast<std::uint16_t>(code));
  case 8: return write_at(packed, index, static_cast<std::uint8_t>(code));
  default: {
    const int shift = static_cast<int>(index % 2 * 4);
    const auto old = read_at<std::uint8_t>(packed, index / 2);
    write_at(packed, index / 2,
             static_cast<std::uint8_t>((old & ~(0xf << shift)) | ((code & 0xf) << shift)));
  }
  }
}

double load(Dtype dtype, std::span<const std::byte> packed, std::int64_t index) {
  return decode(dtype, load_code(dtype, packed, index));
}

void store(Dtype dtype, std::span<std::byte> packed, std::int64_t index, double value,
           Overflow overflow) {
  store_code(dtype, packed, index, encode(dtype, value, overflow));
}

void decode_range(Dtype dtype, std::span<const std::byte> packed, std::int64_t first,
                  std::span<double> values) {
  check_range(dtype, packed.size(), first, values.size());
  switch (dtype) {
  case Dtype::float64: return decode_plain<double>(packed, first, values);
  case Dtype::float32: return decode_plain<float>(packed, first, values);
  case Dtype::bfloat16: return decode_bfloat16(packed, first, values);
  case Dtype::float16: return decode_float16(packed, first, values);
  case Dtype::int64: return decode_plain<std::int64_t>(packed, first, values);
  case Dtype::int32: return decode_plain<std::int32_t>(packed, first, values);
  case Dtype::int16: return decode_plain<std::int16_t>(packed, first, values);
  case Dtype::uint64: return decode_plain<std::uint64_t>(packed, first, values);
  case Dtype::uint32: return decode_plain<std::uint32_t>(packed, first, values);
  case Dtype::uint16: return decode_plain<std::uint16_t>(packed, first, values);
  default: return decode_small(dtype, packed, first, values);
  }
}

void encode_range(Dtype dtype, std::span<const double> values, std::span<std::byte> packed,
                  std::int64_t first, Overflow overflow) {
  check_range(dtype, packed.size(), first, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    store(dtype, packed, first + static_cast<std::int64_t>(i), values[i], overflow);
  }
}

} // namespace ako::inputs
