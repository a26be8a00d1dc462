// Codecs held against ml_dtypes and numpy (tests/golden/dtypes.txt) and against a search over all
// codes.
#include "inputs/codec.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace ako;
using inputs::Overflow;
using model::Dtype;

struct GoldenLine {
  std::string kind;
  Dtype dtype;
  std::vector<std::string> fields;
};

std::vector<GoldenLine> golden() {
  std::ifstream file(AKO_SOURCE_DIR "/tests/golden/dtypes.txt");
  std::vector<GoldenLine> lines;
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    GoldenLine line;
    std::string name, field;
    words >> line.kind >> name;
    line.dtype = *model::dtype_from(name);
    while (words >> field) line.fields.push_back(field);
    lines.push_back(line);
  }
  return lines;
}

std::uint64_t hex(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 16); }

TEST(Codec, DecodesEveryCodeAsMlDtypesDoes) {
  int decoded = 0;
  for (const GoldenLine& line : golden()) {
    if (line.kind != "decode") continue;
    const std::uint64_t step = model::bits_of(line.dtype) == 16 ? 257 : 1;
    for (std::size_t i = 0; i < line.fields.size(); ++i, ++decoded) {
      const double value = inputs::decode(line.dtype, i * step);
      if (line.fields[i] == "nan") {
        EXPECT_TRUE(std::isnan(value)) << to_string(line.dtype) << " code " << i * step;
      } else {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(value), hex(line.fields[i]))
            << to_string(line.dtype) << " code " << i * step;
      }
    }
  }
  EXPECT_GE(decoded, 3 * 256 + 2 * 16 + 2 * 255);
}

TEST(Codec, RoundsFromFloatAsMlDtypesDoes) {
  int rounded = 0;
  for (const GoldenLine& line : golden()) {
    if (line.kind != "encode") continue;
    for (const std::string& field : line.fields) {
      const auto colon = field.find(':');
      const auto bits = static_cast<std::uint32_t>(hex(field.substr(0, colon)));
      const float value = std::bit_cast<float>(bits);
      // ml_dtypes rounds subnormal floats to e8m0 by the rules of their own bits; the value decides
      // here, see SearchFindsNoNearerCode.
      if (line.dtype == Dtype::float8_e8m0fnu && std::abs(value) < 0x1p-126f) continue;
      const std::uint64_t want = hex(field.substr(colon + 1));
      const std::uint64_t got = inputs::encode(line.dtype, value);
      ++rounded;
      if (std::isnan(inputs::decode(line.dtype, want))) {
        EXPECT_TRUE(std::isnan(inputs::decode(line.dtype, got)))
            << to_string(line.dtype) << ' ' << value << " gave " << got;
      } else if (std::isnan(value)) {
        EXPECT_FALSE(inputs::numbers_of(line.dtype).has_nan) << to_string(line.dtype);
      } else {
        EXPECT_EQ(got, want) << to_string(line.dtype) << ' ' << field << ' ' << value;
      }
    }
  }
  EXPECT_GT(rounded, 6000);
}

/// The nearest code by looking at all of them; ties to the even code, of bare powers to the larger.
std::uint64_t nearest(Dtype dtype, double value) {
  const std::uint64_t codes = std::uint64_t{1} << model::bits_of(dtype);
  std::uint64_t best = 0;
  long double best_distance = std::numeric_limits<long double>::infinity();
  for (std::uint64_t code = 0; code < codes; ++code) {
    const double candidate = inputs::decode(dtype, code);
    if (!std::isfinite(candidate) || std::signbit(candidate) != std::signbit(value)) continue;
    const long double distance = std::abs(static_cast<long double>(candidate) - value);
    if (distance < best_distance ||
        (distance == best_distance && (code % 2 == 0 || dtype == Dtype::float8_e8m0fnu))) {
      best = code;
      best_distance = distance;
    }
  }
  return best;
}

