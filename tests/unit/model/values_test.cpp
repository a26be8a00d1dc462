// dtypes, outcomes, verdicts and artifacts: spellings and JSON there and back.
#include "model/artifact.hpp"
#include "model/outcome.hpp"
#include "model/samples.hpp"
#include "model/verdict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ako::model {
namespace {

TEST(Dtypes, SpellingsGoThereAndBack) {
  EXPECT_EQ(all_dtypes().size(), 18u);
  for (const Dtype each : all_dtypes()) EXPECT_EQ(dtype_from(to_string(each)), each);
  EXPECT_EQ(dtype_from("bf16"), std::nullopt);
  EXPECT_EQ(dtype_from(""), std::nullopt);
}

TEST(Dtypes, FourBitElementsShareBytes) {
  EXPECT_EQ(bytes_of(Dtype::int4, 0), 0);
  EXPECT_EQ(bytes_of(Dtype::int4, 1), 1);
  EXPECT_EQ(bytes_of(Dtype::float4_e2m1fn, 2), 1);
  EXPECT_EQ(bytes_of(Dtype::float4_e2m1fn, 7), 4);
  EXPECT_EQ(bytes_of(Dtype::bfloat16, 3), 6);
  EXPECT_EQ(bytes_of(Dtype::float64, 5), 40);
  EXPECT_EQ(bytes_of(Dtype::boolean, 5), 5);
}

TEST(Dtypes, IntegerRanges) {
  EXPECT_EQ(integer_range(Dtype::int4).low, -8);
  EXPECT_EQ(integer_range(Dtype::int4).high, 7);
  EXPECT_EQ(integer_range(Dtype::uint8).high, 255);
  EXPECT_EQ(integer_range(Dtype::int32).low, -2147483648.0);
  EXPECT_EQ(integer_range(Dtype::boolean).high, 1);
}

TEST(Outcomes, ExitCodesAndFaults) {
  EXPECT_EQ(exit_code(OutcomeKind::improved), 0);
  EXPECT_EQ(exit_code(OutcomeKind::undecided), 10);
  EXPECT_EQ(exit_code(OutcomeKind::incorrect), 11);
  EXPECT_EQ(exit_code(OutcomeKind::suspect), 12);
  EXPECT_EQ(exit_code(OutcomeKind::timeout), 13);
  EXPECT_EQ(exit_code(OutcomeKind::invalid_measurement), 14);
  EXPECT_EQ(exit_code(OutcomeKind::interrupted), 130);
  EXPECT_EQ(default_fault(OutcomeKind::crashed), Fault::candidate);
  EXPECT_EQ(default_fault(OutcomeKind::task_error), Fault::task);
  EXPECT_EQ(outcome_from("build_failed"), OutcomeKind::build_failed);
  EXPECT_EQ(outcome_from("won"), std::nullopt);
  EXPECT_EQ(decision_from("flag"), Decision::flag);
}

Verdict a_verdict() {
  Verdict out;
  out.outcome = {OutcomeKind::suspect,
                 Fault::candidate,
                 "it wrote behind its output",
                 {{"red_zone", "one sentence", base::Json{{"byte", 3}}, false}}};
  out.gain = 0.25;
  out.interval = {0.2, std::numeric_limits<double>::quiet_NaN()};
  out.placements = 7;
  out.shapes.push_back({"M=1", 2, 10, 8, 0.2, {0.1, 0.3}, 1, false});
  out.against = "incumbent abc";
  out.more_needed = "5 placements";
  return out;
}

TEST(Verdicts, JsonGoesThereAndBack) {
  const base::Json json = to_json(a_verdict());
  EXPECT_TRUE(json["interval"]["high"].is_null()) << "never NaN in JSON";
  const auto parsed = base::parse_json(base::dump_json(json), "verdict");
  ASSERT_TRUE(parsed);
  const auto back = verdict_from_json(*parsed);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(to_json(*back), json);
  EXPECT_TRUE(std::isinf(back->interval.high));
  EXPECT_FALSE(back->outcome.evidence.at(0).decisive);
}

TEST(Verdicts, MissingAndWrongMembersAreNamed) {
  base::Json json = to_json(a_verdict());
  json["outcome"]["kind"] = "won";
  EXPECT_EQ(verdict_from_json(json).error().found, "won");
  json = to_json(a_verdict());
  json["placements"] = -1;
  EXPECT_EQ(verdict_from_json(json).error().where, "placements");
  json = to_json(a_verdict());
  json.erase("gain");
  EXPECT_FALSE(verdict_from_json(json));
}

TEST(Artifacts, JsonGoesThereAndBack) {
  Artifact artifact;
  artifact.snapshot = "aa";
  artifact.library_path = "/x/y.so";
  artifact.messages.push_back({"k.cpp", 3, 4, "error", "no", "int x"});
  artifact.build_seconds = 1.5;
  artifact.from_cache = true;
  const auto back = artifact_from_json(to_json(artifact));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(to_json(*back), to_json(artifact));

  Snapshot snapshot{"bb", "tree", {{"a.cpp", "cc", 12}}};
  const auto snapshot_back = snapshot_from_json(to_json(snapshot));
  ASSERT_TRUE(snapshot_back) << snapshot_back.error().text();
  EXPECT_EQ(to_json(*snapshot_back), to_json(snapshot));

  LaunchSpec spec;
  spec.lane = Lane::cute_dsl;
  spec.environment["OMP_NUM_THREADS"] = "2";
  const auto spec_back = launch_spec_from_json(to_json(spec));
  ASSERT_TRUE(spec_back) << spec_back.error().text();
  EXPECT_EQ(spec_back->lane, Lane::cute_dsl);
  EXPECT_EQ(spec_back->environment, spec.environment);
  base::Json wrong = to_json(spec);
  wrong["lane"] = "rocm";
  EXPECT_EQ(launch_spec_from_json(wrong).error().found, "rocm");
}

TEST(SampleRows, NotTakenIsNull) {
  Samples samples;
  Sample row;
  row.side = Side::incumbent;
  row.device_ns = 5;
  row.call_ns = std::numeric_limits<double>::quiet_NaN();
  samples.rows.push_back(row);
  const base::Json json = to_json(samples);
  ASSERT_EQ(json["columns"].size(), json["rows"][0].size());
  EXPECT_EQ(json["rows"][0][3], "incumbent");
  EXPECT_TRUE(json["rows"][0][6].is_null());
}

} // namespace
} // namespace ako::model
