// Fills and recipes: what they promise, for every type, in any order.
#include "inputs/codec.hpp"
#include "inputs/recipe.hpp"
#include "inputs/values.hpp"
#include "tensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

namespace {

using namespace ako;
using inputs::Recipe;
using inputs::StreamId;
using model::Dtype;
using model::Fill;
using model::FillSpec;
using test::tensor_of;

const StreamId k_stream{0x123456789abcdefu, 1, 2, 3};

FillSpec spec_of(Fill kind) {
  FillSpec spec;
  spec.kind = kind;
  return spec;
}

std::vector<std::byte> filled(const model::ResolvedTensor& tensor, const FillSpec& spec,
                              Recipe recipe = Recipe::plain, StreamId stream = k_stream) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
  const auto status = inputs::fill(bytes, tensor, spec, recipe, stream);
  EXPECT_TRUE(status) << status.error().text();
  return bytes;
}

std::vector<double> values_of(const model::ResolvedTensor& tensor,
                              const std::vector<std::byte>& bytes) {
  std::vector<double> values(static_cast<std::size_t>(tensor.span_elements));
  inputs::decode_range(tensor.dtype, bytes, 0, values);
  return values;
}

TEST(Fill, SameInPartsInAnyOrderForEveryTypeAndRecipe) {
  for (const Dtype dtype : model::all_dtypes()) {
    for (const Recipe recipe : inputs::all_recipes()) {
      const auto tensor = tensor_of(dtype, {6, 1999}); // odd rows: columns and parts do not align
      const auto whole = filled(tensor, spec_of(Fill::normal), recipe);
      auto filler = inputs::Filler::make(tensor, spec_of(Fill::normal), recipe);
      ASSERT_TRUE(filler);
      std::vector<std::byte> parts(whole.size());
      const std::int64_t cuts[] = {8064, 64, 0, 5056};
      const std::int64_t ends[] = {tensor.elements, 5056, 64, 8064};
      for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(filler->fill_part(parts, k_stream, cuts[i], ends[i] - cuts[i]));
      }
      EXPECT_EQ(whole, parts) << to_string(dtype) << ' ' << to_string(recipe);
    }
  }
}

TEST(Fill, TheTableAndTheSlowPathAgree) {
  for (const Dtype dtype : {Dtype::bfloat16, Dtype::float8_e4m3fn, Dtype::float4_e2m1fn})
    for (const Recipe recipe : {Recipe::plain, Recipe::ties, Recipe::large, Recipe::tiny,
                                Recipe::tail_mass, Recipe::asymmetric})
      for (double mean : {0.5, -0.75}) { // a table of its own for each
        FillSpec spec = spec_of(Fill::normal);
        spec.mean = mean;
        spec.stddev = 0.8125;
        // Rows of equal length, as a recipe may bend by place. The first small one has no table.
        const auto small = tensor_of(dtype, {1, 1000}), large = tensor_of(dtype, {100, 1000});
        const auto slow = filled(small, spec, recipe), table = filled(small, spec, recipe);
        EXPECT_EQ(slow, table) << to_string(dtype) << ' ' << to_string(recipe);
        if (recipe == Recipe::asymmetric) continue; // by the number of rows as well
        const auto many = filled(large, spec, recipe);
        EXPECT_TRUE(std::equal(slow.begin(), slow.end(), many.begin()))
            << to_string(dtype) << ' ' << to_string(recipe);
      }
}

