// Verdicts follow from the samples on record, and one that does not is seen.
#include "evaluation/measuring.hpp"
#include "ledger/writer.hpp"
#include "loop/recompute.hpp"
#include "model/contract_toml.hpp"
#include "model/resolved.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

constexpr const char* k_recomputed_contract = R"(format = 1
[kernel]
entry = { file = "solution/k.cpp", symbol = "scale" }
[axes]
N = { var = true }
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["N"]
[[shape]]
N = 4
weight = 3
[[shape]]
N = 8
[reference]
entry = { file = "input/ref.cpp", symbol = "scale" }
)";

class Recompute : public testing::Test {
protected:
  Recompute()
      : m_dir(base::TemporaryDir::make("ako-recompute-").value()),
        contract(model::parse_contract(k_recomputed_contract, "task.toml").value()) {}

  /// Samples of `placements` placements; the new side takes `ratio` of the old one's time.
  std::vector<model::Sample> samples(double ratio, int placements, std::uint32_t flags = 0) {
    std::vector<model::Sample> out;
    for (int placement = 0; placement < placements; ++placement)
      for (int shape = 0; shape < 2; ++shape)
        for (int pair = 0; pair < 4; ++pair)
          for (int order = 0; order < 2; ++order) {
            const bool old_side = (order == 0) == (pair % 2 == 0);
            model::Sample row;
            row.shape = shape;
            row.placement = placement;
            row.pair = pair;
            row.side = old_side ? model::Side::incumbent : model::Side::candidate;
            row.order = order;
            row.device_ns = 1000 * (shape + 1) * (old_side ? 1 : ratio) *
                            (1 + 0.001 * ((7 * pair + placement) % 5));
            row.call_ns = std::nan("");
            row.flags = flags;
            out.push_back(row);
          }
    return out;
  }

  /// What an evaluation would have concluded from them.
  model::Verdict verdict(const std::vector<model::Sample>& rows, model::OutcomeKind kind,
                         evaluation::Round round = evaluation::Round::first) {
    stats::Series series;
    const auto resolved = model::resolve_all(contract).value();
    for (const auto& shape : resolved) series.shapes.push_back({shape.tag, shape.weight});
    for (const auto& row : rows) {
      series.placements.resize(static_cast<std::size_t>(row.placement + 1));
      auto& pairs = series.placements.back().pairs;
      pairs.resize(2);
      auto& of_shape = pairs[static_cast<std::size_t>(row.shape)];
      of_shape.resize(static_cast<std::size_t>(row.pair + 1));
      const bool old_side = row.side == model::Side::incumbent;
      (old_side ? of_shape.back().old_ns : of_shape.back().new_ns) = row.device_ns;
      if (old_side)
        of_shape.back().order = row.order == 0 ? stats::Order::old_first : stats::Order::new_first;
    }
    auto plan = evaluation::stats_plan(contract, round);
    plan.tick_ns = tick_ns;
    const auto decision = stats::look(series, plan).value();
    model::Verdict out;
    out.outcome.kind = kind;
    out.gain = decision.gain.value;
    out.interval = {decision.gain.low, decision.gain.high};
    out.placements = decision.placements;
    out.pairs = decision.pairs;
    for (const auto& shape : decision.shapes) {
      model::ShapeVerdict one;
      one.tag = shape.tag;
      one.weight = shape.weight;
      one.old_ns = shape.old_ns;
      one.new_ns = shape.new_ns;
      one.gain = shape.gain.value;
      one.interval = {shape.gain.low, shape.gain.high};
      one.within_regression = shape.regression != stats::Regression::beyond;
      out.shapes.push_back(one);
    }
    return out;
  }

  /// One iteration on record with these samples, and what is made of it.
  Recomputed judged(const model::Verdict& recorded, std::vector<model::Sample> rows) {
    const auto path = m_dir.path() / ("l" + std::to_string(m_count++)) / "ledger.sqlite";
    auto writer = ledger::Writer::open(path, ledger::Open::create).value();
    EXPECT_TRUE(writer.append(ledger::ContractSeen{contract.hash, model::echo_toml(contract)}));
    ledger::Iteration it;
    it.number = 1;
    it.contract = contract.hash;
    it.verdict = recorded;
    EXPECT_TRUE(writer.append(it, {}, std::move(rows)));
    auto reader = ledger::Reader::open(path).value();
    const auto all = recompute_all(reader);
    EXPECT_TRUE(all) << all.error().text();
    return all && all->size() == 1 ? all->front() : Recomputed{};
  }

  base::TemporaryDir m_dir;
  int m_count = 0;
  double tick_ns = 0; ///< of the device's timestamps, a call
  model::Contract contract;
};

using evaluation::Round;
using K = model::OutcomeKind;
using RecomputedResult = Recomputed::Result;

TEST_F(Recompute, AnHonestVerdictIsTheSame) {
  EXPECT_EQ(judged(verdict(samples(0.5, 3), K::improved), samples(0.5, 3)).result,
            RecomputedResult::same);
  EXPECT_EQ(judged(verdict(samples(2, 3), K::regressed), samples(2, 3)).result,
            RecomputedResult::same);
}

