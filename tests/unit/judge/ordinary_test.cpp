// The vector path of the close comparison: what it takes it sums as the plain loop does, and
// everything out of the ordinary it leaves alone, in whichever lane it stands.
#include "judge/ordinary.hpp"

#include "inputs/codec.hpp"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace {

using namespace ako;

struct Case {
  std::vector<double> got, expected;
  judge::OrdinaryLimits limits;

  explicit Case(std::size_t count) {
    const auto& numbers = inputs::numbers_of(model::Dtype::bfloat16);
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < count; ++i) {
      expected.push_back(normal(random));
      got.push_back(inputs::decode(model::Dtype::bfloat16,
                                   inputs::encode(model::Dtype::bfloat16, expected.back())));
    }
    limits.largest = numbers.largest;
    limits.subnormal_edge = numbers.smallest_normal;
    limits.least_exponent = std::bit_cast<std::int64_t>(numbers.smallest_normal);
    limits.quantum_scale = std::ldexp(1.0, 1 - numbers.significand_bits);
    limits.base = 1e-3;
    limits.rtol = 0.01;
    limits.cap = 1;
    limits.max_abs = limits.max_rel = limits.max_quanta = limits.max_of_allowed = 1;
  }
  bool add(judge::OrdinarySums& sums) const {
    return judge::add_ordinary(got.data(), expected.data(), got.size(), limits, sums);
  }
};

TEST(Ordinary, SumsAsAPlainLoopDoes) {
  const Case c(64);
  judge::OrdinarySums sums;
  ASSERT_TRUE(c.add(sums));
  judge::OrdinarySums plain;
  for (std::size_t i = 0; i < 64; ++i) {
    const double e = c.expected[i], error = c.got[i] - e;
    plain.error += error * error;
    plain.expected += e * e;
    plain.cross += e * c.got[i];
    if (error == 0) continue; // rounds to itself
    plain.bias += (e < 0 ? -error : error) / inputs::quantum(model::Dtype::bfloat16, e);
    ++plain.bias_count;
  }
  EXPECT_NEAR(sums.error, plain.error, 1e-15 * plain.error * 64);
  EXPECT_NEAR(sums.expected, plain.expected, 1e-12);
  EXPECT_NEAR(sums.cross, plain.cross, 1e-12);
  EXPECT_NEAR(sums.bias, plain.bias, 1e-9);
  EXPECT_EQ(sums.bias_count, plain.bias_count);
}

TEST(Ordinary, LeavesWhatIsOddInAnyLane) {
  const double inf = INFINITY, nan = std::nan("");
  const double tiny = inputs::numbers_of(model::Dtype::bfloat16).smallest;
  const std::pair<double, double> odd[] = {{nan, 1},   {1, nan}, {inf, 1},  {1, inf},
                                           {inf, inf}, {2, 1},   {0, tiny}, {1e300, 1e300}};
  for (const auto& [got, expected] : odd) {
    for (std::size_t at = 0; at < 8; ++at) {
      Case c(8);
      judge::OrdinarySums sums;
      c.got[at] = got;
      c.expected[at] = expected;
      EXPECT_FALSE(c.add(sums)) << got << " for " << expected << " at " << at;
      EXPECT_EQ(sums.expected, 0); // nothing was added
    }
  }
}

TEST(Ordinary, LeavesWhatSetsANewMaximum) {
  for (double judge::OrdinaryLimits::*maximum :
       {&judge::OrdinaryLimits::max_abs, &judge::OrdinaryLimits::max_rel,
        &judge::OrdinaryLimits::max_quanta, &judge::OrdinaryLimits::max_of_allowed,
        &judge::OrdinaryLimits::cap}) {
    Case c(8);
    judge::OrdinarySums sums;
    c.limits.*maximum = 1e-6;
    EXPECT_FALSE(c.add(sums));
    EXPECT_EQ(sums.bias_count, 0);
  }
}

} // namespace