TEST(Codec, SearchFindsNoNearerCode) {
  std::mt19937_64 random(3);
  for (const Dtype dtype :
       {Dtype::float8_e4m3fn, Dtype::float8_e5m2, Dtype::float8_e8m0fnu, Dtype::float4_e2m1fn}) {
    const auto& n = inputs::numbers_of(dtype);
    for (int trial = 0; trial < 4000; ++trial) {
      const double low = std::log2(n.smallest) - 2, high = std::log2(n.largest);
      double value = std::exp2(low + (high - low) * std::generate_canonical<double, 53>(random));
      if (trial % 3 == 0) { // a tie and the doubles around it, which no route through float sees
        const auto code = nearest(dtype, value);
        value = inputs::decode(dtype, code) + inputs::quantum(dtype, value) / 2;
        if (trial % 2) value = std::nextafter(value, trial % 4 == 1 ? 0 : 1e300);
      }
      if (value > n.largest) value = n.largest;
      if (n.has_sign && trial % 5 == 0) value = -value;
      EXPECT_EQ(inputs::encode(dtype, value), nearest(dtype, value))
          << to_string(dtype) << ' ' << value;
    }
  }
}

TEST(Codec, NoDoubleRoundingOnTheWayToBfloat16) {
  // Just above a bfloat16 tie by less than a float32 step: through float it would become the tie.
  const double value = 1.0 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(inputs::decode(Dtype::bfloat16, inputs::encode(Dtype::bfloat16, value)), 1.0 + 0x1p-7);
  EXPECT_EQ(inputs::decode(Dtype::bfloat16, inputs::encode(Dtype::bfloat16, 1.0 + 0x1p-8)), 1.0);
}

TEST(Codec, EveryCodeSurvivesARoundTrip) {
  for (const Dtype dtype : model::all_dtypes()) {
    if (model::bits_of(dtype) > 16 || dtype == Dtype::boolean) continue;
    for (std::uint64_t code = 0; code < std::uint64_t{1} << model::bits_of(dtype); ++code) {
      const double value = inputs::decode(dtype, code);
      if (std::isnan(value)) continue;
      ASSERT_EQ(inputs::encode(dtype, value), code) << to_string(dtype) << ' ' << code;
    }
  }
}

TEST(Codec, TruncationNeverGrowsAndDiffersFromNearestHalfOfTheTime) {
  std::mt19937_64 random(5);
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16, Dtype::float8_e4m3fn,
                            Dtype::float8_e5m2, Dtype::float4_e2m1fn}) {
    int differ = 0;
    for (int i = 0; i < 2000; ++i) {
      const double value = (std::generate_canonical<double, 53>(random) - 0.5) * 8;
      const double down = inputs::decode(dtype, inputs::encode_truncated(dtype, value));
      EXPECT_LE(std::abs(down), std::abs(value));
      EXPECT_LT(std::abs(value - down), inputs::quantum(dtype, value));
      differ += inputs::encode_truncated(dtype, value) != inputs::encode(dtype, value);
    }
    EXPECT_NEAR(differ, 1000, 150) << to_string(dtype);
  }
}

TEST(Codec, OverflowAndNaNRules) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  using inputs::decode;
  using inputs::encode;
  EXPECT_EQ(decode(Dtype::float16, encode(Dtype::float16, 65519.9)), 65504);
  EXPECT_EQ(decode(Dtype::float16, encode(Dtype::float16, 65520)), inf);
  EXPECT_EQ(decode(Dtype::float16, encode(Dtype::float16, -1e9, Overflow::saturate)), -65504);
  EXPECT_TRUE(std::isnan(decode(Dtype::float8_e4m3fn, encode(Dtype::float8_e4m3fn, 500))));
  EXPECT_EQ(decode(Dtype::float8_e4m3fn, encode(Dtype::float8_e4m3fn, 464)), 448);
  EXPECT_EQ(decode(Dtype::float8_e4m3fn, encode(Dtype::float8_e4m3fn, inf, Overflow::saturate)),
            448);
  EXPECT_EQ(decode(Dtype::float4_e2m1fn, encode(Dtype::float4_e2m1fn, -100)), -6);
  EXPECT_TRUE(std::isnan(decode(Dtype::float8_e8m0fnu, encode(Dtype::float8_e8m0fnu, -1))));
  EXPECT_EQ(encode(Dtype::float8_e8m0fnu, 0, Overflow::saturate), 0u);
  EXPECT_EQ(encode(Dtype::int8, nan), 0u);
  EXPECT_EQ(encode(Dtype::int8, 127.5), 127u);
  EXPECT_EQ(encode(Dtype::int8, -1e30), 0x80u);
  EXPECT_EQ(encode(Dtype::int4, -9), 0x8u);
  EXPECT_EQ(encode(Dtype::int4, 2.5), 2u);
  EXPECT_EQ(encode(Dtype::uint8, -3), 0u);
  EXPECT_EQ(encode(Dtype::int64, 1e30), 0x7fffffffffffffffu);
  EXPECT_EQ(encode(Dtype::int64, -1e30), 0x8000000000000000u);
  EXPECT_EQ(encode(Dtype::uint64, 1e30), ~0ull);
  EXPECT_EQ(encode(Dtype::boolean, 0.25), 1u);
}

