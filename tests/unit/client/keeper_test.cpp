#include "fakes/kernel_bench.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace ako {
namespace {

using fakes::axpb_source;
using fakes::Bench;

/// A kernel that does `what` to its tensors and nothing else of note.
std::string writes(const std::string& what) {
  return R"(#include <cstdint>
extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  float* x = static_cast<float*>(tensors[0]);
  float* y = static_cast<float*>(tensors[1]);
  float* t = static_cast<float*>(tensors[2]);
  const int64_t n = integers[0];
  for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;
  )" + what +
         R"(
  (void)t;
  return 0;
})";
}

client::CheckReport check_after(Bench& bench, const std::string& what) {
  auto worker = bench.worker(writes(what));
  EXPECT_TRUE(worker && worker->call(0));
  auto report = bench.keeper.check(*bench.arena, {0});
  EXPECT_TRUE(report);
  return report ? *report : client::CheckReport{};
}

TEST(Keeper, FindsWritesPastTheEnd) {
  auto bench = Bench::make(100, 2);
  const auto report = check_after(bench, "y[n] = 0;");
  ASSERT_EQ(report.buffers.size(), 1u);
  EXPECT_EQ(report.buffers[0].tensor, 1);
  EXPECT_EQ(report.buffers[0].set, 0);
  EXPECT_GT(report.buffers[0].red_after, 0);
  EXPECT_LE(report.buffers[0].red_after, 4);
  EXPECT_LE(report.buffers[0].red_distance, 3);
  EXPECT_GE(report.buffers[0].red_distance, 0);
}

TEST(Keeper, FindsWritesBeforeTheBeginning) {
  auto bench = Bench::make(100, 2);
  const auto report = check_after(bench, "y[-1] = 0;");
  ASSERT_EQ(report.buffers.size(), 1u);
  EXPECT_GT(report.buffers[0].red_before, 0);
  EXPECT_LT(report.buffers[0].red_distance, 0);
  EXPECT_GE(report.buffers[0].red_distance, -4);
}

TEST(Keeper, LetsTheLastElementBeWritten) {
  auto bench = Bench::make(100, 2);
  EXPECT_TRUE(check_after(bench, "y[n - 1] = 2 * x[n - 1] + 1;").clean());
}

TEST(Keeper, FindsChangedInputs) {
  auto bench = Bench::make(100, 2);
  const auto report = check_after(bench, "x[41] += 1;");
  ASSERT_EQ(report.buffers.size(), 1u);
  EXPECT_EQ(report.buffers[0].tensor, 0);
  EXPECT_TRUE(report.buffers[0].input_changed);
}

TEST(Keeper, FindsChangedStaticTensorsFromAnySet) {
  auto bench = Bench::make(100, 2);
  const auto report = check_after(bench, "t[3] += 1;");
  ASSERT_EQ(report.buffers.size(), 1u);
  EXPECT_EQ(report.buffers[0].tensor, 2);
}

TEST(Keeper, FindsUnwrittenElements) {
  auto bench = Bench::make(1000, 1);
  auto worker = bench.worker(axpb_source("if (n > 990) { for (int64_t i = 0; i < 990; ++i) y[i] = "
                                         "2 * x[i] + 1; return 0; }"));
  ASSERT_TRUE(worker && worker->call(0));
  const auto report = bench.keeper.check(*bench.arena);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->buffers.size(), 1u);
  EXPECT_EQ(report->buffers[0].unwritten, 10);
  EXPECT_EQ(report->buffers[0].first, 990);
  EXPECT_EQ(report->buffers[0].last, 999);
}

TEST(Keeper, PoisonIsLaidAnewForEveryBlock) {
  auto bench = Bench::make(64, 1);
  auto worker = bench.worker(axpb_source());
  ASSERT_TRUE(worker && worker->call(0));
  EXPECT_TRUE(bench.keeper.check(*bench.arena)->clean());
  ASSERT_TRUE(bench.keeper.poison(*bench.arena, inputs::Sentinel::second));
  EXPECT_EQ(bench.keeper.check(*bench.arena)->buffers.at(0).unwritten, 64);
}

TEST(Keeper, EqualFillsAreEqualAndEpochsDiffer) {
  auto bench = Bench::make(64, 2);
  const auto first = bench.keeper.checksum_inputs(*bench.arena);
  ASSERT_TRUE(bench.keeper.fill(*bench.arena, bench.fill_job(1)));
  const auto second = bench.keeper.checksum_inputs(*bench.arena);
  ASSERT_TRUE(bench.keeper.fill(*bench.arena, bench.fill_job(0)));
  const auto again = bench.keeper.checksum_inputs(*bench.arena);
  ASSERT_TRUE(first && second && again);
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *second);
  ASSERT_EQ(first->size(), bench.arena->plan().places.size());
}

TEST(Keeper, LargeBuffersAreFilledInPartsAsOneThreadWouldFillThem) {
  auto bench = Bench::make(3 * (1 << 19) + 1000, 2);
  const auto job = bench.fill_job(1);
  ASSERT_TRUE(bench.keeper.fill(*bench.arena, job));
  const auto& tensor = bench.shape.tensors.at(0);
  for (const int set : {0, 1}) {
    std::vector<std::byte> expected(static_cast<std::size_t>(tensor.bytes));
    const inputs::StreamId stream{job.seed, 0, static_cast<std::uint32_t>(set), 1};
    ASSERT_TRUE(
        inputs::fill(expected, tensor, bench.contract.tensors.at(0).fill, job.recipe, stream));
    const auto got = bench.arena->bytes(0, set);
    ASSERT_EQ(got.size(), expected.size());
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size()), 0) << set;
  }
}

