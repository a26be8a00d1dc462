// Own numbers against those of an outside library (tests/golden/stats).
#include "base/json.hpp"
#include "stats/distributions.hpp"
#include "stats/instances.hpp"
#include "stats/paired_test.hpp"
#include "stats/summary.hpp"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace ako::stats {
namespace {

const base::Json& golden() {
  static const base::Json json = [] {
    std::ifstream file(AKO_SOURCE_DIR "/tests/golden/stats/golden.json");
    std::stringstream text;
    text << file.rdbuf();
    return base::Json::parse(text.str());
  }();
  return json;
}

void expect_close(double found, double wanted, const base::Json& at, double tolerance = 1e-10) {
  EXPECT_LE(std::fabs(found - wanted), tolerance * std::max(std::fabs(wanted), 1e-300))
      << "found " << found << ", wanted " << wanted << " at " << at.dump();
}

/// Every row of `name`, and never none.
template <class F> void each(const char* name, F check) {
  const base::Json& rows = golden().at(name);
  ASSERT_GE(rows.size(), 4u) << name;
  for (const base::Json& row : rows) check(row);
}

TEST(Golden, Normal) {
  each("normal_cdf", [](const base::Json& r) { expect_close(normal_cdf(r[0]), r[1], r); });
  each("normal_quantile",
       [](const base::Json& r) { expect_close(normal_quantile(r[0]), r[1], r); });
}

TEST(Golden, Student) {
  each("student_upper",
       [](const base::Json& r) { expect_close(student_upper(r[0], r[1]), r[2], r); });
  each("student_upper_quantile",
       [](const base::Json& r) { expect_close(student_upper_quantile(r[0], r[1]), r[2], r); });
}

TEST(Golden, BetaAndBinomial) {
  each("beta_regularised",
       [](const base::Json& r) { expect_close(beta_regularised(r[0], r[1], r[2]), r[3], r); });
  each("binomial_cdf",
       [](const base::Json& r) { expect_close(binomial_cdf(r[0], r[1], r[2]), r[3], r); });
  each("sign_test", [](const base::Json& r) { expect_close(sign_test(r[0], r[1]), r[2], r); });
}

TEST(Golden, ProportionLimits) {
  each("proportion", [](const base::Json& r) {
    const Proportion p = proportion(r[0], r[1], r[2]);
    expect_close(p.low, r[3], r, 1e-8);
    expect_close(p.high, r[4], r, 1e-8);
  });
}

TEST(Golden, Summaries) {
  each("summaries", [](const base::Json& r) {
    const auto v = r.at("values").get<std::vector<double>>();
    expect_close(mean(v), r.at("mean"), r);
    expect_close(variance(v), r.at("variance"), r);
    expect_close(median(v), r.at("median"), r);
    expect_close(quantile(v, 0.05), r.at("q05"), r);
    expect_close(quantile(v, 0.75), r.at("q75"), r);
    expect_close(trimmed_mean(v, 0.2), r.at("trimmed20"), r);
    expect_close(mad(v), r.at("mad"), r);
    expect_close(hodges_lehmann(v), r.at("hodges_lehmann"), r);
    expect_close(*geometric_mean(v), r.at("geometric_mean"), r);
    expect_close(summarize(v).p05, r.at("q05"), r);
  });
}

TEST(Golden, Instances) {
  const base::Json& g = golden().at("instances");
  auto side = [&](const char* name) {
    std::vector<Instance> instances;
    for (const base::Json& times : g.at(name))
      instances.push_back({times.get<std::vector<double>>()});
    return instances;
  };
  const auto result = compare_instances(side("old"), side("new"), g.at("level"));
  ASSERT_TRUE(result) << result.error().text();
  expect_close(result->gain.value, g.at("gain"), g.at("gain"));
  expect_close(result->gain.low, g.at("low"), g.at("low"));
  expect_close(result->gain.high, g.at("high"), g.at("high"));
  expect_close(result->degrees, g.at("degrees"), g.at("degrees"));
}

// With one look, one pair a placement and nothing assumed, the test is Student's own.
TEST(Golden, OneLookIsAStudentInterval) {
  const base::Json& g = golden().at("single_look");
  Series series{{{"one", 1}}, {}};
  for (double r : g.at("log_ratios").get<std::vector<double>>()) {
    Pair pair;
    pair.old_ns = 1000;
    pair.new_ns = 1000 * std::exp(r);
    series.placements.push_back({{{pair}}});
  }
  Plan plan;
  plan.level = g.at("level");
  plan.most_placements = static_cast<int>(series.placements.size());
  plan.first_look = plan.most_placements;
  plan.placement_spread = 0;
  const auto decision = look(series, plan);
  ASSERT_TRUE(decision) << decision.error().text();
  expect_close(decision->gain.low, g.at("low"), g.at("low"), 1e-9);
  expect_close(decision->gain.high, g.at("high"), g.at("high"), 1e-9);
}

} // namespace
} // namespace ako::stats
