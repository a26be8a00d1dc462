// Counter-based random bits: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC'11). Any element can be computed alone, in any order, on host or device, and is the
// same. Integer arithmetic only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ako::inputs {

/// bits * bound >> shift without losing the upper half.
inline std::uint64_t scaled(std::uint64_t bits, std::uint64_t bound, int shift) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * bound) >> shift);
}

using Philox4x32 = std::array<std::uint32_t, 4>;
Philox4x32 philox(Philox4x32 counter, std::array<std::uint32_t, 2> key);

/// Which content: one seed a session (drawn after the candidate is loaded), then tensor, buffer set
/// and epoch (content generation of that set).
struct StreamId {
  std::uint64_t seed = 0;
  std::uint32_t tensor = 0, set = 0, epoch = 0;
  bool operator==(const StreamId&) const = default;
};

/// What the bits are for; streams of different purpose are unrelated.
enum class Purpose : std::uint32_t { values = 0, structure = 1, judge = 3, recipe = 4 };

/// An endless array of random bits. Distinct (tensor, set, epoch, purpose) under one seed never
/// share a stream: their names go through a bijection.
class BitStream {
public:
  BitStream(const StreamId& id, Purpose purpose);
  std::uint16_t bits16(std::uint64_t index) const; ///< slices of the same stream: bits16(i) is half
  std::uint32_t bits32(std::uint64_t index) const; ///< of bits32(i / 2), and so on
  std::uint64_t bits64(std::uint64_t index) const;
  /// Uniform in [0, bound), bound > 0, from bits64(index) by multiplication.
  std::uint64_t below(std::uint64_t index, std::uint64_t bound) const;
  /// The stream's bytes from 16-byte block `first` on; size a multiple of 16.
  void blocks(std::uint64_t first, std::span<std::byte> out) const;
  /// What decides the stream: two words of key, two of the counter's upper half. A device that has
  /// these makes the same bits.
  Philox4x32 words() const { return {m_key[0], m_key[1], m_high[0], m_high[1]}; }

private:
  std::array<std::uint32_t, 2> m_key;
  std::array<std::uint32_t, 2> m_high; ///< upper half of the counter
};

/// Standard normal quantile of (2r + 1) / 2^17 in fixed point, 2^-28 steps; r = 16 random bits.
/// Made once by basic IEEE arithmetic, the same on every machine.
std::span<const std::int32_t, 65536> normal_quantiles();
/// Standard normal value of 32 random bits: the quantiles, interpolated; 2^-28 steps, within
/// +- 4.7.
std::int32_t normal_fixed(std::uint32_t bits);
/// The same with the table at hand, for loops.
inline std::int32_t normal_fixed(std::span<const std::int32_t, 65536> table, std::uint32_t bits) {
  const auto slot = static_cast<std::int32_t>(bits >> 16);
  const std::int64_t fraction = static_cast<std::int64_t>(bits & 0xffff) - 32768; // of the slice
  const std::int32_t towards = fraction < 0 ? -1 : 1;
  // The slope to that neighbour; the outermost slices continue the one behind them.
  const std::int32_t other =
      slot + towards < 0 || slot + towards > 65535 ? slot - towards : slot + towards;
  const std::int64_t here = table[static_cast<std::size_t>(slot)];
  const std::int64_t step = (table[static_cast<std::size_t>(other)] - here) * (other - slot);
  return static_cast<std::int32_t>(here + step * fraction / 65536);
}

/// A permutation of [0, count) without a table: number `which` of the stream.
class Permutation {
public:
  Permutation(const BitStream& stream, std::uint64_t count, std::uint64_t which = 0);
  std::uint64_t operator()(std::uint64_t index) const; ///< index < count

private:
  std::uint64_t m_count, m_mask;
  int m_half;
  std::array<std::uint32_t, 8> m_keys;
};

} // namespace ako::inputs