TEST(Keeper, LargeBuffersAreLookedAtAsSmallOnesAre) {
  auto bench = Bench::make(3 << 20, 2);
  auto worker = bench.worker(writes("if (x[0] == x[0]) { x[n - 1] += 1; y[n] = 0; }"));
  ASSERT_TRUE(worker && worker->call(1));
  const auto report = bench.keeper.check(*bench.arena);
  ASSERT_TRUE(report);
  std::int64_t changed = 0, unwritten = 0, overrun = 0;
  for (const auto& each : report->buffers) {
    changed += each.tensor == 0 && each.set == 1 && each.input_changed;
    unwritten += each.tensor == 1 && each.set == 0 && each.unwritten == 3 << 20;
    overrun += each.tensor == 1 && each.set == 1 && each.red_after > 0;
  }
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(unwritten, 1);
  EXPECT_EQ(overrun, 1);
  EXPECT_EQ(report->buffers.size(), 3u);
}

TEST(Keeper, AFillOfFreshTensorsLeavesStaticOnesAsTheyAre) {
  auto bench = Bench::make(4096, 2);
  const auto before = *bench.keeper.checksum_inputs(*bench.arena);
  auto job = bench.fill_job(1);
  job.tensors = client::FillJob::Tensors::fresh;
  ASSERT_TRUE(bench.keeper.fill(*bench.arena, job));
  const auto after = *bench.keeper.checksum_inputs(*bench.arena);
  const auto& places = bench.arena->plan().places;
  for (std::size_t i = 0; i < places.size(); ++i) {
    // x is fresh and changes, t is static and stays.
    if (places[i].tensor == 1) continue;
    EXPECT_EQ(before[i] == after[i], places[i].tensor == 2) << i;
  }
  const auto report = bench.keeper.check(*bench.arena);
  ASSERT_TRUE(report);
  for (const auto& buffer : report->buffers) EXPECT_FALSE(buffer.input_changed) << buffer.tensor;
}

TEST(Keeper, CopiesBetweenArenas) {
  auto bench = Bench::make(128, 1);
  auto plan = model::plan_arena(bench.contract, bench.shape, 1, 0, 3);
  ASSERT_TRUE(plan);
  auto other = bench.keeper.create_arena(bench.contract, bench.shape, *plan, "other");
  ASSERT_TRUE(other);
  ASSERT_TRUE(bench.keeper.copy(*bench.arena, *other, {{0, 0, 0, 0}}));
  const auto a = bench.arena->bytes(0, 0), b = other->bytes(0, 0);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size()), 0);
  EXPECT_FALSE(bench.keeper.copy(*bench.arena, *other, {{0, 9, 0, 0}}));
  EXPECT_TRUE(bench.keeper.destroy_arena(std::move(*other)));
}

TEST(Keeper, RefusesMoreMemoryThanThereIs) {
  auto bench = Bench::make(64, 1);
  const auto shape = fakes::axpb_shape(bench.contract, std::int64_t{1} << 38);
  auto plan = model::plan_arena(bench.contract, shape, 1, 0x7ea000000000, 0);
  ASSERT_TRUE(plan);
  const auto arena = bench.keeper.create_arena(bench.contract, shape, *plan, "vast");
  ASSERT_FALSE(arena);
  EXPECT_EQ(arena.error().kind, base::ErrorKind::environment);
  EXPECT_TRUE(bench.keeper.checksum_inputs(*bench.arena)); // and goes on
}

TEST(Keeper, WatchesTheMachine) {
  auto bench = Bench::make(64, 1);
  const auto before = bench.keeper.machine_state({0});
  ASSERT_TRUE(before);
  EXPECT_GT(before->adds_per_ns, 0.2);
  EXPECT_LT(before->adds_per_ns, 12);
  EXPECT_EQ(before->cores, std::vector<int>{0});
  const auto after = bench.keeper.machine_state({0});
  ASSERT_TRUE(after);
  EXPECT_GT(after->at_ns, before->at_ns);
  EXPECT_GE(after->busy_ns[0], before->busy_ns[0]);
}

client::MachineState at(std::int64_t ns, std::int64_t busy, std::int64_t steal = 0) {
  client::MachineState state;
  state.at_ns = ns;
  state.busy_ns = {busy};
  state.steal_ns = {steal};
  state.busy_resolution_ns = 10;
  return state;
}

TEST(ForeignLoad, IsWhatOthersUsed) {
  EXPECT_NEAR(client::foreign_load(at(0, 0), at(1000, 910), 400), 0.5, 1e-9);
  EXPECT_NEAR(client::foreign_load(at(0, 0), at(1000, 0, 510), 0), 0.5, 1e-9);
  EXPECT_EQ(client::foreign_load(at(0, 0), at(1000, 500), 500), 0);
  EXPECT_EQ(client::foreign_load(at(0, 0), at(1000, 10), 0), 0); // one step of the counter
  EXPECT_EQ(client::foreign_load(at(5, 0), at(5, 10), 0), 0);
}

TEST(Arenas, AddressesDoNotOverlapAndAreWholePages) {
  const auto one = client::next_arena_address(10), two = client::next_arena_address(5 << 20);
  const auto three = client::next_arena_address(1);
  EXPECT_EQ(one % 4096, 0u);
  EXPECT_GE(two, one + 10);
  EXPECT_GE(three, two + (5 << 20));
}

} // namespace
} // namespace ako