// Many at a time or one by one: the same codes, at the edges of the table and of the type too.
TEST(Fill, FloatsAndTheSlowPathAgree) {
  const auto tensor = tensor_of(Dtype::float32, {5000});
  FillSpec wild = spec_of(Fill::normal), uniform = spec_of(Fill::uniform);
  wild.stddev = 1e38;
  uniform.low = -3, uniform.high = 5;
  for (const FillSpec& spec : {spec_of(Fill::normal), wild, uniform}) {
    const inputs::Values values(tensor, spec, Recipe::plain);
    ASSERT_TRUE(values.draws_floats());
    std::vector<std::uint32_t> bits = {0,      1,       0x7fff,     0x8000,
                                       0xffff, 0x10000, 0xffff8000, 0xffffffff};
    for (std::uint32_t i = 0; i < 5000; ++i) bits.push_back(i * 2654435761u);
    std::vector<float> many(bits.size());
    values.floats(reinterpret_cast<const std::byte*>(bits.data()),
                  static_cast<std::int64_t>(bits.size()), many.data());
    for (std::size_t i = 0; i < bits.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(many[i]), values.plain_code(bits[i])) << bits[i];
  }
  EXPECT_FALSE(inputs::Values(tensor, spec_of(Fill::normal), Recipe::large).draws_floats());
  EXPECT_FALSE(inputs::Values(tensor, spec_of(Fill::index), Recipe::plain).draws_floats());
  EXPECT_FALSE(inputs::Values(tensor_of(Dtype::float64, {8}), wild, Recipe::plain).draws_floats());
}

TEST(Fill, EverySeedTensorSetAndEpochIsNewContent) {
  const auto tensor = tensor_of(Dtype::bfloat16, {64, 64});
  std::set<std::vector<std::byte>> seen;
  for (const StreamId id : {StreamId{1, 0, 0, 0}, StreamId{2, 0, 0, 0}, StreamId{1, 1, 0, 0},
                            StreamId{1, 0, 1, 0}, StreamId{1, 0, 0, 1}}) {
    seen.insert(filled(tensor, spec_of(Fill::normal), Recipe::plain, id));
  }
  EXPECT_EQ(seen.size(), 5u);
}

TEST(Fill, NormalHasItsMeanAndDeviation) {
  for (const Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
    const auto tensor = tensor_of(dtype, {200000});
    FillSpec spec = spec_of(Fill::normal);
    spec.mean = 3;
    spec.stddev = 0.5;
    const auto values = values_of(tensor, filled(tensor, spec));
    double sum = 0, square = 0;
    for (const double v : values) {
      sum += v;
      square += (v - 3) * (v - 3);
    }
    EXPECT_NEAR(sum / 200000, 3, 5 * 0.5 / std::sqrt(200000.0)) << to_string(dtype);
    EXPECT_NEAR(std::sqrt(square / 200000), 0.5, 0.005) << to_string(dtype);
  }
}

TEST(Fill, UniformStaysInsideAndIntegersReachBothEnds) {
  FillSpec spec = spec_of(Fill::uniform);
  spec.low = -3;
  spec.high = 5;
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16}) {
    const auto tensor = tensor_of(dtype, {50000});
    const auto values = values_of(tensor, filled(tensor, spec));
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*low, -3);
    EXPECT_LE(*high, 5);
    EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 50000, 1, 0.06);
  }
  for (const Dtype dtype : {Dtype::int4, Dtype::int8, Dtype::int32, Dtype::int64}) {
    const auto tensor = tensor_of(dtype, {9000});
    const auto values = values_of(tensor, filled(tensor, spec));
    for (int v = -3; v <= 5; ++v) {
      EXPECT_NEAR(static_cast<double>(std::count(values.begin(), values.end(), v)), 1000, 150)
          << to_string(dtype) << v;
    }
  }
  const auto unsigned_tensor = tensor_of(Dtype::uint8, {1000});
  const auto values = values_of(unsigned_tensor, filled(unsigned_tensor, spec));
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 5); // low end cut at the type's
}

