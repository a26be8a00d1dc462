// The derived tolerance: honest sums in any order pass, what a narrower type or a damaged row does
// fails, and what the task gives replaces what is derived.
#include "build.hpp"

#include <algorithm>
#include <numeric>

namespace {

using namespace ako;
using model::Dtype;
using test::CloseCase;
using test::Values;

/// rows x k times k, in float64 and in two orders of float32.
struct Sums {
  Values exact, forward, backward;
  Sums(std::int64_t rows, std::int64_t k, bool positive) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<float> terms(static_cast<std::size_t>(k));
      for (auto& t : terms)
        t = positive ? std::abs(normal(random)) : normal(random) * normal(random);
      double sum = 0;
      float up = 0, down = 0;
      for (std::size_t i = 0; i < terms.size(); ++i) {
        sum += terms[i];
        up += terms[i];
        down += terms[terms.size() - 1 - i];
      }
      exact.push_back(sum);
      forward.push_back(up);
      backward.push_back(down);
    }
  }
};

TEST(Tolerance, SumsInAnyOrderPassWhereAPurelyRelativeOneFails) { // HazyResearch/HipKittens#64
  for (const bool positive : {false, true}) {
    for (const std::int64_t k : {64, 4096, 65536}) {
      const Sums sums(512, k, positive);
      CloseCase c(Dtype::float32, {512, 1}, k); // [n, 1]: rows are merged
      c.contract.tolerance.accumulate = "K";
      c.derive();
      for (const Values* got : {&sums.forward, &sums.backward}) {
        const auto result = c.compare(*got, sums.exact);
        EXPECT_TRUE(result.pass) << k << ' ' << positive << ' ' << result.reason;
        EXPECT_LT(result.max_of_allowed, 0.75) << k << ' ' << positive;
      }
      if (k != 4096 || positive) continue;
      c.contract.tolerance.rtol = 1e-5; // purely relative: cancelling rows fail
      c.contract.tolerance.atol = 0;
      c.derive();
      EXPECT_FALSE(c.compare(sums.forward, sums.exact).pass);
    }
  }
}

TEST(Tolerance, BesideZeroTheNextValueOfTheTypeIsARounding) {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32}) {
    const double step = inputs::numbers_of(dtype).smallest;
    CloseCase c(dtype, {4, 64});
    c.contract.tensors[1].flush_subnormals = true;
    c.derive();
    const Values expected(256, 0.5 * step);
    Values rounded(256); // down and up in turn: both lie half a quantum away
    for (std::size_t i = 0; i < rounded.size(); ++i) rounded[i] = i % 2 ? 0.0 : step;
    const auto result = c.compare(rounded, expected);
    EXPECT_TRUE(result.pass) << model::to_string(dtype) << ' ' << result.reason;
    EXPECT_FALSE(c.compare(Values(256, 3 * step), expected).pass) << model::to_string(dtype);
  }
}

TEST(Tolerance, WeightsRoundedOnceAsAttentionDoesPassAndNarrowerOnesFail) {
  const std::size_t rows = 1024, terms = 127, columns = 64;
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  Values v(terms * columns), exact, once, narrow;
  for (double& value : v) value = normal(random);
  const auto rounded = [](Dtype dtype, double value) {
    return inputs::decode(dtype, inputs::encode(dtype, value));
  };
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<double> p(terms);
    double sum = 0;
    for (double& weight : p) sum += weight = std::exp(normal(random));
    for (std::size_t c = 0; c < columns; ++c) {
      double right = 0, bfloat = 0, fp8 = 0;
      for (std::size_t t = 0; t < terms; ++t) {
        const double weight = p[t] / sum, value = v[t * columns + c];
        right += weight * value;
        bfloat += rounded(Dtype::bfloat16, weight) * value;
        fp8 += rounded(Dtype::float8_e5m2, weight) * value;
      }
      exact.push_back(right), once.push_back(bfloat), narrow.push_back(fp8);
    }
  }
  CloseCase c(Dtype::bfloat16, {std::int64_t(rows), std::int64_t(columns)}, terms);
  const auto result = c.compare(once, exact);
  EXPECT_TRUE(result.pass) << result.reason;
  EXPECT_FALSE(c.compare(narrow, exact).pass);
}

TEST(Tolerance, NarrowAccumulationFails) {
  const Sums sums(512, 4096, false);
  CloseCase c(Dtype::float32, {512, 1}, 4096);
  c.contract.tolerance.accumulate = "K";
  c.derive();
  Values half = sums.exact;
  for (auto& v : half) v = inputs::decode(Dtype::float16, inputs::encode(Dtype::float16, v));
  EXPECT_FALSE(c.compare(half, sums.exact).pass);
}

