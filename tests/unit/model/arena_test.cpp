// Plans of arenas: nothing overlaps, alignments hold, red zones are free, plans survive JSON.
#include "error_cases.hpp"
#include "model/arena.hpp"
#include "model/contract_toml.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace ako::model {
namespace {

constexpr std::uint64_t k_address = 0x700000000000;

struct Task {
  Contract contract;
  ResolvedShape shape;
};

Task good() {
  const auto contract = parse_contract(cases::k_good, "task.toml");
  EXPECT_TRUE(contract) << contract.error().text();
  return {*contract, *resolve(*contract, contract->shapes[0])};
}

/// Whether a plan keeps all its promises; the reason where it does not.
std::string broken(const ArenaPlan& plan, const ResolvedShape& shape) {
  std::int64_t end = 0;
  for (const BufferPlace& each : plan.places) {
    if (each.offset - end < plan.red_zone_bytes) return "a red zone before is too small";
    if (each.offset % shape.tensors[static_cast<std::size_t>(each.tensor)].align != 0)
      return "an alignment is not met";
    end = each.offset + each.bytes + plan.red_zone_bytes;
  }
  if (end > plan.bytes) return "the arena ends too early";
  return plan.bytes % 4096 == 0 ? "" : "not whole pages";
}

TEST(Arena, StaticOnceFreshPerSet) {
  Task task = good();
  task.contract.tensors[0].lifetime = Lifetime::static_;
  const auto plan = plan_arena(task.contract, task.shape, 3, k_address, 1);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->places.size(), 1u + 3 * 2);
  EXPECT_EQ(&plan->place(0, 2), &plan->place(0, 0));
  EXPECT_NE(&plan->place(1, 2), &plan->place(1, 0));
  EXPECT_EQ(broken(*plan, task.shape), "");
}

TEST(Arena, TheCheckOfTheseTestsCatchesBrokenPlans) {
  const Task task = good();
  ArenaPlan plan = *plan_arena(task.contract, task.shape, 2, k_address, 1);
  plan.places[1].offset = plan.places[0].offset + plan.places[0].bytes;
  EXPECT_NE(broken(plan, task.shape), "");
}

TEST(Arena, ColoursMoveBuffersAndEqualColoursDoNot) {
  const Task task = good();
  std::set<std::int64_t> offsets;
  for (std::uint64_t colour = 0; colour < 16; ++colour)
    offsets.insert(plan_arena(task.contract, task.shape, 1, k_address, colour)->place(0, 0).offset);
  EXPECT_GT(offsets.size(), 8u);
  EXPECT_EQ(to_json(*plan_arena(task.contract, task.shape, 2, k_address, 9)),
            to_json(*plan_arena(task.contract, task.shape, 2, k_address, 9)));
}

TEST(Arena, ADeclaredAlignmentIsNotExceededAlways) {
  Task task = good();
  task.shape.tensors[0].align = 4;
  bool odd = false;
  for (std::uint64_t colour = 0; colour < 16; ++colour)
    odd = odd ||
          plan_arena(task.contract, task.shape, 1, k_address, colour)->place(0, 0).offset % 8 != 0;
  EXPECT_TRUE(odd) << "a kernel that assumes more than the declared 4 bytes must meet less";
}

TEST(Arena, TheReferenceHasItsOwnOutputsInItsPrecision) {
  Task task = good();
  task.contract.reference.precision = ErrorPrecision::float64;
  const auto plan = plan_reference_arena(task.contract, task.shape, 2, k_address);
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->places.size(), 2u) << "y in each set, and no input";
  EXPECT_EQ(plan->place(2, 1).bytes, 8 * 2 * 8);
  EXPECT_EQ(reference_dtype(task.contract, task.shape, 2), Dtype::float64);
  task.contract.tensors[2].compare = Compare::exact;
  EXPECT_EQ(reference_dtype(task.contract, task.shape, 2), Dtype::float32);
  task.contract.tensors[2].compare = Compare::close;
  task.contract.tensors[2].role = task.shape.tensors[2].role = TensorRole::inout;
  EXPECT_EQ(reference_dtype(task.contract, task.shape, 2), Dtype::float32);
}

TEST(Arena, WhatCannotBePlannedIsSaid) {
  Task task = good();
  EXPECT_FALSE(plan_arena(task.contract, task.shape, 0, k_address, 0));
  EXPECT_FALSE(plan_arena(task.contract, task.shape, 1, k_address + 1, 0));
  task.shape.tensors[0].align = 8192;
  EXPECT_EQ(plan_arena(task.contract, task.shape, 1, k_address, 0).error().message,
            "the alignment cannot be met");
  task.shape.tensors[0].align = 64;
  task.shape.tensors[0].bytes = INT64_MAX / 2;
  EXPECT_EQ(plan_arena(task.contract, task.shape, 3, k_address, 0).error().message,
            "the buffers are too large to be counted");
}

TEST(Arena, JsonGoesThereAndBackAndLiesAreRefused) {
  const Task task = good();
  const ArenaPlan plan = *plan_arena(task.contract, task.shape, 2, k_address, 3);
  base::Json json = to_json(plan);
  const auto back = arena_plan_from_json(json);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(to_json(*back), json);
  json["places"][0][2] = plan.bytes;
  EXPECT_FALSE(arena_plan_from_json(json)) << "a place behind the end";
  json["places"][0] = base::Json::array({0, 0, -1, 4});
  EXPECT_FALSE(arena_plan_from_json(json));
  json["places"][0] = "x";
  EXPECT_FALSE(arena_plan_from_json(json));
}

RC_GTEST_PROP(ArenaProperty, NeverOverlapsAndAlwaysAligns, ()) {
  Contract contract;
  ResolvedShape shape;
  const int count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    Tensor tensor;
    ResolvedTensor resolved;
    tensor.role = resolved.role = *rc::gen::element(TensorRole::in, TensorRole::out,
                                                    TensorRole::inout, TensorRole::workspace);
    tensor.lifetime = *rc::gen::element(Lifetime::fresh, Lifetime::static_);
    resolved.align = std::int64_t{1} << *rc::gen::inRange(0, 13);
    resolved.span_elements = *rc::gen::inRange<std::int64_t>(1, 100000);
    resolved.dtype = *rc::gen::elementOf(all_dtypes());
    resolved.bytes = bytes_of(resolved.dtype, resolved.span_elements);
    contract.tensors.push_back(tensor);
    shape.tensors.push_back(resolved);
  }
  contract.reference.precision =
      *rc::gen::element(ErrorPrecision::native, ErrorPrecision::float32, ErrorPrecision::float64);
  const int sets = *rc::gen::inRange(1, 9);
  const auto plan =
      plan_arena(contract, shape, sets, k_address, *rc::gen::arbitrary<std::uint64_t>());
  RC_ASSERT(plan.has_value());
  RC_ASSERT(broken(*plan, shape) == "");
  for (int set = 0; set < sets; ++set)
    for (int i = 0; i < count; ++i) RC_ASSERT(plan->place(i, set).tensor == i);
  const auto reference = plan_reference_arena(contract, shape, sets, k_address);
  RC_ASSERT(reference.has_value());
  RC_ASSERT(broken(*reference, shape) == "");
}

} // namespace
} // namespace ako::model
