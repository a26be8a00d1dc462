// Lanes: reasons follow from the contract, the machine and the record; a change of lane keeps
// everything else.
#include "loop/lane.hpp"
#include "model/contract_toml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using model::Lane;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* k_product = R"(format = 1 # a comment that stays

[kernel]
# why this entry
entry = { file = "solution/mm.cpp", symbol = "mm" }
flags = [
  "-O3",
  "-march=native",
]
workload = "throughput"

[axes]
M = { var = true }
N = { var = true }
K = { var = true }

[[tensor]]
name = "a"
role = "in"
dtype = "bfloat16"
shape = ["M", "K"]

[[tensor]]
name = "b"
role = "in"
dtype = "bfloat16"
shape = ["K", "N"]

[[tensor]]
name = "c"
role = "out"
dtype = "float32"
shape = ["M", "N"]

[[shape]]
M = 16
N = 16
K = 16

[reference]
entry = { file = "input/ref.cpp", symbol = "mm" }

[[baseline]]
name = "first"
entry = { file = "input/mm.cpp", symbol = "mm" }

[[baseline]]
name = "other"
lane = "cpu"
flags = ["-O1"]
entry = { file = "input/mm.cpp", symbol = "mm" }
)";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

const LaneSuggestion& of(const std::vector<LaneSuggestion>& all, Lane lane) {
  for (const auto& each : all)
    if (each.lane == lane) return each;
  return all.front();
}

TEST(Lane, ReasonsFollowFromTheWorkTheCallersAndTheDevice) {
  const auto contract = model::parse_contract(k_product, "task.toml").value();
  LaneFacts facts;
  facts.contract = &contract;
  facts.built = facts.usable = {Lane::cpu, Lane::cuda, Lane::cutlass};
  facts.architecture = "sm_90";
  facts.native_callers = true;
  const auto product = suggest_lanes(facts);
  EXPECT_EQ(product.size(), 5u);
  EXPECT_EQ(product.front().lane, Lane::cutlass);
  EXPECT_THAT(of(product, Lane::cutlass).reasons_for, Contains(HasSubstr("collectives")));
  EXPECT_THAT(of(product, Lane::triton).reasons_against, Contains(HasSubstr("no such lane")));
  EXPECT_THAT(of(product, Lane::cpu).reasons_against, Contains(HasSubstr("there is a device")));

  const auto rows =
      model::parse_contract(replaced(k_product, "shape = [\"K\", \"N\"]", "shape = [\"N\"]"),
                            "task.toml")
          .value();
  facts.contract = &rows;
  EXPECT_THAT(of(suggest_lanes(facts), Lane::cutlass).reasons_against,
              Contains(HasSubstr("no product")));

  facts.python_callers = true;
  facts.native_callers = false;
  EXPECT_THAT(of(suggest_lanes(facts), Lane::triton).reasons_for, Contains(HasSubstr("Python")));
}

TEST(Lane, WhatIsNotUsableHereComesLastAndAStallSpeaksAgainstTheLane) {
  const auto contract = model::parse_contract(k_product, "task.toml").value();
  LaneFacts facts;
  facts.contract = &contract;
  facts.built = {Lane::cpu, Lane::cuda};
  facts.usable = {Lane::cpu};
  EXPECT_EQ(suggest_lanes(facts).front().lane, Lane::cpu);
  facts.not_better_in_a_row = 3;
  facts.rejected_in_target = true;
  const auto cpu = of(suggest_lanes(facts), Lane::cpu);
  EXPECT_THAT(cpu.reasons_against, Contains(HasSubstr("3 in a row")));
  EXPECT_THAT(cpu.reasons_against, Contains(HasSubstr("did not carry over")));
}

TEST(Lane, ASwitchChangesTheKernelAndSpellsOutWhatRestedOnIt) {
  const auto old = model::parse_contract(k_product, "task.toml").value();
  const LaneSwitch change{Lane::cuda, {"solution/mm.cu", "mm_cuda"}, {"-O3"}, "why"};
  const auto text = switched_contract(k_product, old, change);
  ASSERT_TRUE(text) << text.error().text();
  const auto now = model::parse_contract(*text, "task.toml").value();
  EXPECT_EQ(now.kernel.lane, Lane::cuda);
  EXPECT_EQ(now.kernel.entry.file, "solution/mm.cu");
  EXPECT_EQ(now.kernel.flags, std::vector<std::string>{"-O3"});
  EXPECT_EQ(now.reference.lane, Lane::cpu);
  EXPECT_EQ(now.baselines[0].lane, Lane::cpu);
  // The flags that it took from the kernel are the ones it was measured with.
  EXPECT_EQ(now.baselines[0].flags, (std::vector<std::string>{"-O3", "-march=native"}));
  EXPECT_EQ(now.baselines[1].flags, std::vector<std::string>{"-O1"});
  EXPECT_EQ(now.tensors, old.tensors);
  EXPECT_EQ(now.shapes, old.shapes);
  EXPECT_THAT(*text, HasSubstr("# a comment that stays"));
  EXPECT_THAT(*text, HasSubstr("workload = \"throughput\""));
}

TEST(Lane, ASwitchThatTheContractWouldNotHoldChangesNothing) {
  const auto old = model::parse_contract(k_product, "task.toml").value();
  const auto text =
      switched_contract(k_product, old, {Lane::triton, {"solution/mm.cu", "mm"}, {}, "why"});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("would not hold in the new lane"));
}

} // namespace
} // namespace ako::loop
