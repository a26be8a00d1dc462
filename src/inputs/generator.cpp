#include "inputs/generator.hpp"

#include "base/error.hpp"

#include <cstring>

namespace ako::inputs {
namespace {

constexpr std::uint32_t k_multiplier_0 = 0xD2511F53, k_multiplier_1 = 0xCD9E8D57;
constexpr std::uint32_t k_weyl_0 = 0x9E3779B9, k_weyl_1 = 0xBB67AE85;
constexpr int k_rounds = 10;

/// Blocks first .. first + Lanes - 1 of a stream, written as the compiler can vectorise it: lanes
/// are independent.
template <int Lanes>
[[gnu::always_inline]] inline void philox_lanes(std::uint64_t first, std::uint32_t high0,
                                                std::uint32_t high1, std::uint32_t key0,
                                                std::uint32_t key1, std::uint32_t* out) {
  std::uint64_t x0[Lanes], x1[Lanes], x2[Lanes], x3[Lanes]; // 32 bits used in each
  for (int i = 0; i < Lanes; ++i) {
    const std::uint64_t block = first + static_cast<std::uint64_t>(i);
    x0[i] = block & 0xffffffff;
    x1[i] = block >> 32;
    x2[i] = high0;
    x3[i] = high1;
  }
  for (int round = 0; round < k_rounds; ++round) {
    for (int i = 0; i < Lanes; ++i) {
      const std::uint64_t p0 = (x0[i] & 0xffffffff) * std::uint64_t{k_multiplier_0};
      const std::uint64_t p1 = (x2[i] & 0xffffffff) * std::uint64_t{k_multiplier_1};
      x0[i] = (p1 >> 32) ^ x1[i] ^ key0;
      x1[i] = p1 & 0xffffffff;
      x2[i] = (p0 >> 32) ^ x3[i] ^ key1;
      x3[i] = p0 & 0xffffffff;
    }
    key0 += k_weyl_0;
    key1 += k_weyl_1;
  }
  for (int i = 0; i < Lanes; ++i) {
    out[4 * i + 0] = static_cast<std::uint32_t>(x0[i]);
    out[4 * i + 1] = static_cast<std::uint32_t>(x1[i]);
    out[4 * i + 2] = static_cast<std::uint32_t>(x2[i]);
    out[4 * i + 3] = static_cast<std::uint32_t>(x3[i]);
  }
}

constexpr int k_lanes = 8;

void many_plain(std::uint64_t first, std::uint64_t groups, std::uint32_t high0, std::uint32_t high1,
                std::uint32_t key0, std::uint32_t key1, std::byte* out) {
  std::uint32_t words[4 * k_lanes];
  for (std::uint64_t g = 0; g < groups; ++g) {
    philox_lanes<k_lanes>(first + g * k_lanes, high0, high1, key0, key1, words);
    std::memcpy(out + g * sizeof words, words, sizeof words);
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2"), gnu::optimize("O3")]] void
many_avx2(std::uint64_t first, std::uint64_t groups, std::uint32_t high0, std::uint32_t high1,
          std::uint32_t key0, std::uint32_t key1, std::byte* out) {
  std::uint32_t words[4 * k_lanes];
  for (std::uint64_t g = 0; g < groups; ++g) {
    philox_lanes<k_lanes>(first + g * k_lanes, high0, high1, key0, key1, words);
    std::memcpy(out + g * sizeof words, words, sizeof words);
  }
}
#endif

} // namespace

Philox4x32 philox(Philox4x32 c, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < k_rounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{k_multiplier_0} * c[0];
    const std::uint64_t p1 = std::uint64_t{k_multiplier_1} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += k_weyl_0;
    key[1] += k_weyl_1;
  }
  return c;
}

BitStream::BitStream(const StreamId& id, Purpose purpose) {
  // philox under one key is a bijection of the counter, so distinct names get distinct (key, high).
  const Philox4x32 name =
      philox({id.tensor, id.set, id.epoch, static_cast<std::uint32_t>(purpose)},
             {static_cast<std::uint32_t>(id.seed), static_cast<std::uint32_t>(id.seed >> 32)});
  m_key = {name[0], name[1]};
  m_high = {name[2], name[3]};
}

std::uint32_t BitStream::bits32(std::uint64_t index) const {
  const std::uint64_t block = index / 4;
  return philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                 m_high[0], m_high[1]},
                m_key)[index % 4];
}

std::uint16_t BitStream::bits16(std::uint64_t index) const {
  return static_cast<std::uint16_t>(bits32(index / 2) >> (index % 2 * 16));
}

std::uint64_t BitStream::bits64(std::uint64_t index) const {
  const std::uint64_t block = index / 2;
  const Philox4x32 out = philox({static_cast<std::uint32_t>(block),
                                 static_cast<std::uint32_t>(block >> 32), m_high[0], m_high[1]},
                                m_key);
  const std::size_t at = index % 2 * 2;
  return out[at] | static_cast<std::uint64_t>(out[at + 1]) << 32;
}

std::uint64_t BitStream::below(std::uint64_t index, std::uint64_t bound) const {
  AKO_CHECK(bound > 0, "below() of nothing");
  return scaled(bits64(index), bound, 64);
}

void BitStream::blocks(std::uint64_t first, std::span<std::byte> out) const {
  AKO_CHECK(out.size() % 16 == 0, "blocks() fills whole blocks");
  const std::uint64_t count = out.size() / 16, groups = count / k_lanes;
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) many_avx2(first, groups, m_high[0], m_high[1], m_key[0], m_key[1], out.data());
  else
#endif
    many_plain(first, groups, m_high[0], m_high[1], m_key[0], m_key[1], out.data());
  for (std::uint64_t b = groups * k_lanes; b < count; ++b) {
    const std::uint64_t block = first + b;
    const Philox4x32 words = philox({static_cast<std::uint32_t>(block),
                                     static_cast<std::uint32_t>(block >> 32), m_high[0], m_high[1]},
                                    m_key);
    std::memcpy(out.data() + b * 16, words.data(), 16);
  }
}

Permutation::Permutation(const BitStream& stream, std::uint64_t count, std::uint64_t which)
    : m_count(count), m_half(1) {
  // Bits of each half of the smallest even-width power of two that holds count.
  while (m_half < 32 && (std::uint64_t{1} << (2 * m_half)) < count) ++m_half;
  m_mask = (std::uint64_t{1} << m_half) - 1;
  for (std::size_t r = 0; r < m_keys.size(); ++r) m_keys[r] = stream.bits32(which * 8 + r);
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  AKO_CHECK(index < m_count, "permutation of an index outside");
  // A Feistel network permutes the power of two; walking its cycle until the image falls below
  // count permutes [0, count).
  std::uint64_t x = index;
  do {
    std::uint64_t left = x >> m_half, right = x & m_mask;
    for (const std::uint32_t key : m_keys) {
      std::uint64_t mixed = (right + key) * 0x9E3779B97F4A7C15u;
      mixed ^= mixed >> 29;
      mixed *= 0xBF58476D1CE4E5B9u;
      const std::uint64_t next = left ^ ((mixed >> 32) & m_mask);
      left = right;
      right = next;
    }
    x = left << m_half | right;
  } while (x >= m_count);
  return x;
}

} // namespace ako::inputs
