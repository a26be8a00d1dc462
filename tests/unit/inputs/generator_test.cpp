// The generator against the published known answers, its streams against each other, the normal
// table against the distribution itself.
#include "inputs/generator.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace {

using namespace ako::inputs;

TEST(Philox, KnownAnswers) { // from the Random123 distribution's kat_vectors
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Philox4x32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t f = 0xffffffff;
  EXPECT_EQ(philox({f, f, f, f}, {f, f}),
            (Philox4x32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Philox4x32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(BitStream, BlocksAndSlicesAreTheSameBits) {
  const BitStream stream({42, 3, 1, 7}, Purpose::values);
  std::vector<std::byte> bytes(16 * 37);  // not a multiple of the vector width
  const std::uint64_t first = 0xfffffff0; // the block number carries into its second word
  stream.blocks(first, bytes);
  for (std::uint64_t i = 0; i < bytes.size() / 8; ++i) {
    std::uint64_t want64;
    std::memcpy(&want64, bytes.data() + 8 * i, 8);
    EXPECT_EQ(stream.bits64(first * 2 + i), want64) << i;
    EXPECT_EQ(stream.bits32(first * 4 + 2 * i + 1), static_cast<std::uint32_t>(want64 >> 32));
    EXPECT_EQ(stream.bits16(first * 8 + 4 * i + 2), static_cast<std::uint16_t>(want64 >> 32));
  }
}

TEST(BitStream, EveryPartOfTheNameCounts) {
  const StreamId base{1, 0, 0, 0};
  std::set<std::uint64_t> first_words;
  int streams = 0;
  for (std::uint32_t t = 0; t < 6; ++t)
    for (std::uint32_t s = 0; s < 6; ++s)
      for (std::uint32_t e = 0; e < 6; ++e)
        for (const Purpose p : {Purpose::values, Purpose::structure, Purpose::recipe})
          for (std::uint64_t seed : {base.seed, base.seed << 32}) {
            first_words.insert(BitStream({seed, t, s, e}, p).bits64(0));
            ++streams;
          }
  EXPECT_EQ(first_words.size(), static_cast<std::size_t>(streams));
}

TEST(BitStream, BelowIsUniform) {
  const BitStream stream({5, 0, 0, 0}, Purpose::judge);
  std::vector<int> counts(7);
  for (std::uint64_t i = 0; i < 70000; ++i) ++counts[stream.below(i, 7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400); // 4 standard deviations
  EXPECT_EQ(stream.below(3, 1), 0u);
}

double tail(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

TEST(Normal, QuantilesAreThoseOfTheDistribution) {
  const auto table = normal_quantiles();
  for (std::size_t r = 0; r < 65536; r += 13) {
    const double z = table[r] * 0x1p-28, p = (2.0 * static_cast<double>(r) + 1) / 131072;
    ASSERT_NEAR(tail(z) / p, 1, 1e-6) << r;
  }
  EXPECT_TRUE(std::is_sorted(table.begin(), table.end()));
  EXPECT_NEAR(table[65535] * 0x1p-28, 4.2, 0.2);
}

TEST(Normal, InterpolatedValuesKeepMomentsAndOrder) {
  std::int32_t last = normal_fixed(0);
  double sum = 0, square = 0, fourth = 0;
  constexpr int k_steps = 1 << 20;
  for (int i = 0; i < k_steps; ++i) {
    const std::int32_t fixed = normal_fixed(static_cast<std::uint32_t>(i) << 12 | 0x800);
    ASSERT_GE(fixed, last) << i;
    last = fixed;
    const double z = fixed * 0x1p-28;
    sum += z;
    square += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / k_steps, 0, 1e-5);
  EXPECT_NEAR(square / k_steps, 1, 1e-3);
  EXPECT_NEAR(fourth / k_steps, 3, 2e-2);
}

TEST(Permutation, IsOneForEveryCountAndDependsOnNumberAndStream) {
  const BitStream stream({9, 2, 0, 0}, Purpose::structure);
  for (const std::uint64_t count : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 1000u, 4097u}) {
    const Permutation permutation(stream, count);
    std::vector<bool> seen(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto image = permutation(i);
      ASSERT_LT(image, count);
      ASSERT_FALSE(seen[image]) << count << ' ' << i;
      seen[image] = true;
    }
  }
  const Permutation a(stream, 1000, 0), b(stream, 1000, 1);
  int same = 0, fixed_points = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    same += a(i) == b(i);
    fixed_points += a(i) == i;
  }
  EXPECT_LT(same, 10);
  EXPECT_LT(fixed_points, 10);
}

} // namespace
