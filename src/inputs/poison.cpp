#include "inputs/poison.hpp"

#include "inputs/codec.hpp"
#include "inputs/walk.hpp"

#include <cstring>

namespace ako::inputs {

using model::Dtype;

std::uint64_t poison_code(Dtype dtype, Sentinel sentinel) {
  const bool first = sentinel == Sentinel::first;
  switch (dtype) {
  case Dtype::float64: return first ? 0x7ffcdead5aa5c0deu : 0x7ffcbeefa55ac0deu;
  case Dtype::float32: return first ? 0x7fdeadc5u : 0x7fdbeefau;
  case Dtype::float16: return first ? 0x7f5bu : 0x7fa9u;
  case Dtype::bfloat16: return first ? 0x7fd5u : 0x7feau;
  case Dtype::float8_e4m3fn: return first ? 0x7f : 0xff;
  case Dtype::float8_e5m2: return first ? 0x7d : 0xfd;
  case Dtype::float8_e8m0fnu: return first ? 0xff : 0xa5;
  default: break;
  }
  const std::uint64_t pattern = first ? 0xa5c3a5c3a5c3a5c3u : 0x5a3c5a3c5a3c5a3cu;
  const int bits = model::bits_of(dtype);
  return bits == 64 ? pattern : pattern & ((std::uint64_t{1} << bits) - 1);
}

bool poison_is_decisive(Dtype dtype) {
  return dtype == Dtype::float64 || dtype == Dtype::float32 || dtype == Dtype::float16 ||
         dtype == Dtype::bfloat16;
}

namespace {

/// The code repeated over 64 bits, as it lies in packed memory.
std::uint64_t repeated(Dtype dtype, Sentinel sentinel) {
  std::uint64_t word = poison_code(dtype, sentinel);
  for (int bits = model::bits_of(dtype); bits < 64; bits *= 2) word |= word << bits;
  return word;
}

template <class T>
std::int64_t count_equal(const std::byte* from, std::int64_t count, std::uint64_t code) {
  const T want = static_cast<T>(code);
  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    equal += value == want;
  }
  return equal;
}

/// How many of `count` elements from `first` on hold the code; the loops vectorise.
std::int64_t count_code(std::span<const std::byte> bytes, Dtype dtype, std::int64_t first,
                        std::int64_t count, std::uint64_t code) {
  const std::byte* from = bytes.data() + model::bytes_of(dtype, first);
  switch (model::bits_of(dtype)) {
  case 64: return count_equal<std::uint64_t>(from, count, code);
  case 32: return count_equal<std::uint32_t>(from, count, code);
  case 16: return count_equal<std::uint16_t>(from, count, code);
  case 8: return count_equal<std::uint8_t>(from, count, code);
  default: break;
  }
  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < count; ++i) equal += load_code(dtype, bytes, first + i) == code;
  return equal;
}

void note(PoisonFound& found, std::int64_t element) {
  if (found.first < 0) found.first = element;
  found.last = element;
  ++found.count;
}

PoisonFound find_contiguous(std::span<const std::byte> bytes, Dtype dtype, std::int64_t elements,
                            std::uint64_t code) {
  constexpr std::int64_t k_chunk = 8192; // even, so that 4-bit chunks start at whole bytes
  PoisonFound found;
  for (std::int64_t at = 0; at < elements; at += k_chunk) {
    const std::int64_t count = std::min(k_chunk, elements - at);
    const std::int64_t here = count_code(bytes, dtype, at, count, code);
    if (here == 0) continue;
    if (here == count && found.first >= 0) {
      found.count += count;
      found.last = at + count - 1;
      continue;
    }
    for (std::int64_t i = at; i < at + count; ++i) {
      if (load_code(dtype, bytes, i) == code) note(found, i);
    }
  }
  return found;
}

/// Elements of the span that no logical element reaches and that changed.
std::int64_t gap_damage(std::span<const std::byte> bytes, const model::ResolvedTensor& tensor,
                        std::uint64_t code) {
  std::vector<bool> reached(static_cast<std::size_t>(tensor.span_elements));
  walk(tensor,
       [&](std::int64_t, std::int64_t place) { reached[static_cast<std::size_t>(place)] = true; });
  std::int64_t damage = 0;
  for (std::int64_t i = 0; i < tensor.span_elements; ++i) {
    damage += !reached[static_cast<std::size_t>(i)] && load_code(tensor.dtype, bytes, i) != code;
  }
  return damage;
}

} // namespace

void poison(std::span<std::byte> destination, Dtype dtype, Sentinel sentinel) {
  const std::uint64_t word = repeated(dtype, sentinel);
  std::size_t at = 0;
  for (; at + 8 <= destination.size(); at += 8) std::memcpy(destination.data() + at, &word, 8);
  if (at < destination.size()) {
    std::memcpy(destination.data() + at, &word, destination.size() - at);
  }
}

PoisonFound find_poison(std::span<const std::byte> bytes, const model::ResolvedTensor& tensor,
                        Sentinel sentinel) {
  AKO_CHECK(static_cast<std::int64_t>(bytes.size()) >= tensor.bytes, "tensor outside its bytes");
  const std::uint64_t code = poison_code(tensor.dtype, sentinel);
  if (tensor.contiguous) return find_contiguous(bytes, tensor.dtype, tensor.elements, code);
  PoisonFound found;
  walk(tensor, [&](std::int64_t element, std::int64_t place) {
    if (load_code(tensor.dtype, bytes, place) == code) note(found, element);
  });
  found.gap_damage = gap_damage(bytes, tensor, code);
  return found;
}

PoisonFound confirm_poison(std::span<const std::byte> run_one, std::span<const std::byte> run_two,
                           const model::ResolvedTensor& tensor) {
  const std::uint64_t one = poison_code(tensor.dtype, Sentinel::first);
  const std::uint64_t two = poison_code(tensor.dtype, Sentinel::second);
  PoisonFound found;
  walk(tensor, [&](std::int64_t element, std::int64_t place) {
    if (load_code(tensor.dtype, run_one, place) == one &&
        load_code(tensor.dtype, run_two, place) == two) {
      note(found, element);
    }
  });
  return found;
}

namespace {
std::byte zone_byte(std::uint64_t position, std::uint64_t seed) {
  std::uint64_t x = (position + seed) * 0x9E3779B97F4A7C15u;
  x ^= x >> 32;
  return static_cast<std::byte>((x * 0xD6E8FEB86659FD93u) >> 56);
}
} // namespace

void paint_red_zone(std::span<std::byte> zone, std::uint64_t origin, std::uint64_t seed) {
  for (std::size_t i = 0; i < zone.size(); ++i) zone[i] = zone_byte(origin + i, seed);
}

RedZoneDamage check_red_zone(std::span<const std::byte> zone, std::uint64_t origin,
                             std::uint64_t seed) {
  RedZoneDamage damage;
  for (std::size_t i = 0; i < zone.size(); ++i) {
    if (zone[i] == zone_byte(origin + i, seed)) continue;
    if (damage.first < 0) damage.first = static_cast<std::int64_t>(i);
    damage.last = static_cast<std::int64_t>(i);
    ++damage.bytes;
  }
  return damage;
}

} // namespace ako::inputs
