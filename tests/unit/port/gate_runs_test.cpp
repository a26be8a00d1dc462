// Gates of model and service level: both trees in turn, the medians held against what is asked for.
#include "../workspace/scratch_repo.hpp"
#include "executors/runner.hpp"
#include "loop/port/gate_runs.hpp"

#include <gtest/gtest.h>

namespace ako::loop {
namespace {

class Gates : public testing::Test {
protected:
  Gates() : m_dir(base::TemporaryDir::make("ako-gates-").value()) {
    for (const char* side : {"old", "new"}) test::put(m_dir.path() / side / "bench.sh", "");
    trees = {m_dir.path() / "old", m_dir.path() / "new", "ENGINE_HALVE", 20, 3};
  }
  void says(const std::string& old_script, const std::string& new_script) {
    test::put(m_dir.path() / "old/bench.sh", old_script);
    test::put(m_dir.path() / "new/bench.sh", new_script);
  }
  ledger::Validation run(const std::string& read, const std::string& must) {
    auto out = run_gate({"service", "sh bench.sh", read, must}, trees, executors::local_runner());
    EXPECT_TRUE(out) << out.error().text();
    return out ? *out : ledger::Validation{};
  }
  base::TemporaryDir m_dir;
  GateTrees trees;
};

TEST_F(Gates, AWonGateAndALostOne) {
  says("echo 'Throughput: 4.0 requests/s, 400.0 total tokens/s, 100.0 output tokens/s'",
       "echo 'Throughput: 4.4 requests/s, 440.0 total tokens/s, 110.0 output tokens/s'");
  EXPECT_TRUE(run("vllm:output_tokens_per_second", ">= 1.05*base").passed);
  const auto lost = run("vllm:output_tokens_per_second", ">= 1.2*base");
  EXPECT_FALSE(lost.passed);
  EXPECT_NE(lost.detail.find("not reached"), std::string::npos) << lost.detail;
}

TEST_F(Gates, SidesTakeTurnsAndKnowWhoTheyAre) {
  const std::string script = "echo $AKO_PORT_SIDE $ENGINE_HALVE >> ../log; echo '{\"t\": 1}'";
  says(script, script);
  EXPECT_TRUE(run("/t", "== base").passed);
  EXPECT_EQ(test::get(m_dir.path() / "log"),
            "old old\nnew new\nnew new\nold old\nold old\nnew new\n");
}

TEST_F(Gates, TheMedianCountsNotTheLuckyRun) {
  says("echo 100", "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; case $n in 0) echo 500;; "
                   "*) echo 90;; esac");
  EXPECT_FALSE(run("([0-9]+)", ">= base").passed);
}

TEST_F(Gates, RunsAreTheReplicatesOfTheRatio) {
  const auto counting = [](const char* values) {
    return std::string("n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; set -- ") + values +
           "; shift $n; echo $1";
  };
  says(counting("100 110 90"), counting("200 180 220"));
  const auto wide = run("([0-9]+)", ">= base");
  const auto ratio = [](const ledger::Validation& of, const char* key) {
    return of.data.at("ratio").at(key).get<double>();
  };
  EXPECT_NEAR(ratio(wide, "value"), 2, 0.02);
  EXPECT_LT(ratio(wide, "low"), 1.75);
  EXPECT_GT(ratio(wide, "high"), 2.25);
  EXPECT_NE(wide.detail.find("times old, 95 % over 3 runs of each"), std::string::npos)
      << wide.detail;
  says("echo 100", "echo 200");
  EXPECT_NEAR(ratio(run("([0-9]+)", ">= base"), "low"), 2, 1e-9);
  says("echo 0", "echo 1"); // no ratio to nothing
  EXPECT_FALSE(run("([0-9]+)", ">= base").data.contains("ratio"));
}

TEST_F(Gates, WhatFailsOrSaysNothingIsNotPassed) {
  says("echo 1", "echo broken >&2; exit 3");
  auto out = run("([0-9]+)", ">= base");
  EXPECT_FALSE(out.passed);
  EXPECT_NE(out.detail.find("broken"), std::string::npos) << out.detail;
  says("echo 1", "echo nothing");
  EXPECT_FALSE(run("([0-9]+)", ">= base").passed);
  trees.deadline_seconds = 0.3;
  says("echo 1", "sleep 60");
  EXPECT_NE(run("([0-9]+)", ">= base").detail.find("deadline"), std::string::npos);
}

TEST_F(Gates, AFileOfTheTreeMayHoldTheNumber) {
  says("echo '{\"avg_latency\": 2.0}' > r.json", "echo '{\"avg_latency\": 1.5}' > r.json");
  EXPECT_TRUE(run("file:r.json#vllm:avg_latency", "<= 0.8*base").passed);
  EXPECT_FALSE(run("file:../old/r.json#vllm:avg_latency", "<= 0.8*base").passed);
}

TEST_F(Gates, AFileOfAnEarlierRunIsNoResult) {
  says("echo '{\"avg_latency\": 2.0}' > r.json",
       "[ -e r.json ] || echo '{\"avg_latency\": 1.0}' > r.json");
  const auto stale = run("file:r.json#/avg_latency", "<= base");
  EXPECT_FALSE(stale.passed);
  EXPECT_NE(stale.detail.find("an earlier run"), std::string::npos) << stale.detail;
}

TEST(GateTerms, ABarThatWasLoweredIsSeen) {
  const model::GateSpec gate{"service", "sh bench", "/rate", ">= 1.3*base"};
  ledger::Validation then{"gate:service",
                          false,
                          {},
                          {{"command", "sh bench"}, {"read", "/rate"}, {"must", ">= 1.3*base"}}};
  EXPECT_TRUE(changed_terms({gate}, {then}).empty());
  EXPECT_TRUE(changed_terms({gate}, {}).empty());
  auto lower = gate;
  lower.must = ">= 0.5*base";
  const auto seen = changed_terms({lower}, {then});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0], "gate service ran before with must = \">= 1.3*base\", now \">= 0.5*base\"; it "
                     "was not reached then");
  const auto gone = changed_terms({}, {then});
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_NE(gone[0].find("gone from task.toml"), std::string::npos);
  // The last run counts: what was seen once is not said for ever.
  auto again = then;
  again.data["must"] = ">= 0.5*base";
  EXPECT_TRUE(changed_terms({lower}, {then, again}).empty());
}

} // namespace
} // namespace ako::loop