TEST(Tolerance, ZeroedRowsFailHoweverFew) { // ROCm/aiter#5032: an average hid 15 % of them
  for (const Dtype dtype : {Dtype::bfloat16, Dtype::float8_e4m3fn, Dtype::float32}) {
    CloseCase c(dtype, {1000, 128}, 128);
    const Values values = test::normal_values(128000);
    Values bad = values;
    std::fill(bad.begin() + 128 * 500, bad.begin() + 128 * 501, 0.0);
    auto result = c.compare(bad, values);
    EXPECT_FALSE(result.pass);
    EXPECT_EQ(result.worst_row.index, (std::vector<std::int64_t>{500, 0}));
    EXPECT_NEAR(result.worst_row.error, 1, 1e-9);
    c.tolerance.matched_ratio = 0.9; // one destroyed row of a thousand is still destroyed
    result = c.compare(bad, values);
    EXPECT_FALSE(result.pass) << to_string(dtype);
  }
}

TEST(Tolerance, GivenValuesReplaceDerivedOnes) {
  CloseCase c(Dtype::bfloat16, {16, 64}, 64);
  EXPECT_GT(c.tolerance.row_factor, 0);
  EXPECT_DOUBLE_EQ(c.tolerance.rtol, 3 * 0x1p-8);
  c.contract.tolerance.rtol = 0.05;
  c.derive();
  EXPECT_EQ(c.tolerance.rtol, 0.05);
  EXPECT_GT(c.tolerance.row_factor, 0); // the rest stays derived
  EXPECT_DOUBLE_EQ(c.tolerance.slope_limit, 0.0125);
  c.contract.tolerance.atol = 0.5;
  c.derive();
  EXPECT_EQ(c.tolerance.atol, 0.5);
  EXPECT_EQ(c.tolerance.row_factor, 0);
  EXPECT_NE(c.tolerance.formula.find("0.5 (given)"), std::string::npos) << c.tolerance.formula;
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
    c.contract.tolerance.atol = bad;
    const auto refused = judge::derive_tolerance(c.contract, c.shape, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, "tolerance.atol");
  }
}

TEST(Tolerance, LongTensorsAreNoLongSums) {
  // A reciprocal of twelve bits in a sigmoid, beside one that is rounded right.
  const std::int64_t n = 1 << 20;
  CloseCase c(Dtype::float32, {n});
  c.contract.reference.precision = model::ErrorPrecision::native;
  c.derive();
  Values exact(static_cast<std::size_t>(n)), rough, right;
  const Values x = test::normal_values(n);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    exact[i] = 1 / (1 + std::exp(-x[i]));
    rough.push_back(exact[i] * (1 + std::ldexp(i % 2 ? 1.0 : -1.0, -12)));
    right.push_back(static_cast<float>(exact[i]) * (1 + std::ldexp(i % 3 ? 1.0 : -1.0, -23)));
  }
  EXPECT_FALSE(c.compare(rough, exact).pass);
  EXPECT_TRUE(c.compare(right, exact).pass);
  // What is summed over counts in full, and so does what the contract says.
  c.shape.accumulate = n;
  EXPECT_EQ(judge::accumulate_length(c.contract, c.shape, 1), n);
  c.contract.tolerance.accumulate = "K";
  c.shape.accumulate = 2;
  EXPECT_EQ(judge::accumulate_length(c.contract, c.shape, 1), 2);
}

TEST(Tolerance, NativeReferencesErrTooAndLongerSumsMore) {
  CloseCase c(Dtype::float32, {16, 64}, 64);
  const double rtol = c.tolerance.rtol, row = c.tolerance.row_factor;
  c.contract.reference.precision = model::ErrorPrecision::native;
  c.derive();
  EXPECT_EQ(c.tolerance.rtol, 2 * rtol);
  EXPECT_EQ(c.tolerance.row_factor, 2 * row);
  c.contract.tolerance.accumulate = "K";
  c.shape.accumulate = 6400;
  c.derive();
  EXPECT_NEAR(c.tolerance.row_factor, 20 * row, 1e-9); // twice for native, ten for the length
  c.contract.tensors[1].compare = model::Compare::exact;
  EXPECT_FALSE(judge::derive_tolerance(c.contract, c.shape, 1));
}

} // namespace