TEST(Fill, IndexOffsetsAndPermutationKeepTheirPromises) {
  auto tensor = tensor_of(Dtype::int32, {5000});
  tensor.fill_limit = 37;
  auto values = values_of(tensor, filled(tensor, spec_of(Fill::index)));
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 36);

  for (const std::int64_t count : {1, 2, 3, 8, 101}) {
    auto offsets = tensor_of(Dtype::int64, {count});
    offsets.fill_limit = 5000;
    const auto at = values_of(offsets, filled(offsets, spec_of(Fill::offsets)));
    EXPECT_TRUE(std::is_sorted(at.begin(), at.end()));
    EXPECT_EQ(at.front(), 0);
    EXPECT_EQ(at.back(), count > 1 ? 5000 : 0);
    if (count > 50) { // ragged, not a ruler
      std::set<double> lengths;
      for (std::size_t i = 1; i < at.size(); ++i) lengths.insert(at[i] - at[i - 1]);
      EXPECT_GT(lengths.size(), 30u);
    }
  }

  const auto permutation = tensor_of(Dtype::int32, {3, 1000});
  const auto p = values_of(permutation, filled(permutation, spec_of(Fill::permutation)));
  std::vector<double> rows[3];
  for (std::size_t r = 0; r < 3; ++r) {
    rows[r].assign(p.begin() + static_cast<std::ptrdiff_t>(r * 1000),
                   p.begin() + static_cast<std::ptrdiff_t>((r + 1) * 1000));
  }
  EXPECT_NE(rows[0], rows[1]);
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(row[static_cast<std::size_t>(i)], i);
  }
}

TEST(Fill, BadParametersAreNamed) {
  auto tensor = tensor_of(Dtype::int8, {10});
  tensor.fill_limit = 1000; // int8 cannot hold 999
  for (const Fill kind : {Fill::index, Fill::custom, Fill::recorded}) {
    const auto filler = inputs::Filler::make(tensor, spec_of(kind), Recipe::plain);
    ASSERT_FALSE(filler) << static_cast<int>(kind);
    EXPECT_EQ(filler.error().kind, base::ErrorKind::invalid);
    EXPECT_FALSE(filler.error().allowed.empty());
  }
  tensor.fill_limit = 0;
  EXPECT_FALSE(inputs::Filler::make(tensor, spec_of(Fill::index), Recipe::plain));
  FillSpec inverted = spec_of(Fill::uniform);
  inverted.low = 2;
  EXPECT_FALSE(inputs::Filler::make(tensor, inverted, Recipe::plain));
  std::vector<std::byte> small(9);
  EXPECT_FALSE(inputs::fill(small, tensor, spec_of(Fill::normal), Recipe::plain, k_stream));
}

TEST(Recipe, UniformFillsNeverLeaveTheirDomain) {
  FillSpec spec = spec_of(Fill::uniform);
  spec.low = 0.25;
  spec.high = 0.75;
  for (const Recipe recipe : inputs::all_recipes()) {
    for (const Dtype dtype : {Dtype::bfloat16, Dtype::float32, Dtype::float16}) {
      const auto tensor = tensor_of(dtype, {40, 250});
      for (const double v : values_of(tensor, filled(tensor, spec, recipe))) {
        ASSERT_GE(v, 0.25) << to_string(recipe);
        ASSERT_LE(v, 0.75) << to_string(recipe);
      }
    }
  }
}

TEST(Recipe, NormalFillsStayFiniteInEveryType) {
  for (const Recipe recipe : inputs::all_recipes()) {
    for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16, Dtype::float16, Dtype::float8_e4m3fn,
                              Dtype::float8_e5m2, Dtype::float4_e2m1fn}) {
      const auto tensor = tensor_of(dtype, {16, 512});
      const auto values = values_of(tensor, filled(tensor, spec_of(Fill::normal), recipe));
      for (const double v : values) ASSERT_TRUE(std::isfinite(v)) << to_string(recipe);
      if (recipe == Recipe::plain) continue;
      EXPECT_NE(values, values_of(tensor, filled(tensor, spec_of(Fill::normal))))
          << to_string(recipe) << ' ' << to_string(dtype);
    }
  }
}

/// Rows of a float32 tensor under a recipe.
std::vector<double> rows_of(Recipe recipe, std::int64_t rows, std::int64_t columns,
                            std::uint32_t tensor_number = 1) {
  const auto tensor = tensor_of(Dtype::float32, {rows, columns});
  StreamId id = k_stream;
  id.tensor = tensor_number;
  return values_of(tensor, filled(tensor, spec_of(Fill::normal), recipe, id));
}