TEST_F(Recompute, OnADeviceTheTimestampsTickCounts) {
  std::string text = k_recomputed_contract;
  const auto put = [&](const std::string& old, const std::string& now) {
    text.replace(text.find(old), old.size(), now);
  };
  put("[kernel]", "[kernel]\nlane = \"cuda\"");
  put("solution/k.cpp", "solution/k.cu");
  put("input/ref.cpp", "input/ref.cu");
  contract = model::parse_contract(text, "task.toml").value();
  auto rows = samples(0.5, 3);
  for (auto& row : rows) row.calls = row.shape == 0 ? 32 : 4;
  const auto before_ticks = verdict(rows, K::improved);
  tick_ns = 32.0 / 4;
  const auto as_measured = verdict(rows, K::improved);
  EXPECT_NE(before_ticks.interval.low, as_measured.interval.low);
  EXPECT_EQ(judged(as_measured, rows).result, RecomputedResult::same);
  EXPECT_EQ(judged(before_ticks, rows).result, RecomputedResult::same) << "an earlier record";
  auto interval = as_measured;
  interval.interval.low += 1e-6;
  EXPECT_EQ(judged(interval, rows).result, RecomputedResult::different);
}

TEST_F(Recompute, ABetteredVerdictIsSeen) {
  const auto rows = samples(0.5, 3);
  auto gain = verdict(rows, K::improved);
  gain.gain += 0.01;
  EXPECT_EQ(judged(gain, rows).result, RecomputedResult::different);
  auto interval = verdict(rows, K::improved);
  interval.interval.low += 1e-6;
  EXPECT_EQ(judged(interval, rows).result, RecomputedResult::different);
  auto shape = verdict(rows, K::improved);
  shape.shapes[1].new_ns *= 0.99;
  EXPECT_EQ(judged(shape, rows).result, RecomputedResult::different);
  // The numbers are right and what is concluded from them is not.
  EXPECT_EQ(judged(verdict(samples(2, 3), K::improved), samples(2, 3)).result,
            RecomputedResult::different);
  EXPECT_EQ(judged(verdict(samples(0.999, 3), K::improved), samples(0.999, 3)).result,
            RecomputedResult::different);
}

TEST_F(Recompute, OfABlockThatWasRunAgainTheLastAttemptCounts) {
  const auto rows = samples(0.5, 3);
  auto disturbed = rows;
  model::Sample first = rows[0], second = rows[1];
  first.device_ns *= 9;
  first.flags = second.flags = model::sample_flag::disturbed;
  disturbed.insert(disturbed.begin(), {first, second});
  EXPECT_EQ(judged(verdict(rows, K::improved), disturbed).result, RecomputedResult::same);
}

TEST_F(Recompute, WhatOtherEvidenceEndedMayBeOfFewerPlacements) {
  EXPECT_EQ(judged(verdict(samples(0.5, 2), K::suspect), samples(0.5, 3)).result,
            RecomputedResult::same);
  EXPECT_EQ(judged(verdict(samples(0.5, 2), K::improved), samples(0.5, 3)).result,
            RecomputedResult::different);
}

TEST_F(Recompute, SecondOpinionsOfEarlierRecordsStandUnderTheirPlan) {
  // Six placements: up to four the known spread decides, under every plan alike.
  auto flagged = samples(0.5, 6, model::sample_flag::second_opinion);
  for (auto& row : flagged) // no two placements alike, so that an interval has a width
    if (row.side == model::Side::candidate) row.device_ns *= 1 + 0.01 * row.placement;
  const auto judged_again = [&](const model::Verdict& second) {
    const auto path = m_dir.path() / ("s" + std::to_string(m_count++)) / "ledger.sqlite";
    auto writer = ledger::Writer::open(path, ledger::Open::create).value();
    EXPECT_TRUE(writer.append(ledger::ContractSeen{contract.hash, model::echo_toml(contract)}));
    ledger::Iteration it;
    it.number = 1;
    it.contract = contract.hash;
    it.verdict = verdict(samples(0.5, 3), K::improved);
    auto rows = samples(0.5, 3);
    rows.insert(rows.end(), flagged.begin(), flagged.end());
    EXPECT_TRUE(writer.append(it, {}, std::move(rows)));
    ledger::SecondOpinion opinion;
    opinion.iteration = 1;
    opinion.verdict = second;
    EXPECT_TRUE(writer.append(opinion));
    auto reader = ledger::Reader::open(path).value();
    return recompute_all(reader).value().back().result;
  };
  const auto now = verdict(flagged, K::improved, Round::second_opinion);
  EXPECT_EQ(judged_again(now), RecomputedResult::same);
  auto contract_of_then = contract;
  contract.limits.placements /= 2; // whose looks the earlier plan had
  const auto then = verdict(flagged, K::improved, Round::second_opinion);
  contract = contract_of_then;
  ASSERT_NE(then.interval.low, now.interval.low);
  EXPECT_EQ(judged_again(then), RecomputedResult::same);
  auto neither = now;
  neither.interval.low += 1e-6;
  EXPECT_EQ(judged_again(neither), RecomputedResult::different);
}

TEST_F(Recompute, WithoutTimesThereIsNothingToWorkOut) {
  model::Verdict wrong;
  wrong.outcome.kind = K::incorrect;
  EXPECT_EQ(judged(wrong, {}).result, RecomputedResult::untimed);
  // Figures without samples behind them are no verdict.
  EXPECT_EQ(judged(verdict(samples(0.5, 3), K::improved), {}).result, RecomputedResult::different);
}

} // namespace
} // namespace ako::loop
