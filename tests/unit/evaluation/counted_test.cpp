#include "evaluation/counted.hpp"

#include <gtest/gtest.h>

namespace ako::evaluation {
namespace {

client::SampleReport block(int calls, client::Counters counters) {
  client::SampleReport out;
  out.calls = calls;
  out.counters = counters;
  return out;
}

TEST(Counted, WithoutCountersNothingIsOnRecord) {
  Counted counted;
  counted.add("N=64", model::Side::candidate, block(10, {-1, -1, -1}));
  counted.add("N=64", model::Side::candidate, block(0, {5, 5, 5}));
  EXPECT_TRUE(counted.json().empty());
}

TEST(Counted, MeansOfOneCallPerShapeAndSide) {
  Counted counted;
  counted.add("N=64", model::Side::candidate, block(10, {1000, 2000, -1}));
  counted.add("N=64", model::Side::candidate, block(30, {5000, 6000, -1}));
  counted.add("N=64", model::Side::incumbent, block(10, {-1, 9000, 10}));
  counted.add("N=128", model::Side::candidate, block(1, {7, 8, 9}));
  const base::Json rows = counted.json();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], base::Json({{"shape", "N=128"},
                                 {"side", "candidate"},
                                 {"calls", 1},
                                 {"cycles", 7.0},
                                 {"instructions", 8.0},
                                 {"cache_misses", 9.0}}));
  EXPECT_EQ(rows[1], base::Json({{"shape", "N=64"},
                                 {"side", "incumbent"},
                                 {"calls", 10},
                                 {"cycles", nullptr},
                                 {"instructions", 900.0},
                                 {"cache_misses", 1.0}}));
  EXPECT_EQ(rows[2], base::Json({{"shape", "N=64"},
                                 {"side", "candidate"},
                                 {"calls", 40},
                                 {"cycles", 150.0},
                                 {"instructions", 200.0},
                                 {"cache_misses", nullptr}}));
}

} // namespace
} // namespace ako::evaluation