TEST(Recipe, DoWhatTheirNamesSay) {
  const auto row_sum = [](const std::vector<double>& v, std::size_t row, std::size_t from,
                          std::size_t to, std::size_t columns, bool absolute) {
    double sum = 0;
    for (std::size_t c = from; c < to; ++c) {
      sum += absolute ? std::abs(v[row * columns + c]) : v[row * columns + c];
    }
    return sum;
  };
  const auto tail = rows_of(Recipe::tail_mass, 8, 1000);
  const auto pairs = rows_of(Recipe::cancelling, 8, 1000);
  const auto shifted = rows_of(Recipe::scaled_shifted, 8, 1000);
  std::set<int> signs;
  for (std::size_t row = 0; row < 8; ++row) {
    EXPECT_GT(row_sum(tail, row, 990, 1000, 1000, false),
              4 * std::abs(row_sum(tail, row, 0, 990, 1000, false)));
    EXPECT_LT(std::abs(row_sum(pairs, row, 0, 1000, 1000, false)),
              0.01 * row_sum(pairs, row, 0, 1000, 1000, true));
    const double mean = row_sum(shifted, row, 0, 1000, 1000, false) / 1000;
    EXPECT_GT(std::abs(mean), 0.2); // no row that a norm would leave alone
    signs.insert(mean > 0 ? 1 : -1);
  }
  EXPECT_EQ(signs.size(), 2u);
  const auto wide = rows_of(Recipe::ill_conditioned, 1, 4000);
  const auto [least, most] = std::minmax_element(
      wide.begin(), wide.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  EXPECT_GT(std::abs(*most) / std::abs(*least), 65536);
  const auto a = rows_of(Recipe::asymmetric, 64, 64, 0), b = rows_of(Recipe::asymmetric, 64, 64, 1);
  const double across = row_sum(a, 0, 48, 64, 64, false) - row_sum(a, 0, 0, 16, 64, false);
  EXPECT_GT(across, 16); // tensor 0 rises along its rows, tensor 1 down its columns
  EXPECT_GT(row_sum(b, 63, 0, 64, 64, false) - row_sum(b, 0, 0, 64, 64, false), 64);
}

TEST(Recipe, TiesHaveOddLastBits) {
  const auto tensor = tensor_of(Dtype::bfloat16, {1000});
  const auto bytes = filled(tensor, spec_of(Fill::normal), Recipe::ties);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(inputs::load_code(Dtype::bfloat16, bytes, i) & 1, 1u);
}

int count_up(void* data, std::int64_t bytes, const std::int64_t* shape, int rank,
             std::uint64_t seed) {
  if (rank != 2 || shape[1] == 13) return 5;
  auto* out = static_cast<std::uint8_t*>(data);
  for (std::int64_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(i) + seed);
  }
  return 0;
}

TEST(Fill, CustomGoesByLogicalIndexAndItsFailureIsNamed) {
  const auto tensor = tensor_of(Dtype::uint8, {3, 4}, {8, 1}); // gaps of four
  FillSpec spec = spec_of(Fill::custom);
  spec.symbol = "count_up";
  inputs::FillSources sources;
  sources.custom = count_up;
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes), std::byte{1});
  ASSERT_TRUE(inputs::fill(bytes, tensor, spec, Recipe::plain, k_stream, sources));
  EXPECT_EQ((static_cast<int>(bytes[8]) - static_cast<int>(bytes[3])) & 0xff, 1);
  EXPECT_EQ(bytes[5], std::byte{0});
  const auto bad = tensor_of(Dtype::uint8, {3, 13});
  std::vector<std::byte> more(39);
  const auto status = inputs::fill(more, bad, spec, Recipe::plain, k_stream, sources);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().found.find("count_up returned 5"), std::string::npos);
}

} // namespace