TEST(Codec, LowNibbleComesFirst) {
  std::vector<std::byte> packed(3);
  for (int i = 0; i < 5; ++i) {
    inputs::store_code(Dtype::int4, packed, i, static_cast<std::uint64_t>(i + 1));
  }
  EXPECT_EQ(packed[0], std::byte{0x21});
  EXPECT_EQ(packed[1], std::byte{0x43});
  EXPECT_EQ(packed[2], std::byte{0x05});
  EXPECT_EQ(inputs::load_code(Dtype::int4, packed, 3), 4u);
}

TEST(Codec, RangesAgreeWithSingleElements) {
  std::mt19937_64 random(11);
  for (const Dtype dtype : model::all_dtypes()) {
    std::vector<std::byte> packed(static_cast<std::size_t>(model::bytes_of(dtype, 301)));
    for (auto& b : packed) b = static_cast<std::byte>(random());
    std::vector<double> values(290);
    inputs::decode_range(dtype, packed, 7, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double one = inputs::load(dtype, packed, static_cast<std::int64_t>(i) + 7);
      if (std::isnan(one)) {
        EXPECT_TRUE(std::isnan(values[i]));
      } else {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(values[i]), std::bit_cast<std::uint64_t>(one))
            << to_string(dtype) << ' ' << i;
      }
    }
    // What is decoded and stored again is the same bytes (NaN payloads and wide integers apart).
    if (model::bits_of(dtype) == 64 || dtype == Dtype::boolean) continue;
    std::vector<std::byte> again = packed;
    for (auto& v : values) v = std::isnan(v) ? 1 : v;
    inputs::encode_range(dtype, values, again, 7);
    std::vector<double> twice(values.size());
    inputs::decode_range(dtype, again, 7, twice);
    EXPECT_EQ(twice, values) << to_string(dtype);
  }
}

TEST(Codec, QuantumAndOrdinalDescribeNeighbours) {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float8_e4m3fn,
                            Dtype::float8_e5m2, Dtype::float4_e2m1fn}) {
    const auto& n = inputs::numbers_of(dtype);
    const auto last = inputs::encode(dtype, n.largest);
    for (std::uint64_t code = 0; code < last; ++code) {
      const double here = inputs::decode(dtype, code), next = inputs::decode(dtype, code + 1);
      ASSERT_EQ(next - here, inputs::quantum(dtype, here)) << to_string(dtype) << ' ' << code;
      ASSERT_EQ(inputs::ordinal(dtype, code + 1) - inputs::ordinal(dtype, code), 1);
    }
    const auto minus_zero = inputs::encode(dtype, -0.0);
    EXPECT_NE(minus_zero, 0u);
    EXPECT_EQ(inputs::ordinal(dtype, minus_zero), 0);
  }
  EXPECT_EQ(inputs::ordinal(Dtype::int4, 0xf), -1);
}

TEST(Codec, Float32NumbersAreTheLanguagesOwn) {
  using L = std::numeric_limits<float>;
  const auto& n = inputs::numbers_of(Dtype::float32);
  EXPECT_EQ(n.largest, L::max());
  EXPECT_EQ(n.smallest_normal, L::min());
  EXPECT_EQ(n.smallest, L::denorm_min());
  EXPECT_EQ(n.unit_roundoff, L::epsilon() / 2);
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; ++i) {
    const double value =
        std::bit_cast<double>(random() % 0x4800000000000000 + 0x3600000000000000 * (i % 2));
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(inputs::encode(Dtype::float32, value),
              std::bit_cast<std::uint32_t>(static_cast<float>(value)))
        << value;
  }
}

} // namespace
