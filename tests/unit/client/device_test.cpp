// Keeper and workers with a device: real processes, the scripted driver behind them.
#include "fakes/kernel_bench.hpp"
#include "inputs/recipe.hpp"
#include "unit/device/scripted.hpp"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace ako {
namespace {

using fakes::Bench;
using fakes::ScriptedGpu;

#define ASSERT_OK(answer) ASSERT_TRUE(answer) << (answer).error().text

const model::DeviceId k_device{ScriptedGpu::k_uuid};

/// y = 2 x + 1 as a kernel of the scripted device; `work` is its loop, `launch` how it is started.
std::string
source(const std::string& work = "for (int64_t i = 0; i < w.n; ++i) w.y[i] = 2 * w.x[i] + 1;",
       const std::string& launch = "return go(stream, \"axpb\", body, &w, sizeof w);") {
  return R"(#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <unistd.h>
struct Work { const float* x; float* y; int64_t n; };
static void body(void* p) { Work& w = *static_cast<Work*>(p); )" +
         work + R"( }
static void* symbol(const char* name) {
  static void* driver =
      dlopen((std::string(getenv("AKO_GPU_PATH")) + "/libcuda.so.1").c_str(), RTLD_NOW);
  return dlsym(driver, name);
}
extern "C" int ako_call(void* const* t, const int64_t* n, const double*, void* stream) {
  using Go = int (*)(void*, const char*, void (*)(void*), const void*, unsigned long);
  static const auto go = reinterpret_cast<Go>(symbol("fake_gpu_launch"));
  Work w{static_cast<const float*>(t[0]), static_cast<float*>(t[1]), n[0]};
  )" + launch +
         "\n}\n";
}

/// Brings x and y of these sets into the host's view.
void fetch(Bench& bench, int set) {
  for (int tensor : {0, 1}) ASSERT_TRUE(bench.keeper.read(*bench.arena, tensor, set));
}

TEST(Device, FillsAreTheHostsAndCallsWriteThem) {
  const ScriptedGpu gpu;
  auto bench = Bench::make(1000, 3, 0, k_device);
  ASSERT_TRUE(bench.arena->on_device());
  fetch(bench, 1);
  const auto got = bench.arena->bytes(0, 1);
  std::vector<std::byte> wanted(got.size());
  ASSERT_TRUE(inputs::fill(wanted, bench.shape.tensors[0], bench.contract.tensors[0].fill,
                           inputs::Recipe::plain, {bench.fill_job().seed, 0, 1, 0}));
  EXPECT_EQ(std::memcmp(wanted.data(), got.data(), got.size()), 0);

  auto worker = bench.worker(source());
  ASSERT_OK(worker);
  const auto called = worker->call(1);
  ASSERT_OK(called);
  fetch(bench, 1);
  EXPECT_EQ(bench.wrong_elements(1), 0);
  const auto mine = bench.keeper.check(*bench.arena, {1});
  ASSERT_TRUE(mine);
  EXPECT_TRUE(mine->clean());
  const auto all = bench.keeper.check(*bench.arena);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->buffers.size(), 2u) << "the two sets that nobody called";
  EXPECT_EQ(all->buffers[0].unwritten, 1000);
}

TEST(Device, SamplesSayHowTheyWereTimed) {
  const ScriptedGpu gpu("duration axpb 1500 1600 1700");
  auto bench = Bench::make(256, 6, 0, k_device);
  auto worker = bench.worker(source());
  ASSERT_OK(worker);
  client::SampleJob job;
  job.sets = {4, 0, 1, 2, 3};
  job.warmup_sets = {5};
  const auto report = worker->sample(job);
  ASSERT_OK(report);
  EXPECT_THAT(report->call_ns, testing::ElementsAre(1600, 1700, 1500, 1600, 1700));
  EXPECT_EQ(report->cache_state, "cold-clean");
  EXPECT_EQ(report->device["how"], "cupti");
  EXPECT_EQ(report->device["gate"], "held");
  EXPECT_EQ(report->device["operations"], 1);
  EXPECT_EQ(report->stray_operations, 0);
  for (int set = 0; set < 6; ++set) {
    fetch(bench, set);
    EXPECT_EQ(bench.wrong_elements(set), 0) << set;
  }
}

TEST(Device, MarksSeeWhatHonestTwinsDoNot) {
  const ScriptedGpu gpu;
  const auto check_after = [](const std::string& work) {
    auto bench = Bench::make(640, 2, 0, k_device);
    auto worker = bench.worker(source(work));
    EXPECT_TRUE(worker && worker->call(0));
    auto report = bench.keeper.check(*bench.arena, {0});
    EXPECT_TRUE(report);
    return *report;
  };
  const std::string honest = "for (int64_t i = 0; i < w.n; ++i) w.y[i] = 2 * w.x[i] + 1;";
  EXPECT_TRUE(check_after(honest).clean());

  const auto past = check_after(honest + " reinterpret_cast<char*>(w.y + w.n)[3] ^= 1;");
  ASSERT_EQ(past.buffers.size(), 1u);
  EXPECT_EQ(past.buffers[0].red_after, 1);
  EXPECT_EQ(past.buffers[0].red_distance, 3);
  const auto before = check_after(honest + " reinterpret_cast<char*>(w.y)[-2] ^= 1;");
  ASSERT_EQ(before.buffers.size(), 1u);
  EXPECT_EQ(before.buffers[0].red_before, 1);
  EXPECT_EQ(before.buffers[0].red_distance, -2);

  const auto skipped = check_after("for (int64_t i = 0; i < w.n; ++i) if (i != 17) w.y[i] = 1;");
  ASSERT_EQ(skipped.buffers.size(), 1u);
  EXPECT_EQ(skipped.buffers[0].unwritten, 1);
  EXPECT_EQ(skipped.buffers[0].first, 17);
  EXPECT_EQ(skipped.buffers[0].last, 17);

  const auto changed = check_after(honest + " const_cast<float*>(w.x)[5] += 1;");
  ASSERT_EQ(changed.buffers.size(), 1u);
  EXPECT_TRUE(changed.buffers[0].input_changed);
}

TEST(Device, TensorsMayBeAlignedToOneElementAlone) {
  const ScriptedGpu gpu;
  const auto contract = [] {
    auto out = fakes::axpb_contract();
    for (auto& tensor : out.tensors) tensor.align = 4;
    return out;
  }();
  int odd = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    auto bench = Bench::make(1001, 2, 0, k_device, contract, seed);
    for (int tensor : {0, 1}) odd += bench.arena->address(tensor, 0) % 8 != 0;
    auto worker = bench.worker(source());
    ASSERT_OK(worker);
    client::SampleJob job;
    job.sets = {0, 1};
    job.cache = model::CacheState::warm;
    ASSERT_OK(worker->sample(job));
    const auto report = bench.keeper.check(*bench.arena, {0, 1});
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->clean());
    fetch(bench, 1);
    EXPECT_EQ(bench.wrong_elements(1), 0);
  }
  EXPECT_GT(odd, 0) << "no placement lay between two words";
}

TEST(Device, WorkInAnotherStreamIsStray) {
  const ScriptedGpu gpu;
  auto bench = Bench::make(64, 3, 0, k_device);
  auto worker = bench.worker(source("w.y[0] = 1;", R"(
    static void* own = [] {
      void* made = nullptr;
      reinterpret_cast<int (*)(void**, unsigned)>(symbol("cuStreamCreate"))(&made, 1);
      return made;
    }();
    const int code = go(own, "axpb", body, &w, sizeof w);
    reinterpret_cast<int (*)(void*)>(symbol("cuStreamSynchronize"))(own);
    return code;)"));
  ASSERT_OK(worker);
  client::SampleJob job;
  job.sets = {0, 1};
  job.warmup_sets = {2};
  const auto report = worker->sample(job);
  ASSERT_OK(report);
  EXPECT_EQ(report->stray_operations, 2);
  EXPECT_EQ(report->pass_ns, 0);
}

client::SampleJob both_sets() {
  client::SampleJob job;
  job.sets = {0, 1};
  job.warmup_sets = {2};
  return job;
}

TEST(Device, WorkThatComesWhenTheCallIsOverIsCounted) {
  const ScriptedGpu gpu;
  for (const bool honest : {false, true}) {
    auto bench = Bench::make(64, 3, 0, k_device);
    auto worker = bench.worker(source("w.y[0] = 1;", std::string(R"(
    static void* own = [] {
      void* made = nullptr;
      reinterpret_cast<int (*)(void**, unsigned)>(symbol("cuStreamCreate"))(&made, 1);
      return made;
    }();
    static bool once = false;
    if (!once) std::thread([w]() mutable {
      usleep(20000);
      go(own, "axpb", body, &w, sizeof w);
      reinterpret_cast<int (*)(void*)>(symbol("cuStreamSynchronize"))(own);
    }))") + (honest ? ".join();" : ".detach();") +
                                                         R"(
    once = true;
    return go(stream, "axpb", body, &w, sizeof w);)"));
    ASSERT_OK(worker);
    ASSERT_TRUE(worker->call(0));
    timespec nap{0, 100'000'000};
    nanosleep(&nap, nullptr);
    const auto report = worker->sample(both_sets());
    ASSERT_OK(report);
    EXPECT_EQ(report->device["left_behind"], honest ? 0 : 1);
    EXPECT_EQ(report->stray_operations, 0);
  }
}

TEST(Device, MemoryThatEveryCallKeepsIsCounted) {
  const ScriptedGpu gpu;
  for (const bool honest : {false, true}) {
    auto bench = Bench::make(64, 3, 0, k_device);
    auto worker = bench.worker(source("w.y[0] = 1;", std::string(R"(
    static unsigned long long taken = 0;
    )") + (honest ? "if (!taken)" : "") + R"(
    reinterpret_cast<int (*)(unsigned long long*, unsigned long)>(symbol("cuMemAlloc_v2"))(
        &taken, 1 << 20);
    return go(stream, "axpb", body, &w, sizeof w);)"));
    ASSERT_OK(worker);
    const auto report = worker->sample(both_sets());
    ASSERT_OK(report);
    EXPECT_EQ(report->device_memory_taken, honest ? 0 : 2 << 20);
  }
}

TEST(Device, AStreamLeftWithAPolicyIsPutBackAndNamed) {
  const ScriptedGpu gpu;
  auto bench = Bench::make(64, 3, 0, k_device);
  auto worker = bench.worker(source("w.y[0] = 1;", R"(
    struct { void* at; unsigned long bytes; float ratio; int hit, miss; char rest[36]; } policy{};
    policy.at = w.y;
    policy.bytes = 64;
    reinterpret_cast<int (*)(void*, int, const void*)>(symbol("cuStreamSetAttribute"))(
        stream, 1, &policy);
    return go(stream, "axpb", body, &w, sizeof w);)"));
  ASSERT_OK(worker);
  for (int turn = 0; turn < 2; ++turn) {
    const auto called = worker->call(0);
    ASSERT_OK(called);
    EXPECT_THAT(called->changed, testing::ElementsAre("stream_policy"));
  }
}

TEST(Device, ALibraryThatComesAlongInACallIsNamed) {
  const ScriptedGpu gpu;
  auto bench = Bench::make(64, 3, 0, k_device);
  auto worker = bench.worker(source("w.y[0] = 1;", R"(
    static void* library = dlopen("libresolv.so.2", RTLD_NOW);
    return library ? go(stream, "axpb", body, &w, sizeof w) : 1;)"));
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_OK(called);
  EXPECT_THAT(called->libraries, testing::Contains(testing::HasSubstr("libresolv.so.2")));
  const auto again = worker->call(1);
  ASSERT_OK(again);
  EXPECT_THAT(again->libraries, testing::IsEmpty());
}

TEST(Device, AContextThatTheCallTookAwayEndsTheWorkerAlone) {
  // The stream's handle is none any more when it is waited for.
  const ScriptedGpu gpu("fail worker cuStreamSynchronize 3 400");
  auto bench = Bench::make(64, 2, 0, k_device);
  auto worker = bench.worker(source());
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, client::FailureKind::crashed);
  EXPECT_THAT(called.error().text, testing::HasSubstr("taken away"));
  EXPECT_TRUE(bench.keeper.machine_state({}));
}

TEST(Device, ACapturedCallIsLaunchedByAProcessWithoutItsCode) {
  const ScriptedGpu gpu;
  auto bench = Bench::make(64, 3, 0, k_device);
  // A copy of the input, beside a device image; loading the library prints a word.
  auto options = bench.options(R"(
#include <unistd.h>
__attribute__((section(".nv_fatbin"), used)) static const unsigned char image[24] = {
    0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 8};
__attribute__((constructor)) static void tell() { (void)!write(1, "loaded", 6); }
)" + source("", R"(
    using Copy = int (*)(const void*, const void*, unsigned long, void*);
    return reinterpret_cast<Copy>(symbol("cuMemcpyDtoDAsync_v2"))(w.y, w.x, w.n * 4, stream);)"));
  auto worker = bench.prepare(options);
  ASSERT_OK(worker);
  const auto captured = worker->capture({0, 1, 2});
  ASSERT_OK(captured);
  EXPECT_EQ(captured->why, "");
  ASSERT_EQ(captured->nodes.size(), 3u);
  const auto before = bench.keeper.check(*bench.arena, {0, 1, 2});
  ASSERT_TRUE(before);
  EXPECT_EQ(before->buffers.size(), 3u) << "capturing runs nothing";

  options.loads = client::WorkerOptions::Loads::images;
  auto replayer = bench.prepare(options);
  ASSERT_OK(replayer);
  ASSERT_OK(replayer->replay(captured->nodes));
  const auto report = replayer->sample(both_sets());
  ASSERT_OK(report);
  EXPECT_EQ(report->calls, 2);
  EXPECT_EQ(report->device["operations"], 1);
  fetch(bench, 1);
  const auto x = bench.arena->bytes(0, 1), y = bench.arena->bytes(1, 1);
  EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size()), 0);
  EXPECT_EQ(worker->out(), "loaded");
  EXPECT_EQ(replayer->out(), "") << "the candidate's own code is not there";
}

TEST(Device, WhatOnlyTheHostCanLaunchIsNotReplayedAndSaysWhy) {
  const ScriptedGpu gpu;
  auto bench = Bench::make(64, 2, 0, k_device);
  auto options = bench.options(source());
  auto worker = bench.prepare(options);
  ASSERT_OK(worker);
  const auto captured = worker->capture({0, 1});
  ASSERT_OK(captured);
  EXPECT_THAT(captured->why, testing::HasSubstr("an operation of kind 3"));
  EXPECT_TRUE(worker->call(0)) << "it lives on";
  options.loads = client::WorkerOptions::Loads::images;
  const auto replayer = bench.prepare(options);
  ASSERT_FALSE(replayer);
  EXPECT_THAT(replayer.error().text, testing::HasSubstr("no image for this device"));
}

TEST(Device, AFaultEndsTheWorkerAndTheKeeperLivesOn) {
  const ScriptedGpu gpu;
  auto bench = Bench::make(64, 2, 0, k_device);
  auto worker = bench.worker(source("", R"(
    return reinterpret_cast<int (*)(void*)>(symbol("fake_gpu_fault"))(stream);)"));
  ASSERT_OK(worker);
  const auto called = worker->call(0);
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().kind, client::FailureKind::crashed);
  EXPECT_THAT(called.error().text, testing::HasSubstr("ILLEGAL_ADDRESS"));
  EXPECT_FALSE(client::worker_lives_on(called.error().kind));
  EXPECT_TRUE(bench.keeper.machine_state({}));
  auto next = bench.worker(source());
  ASSERT_OK(next);
  EXPECT_TRUE(next->call(0));
}

TEST(Device, AWorkerThatCannotMapTheSameAddressSaysSo) {
  const ScriptedGpu gpu("elsewhere worker");
  auto bench = Bench::make(64, 1, 0, k_device);
  const auto worker = bench.worker(source());
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().kind, client::FailureKind::environment);
  EXPECT_THAT(worker.error().text, testing::HasSubstr("same address"));
}

TEST(Device, BuffersLieWhereTheyAreWantedWhateverTheDriverHasInHand) {
  const ScriptedGpu gpu("hand any 1073741824");
  auto bench = Bench::make(64, 1, 0, k_device);
  auto worker = bench.worker(source());
  ASSERT_OK(worker);
  ASSERT_OK(worker->call(0));
  fetch(bench, 0);
  EXPECT_EQ(bench.wrong_elements(0), 0);
}

/// Addresses of 200 arenas that come and go, after a keeper and a worker of which `role` can set no
/// more than `most` bytes apart.
std::set<std::uint64_t> addresses_where(const std::string& role, std::uint64_t most) {
  const ScriptedGpu gpu("reserves " + role + " " + std::to_string(most));
  auto bench = Bench::make(64, 1, 0, k_device);
  auto worker = bench.worker(source());
  EXPECT_TRUE(worker);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) {
    auto plan = model::plan_arena(bench.contract, bench.shape, 1, 0, 7);
    auto arena = bench.keeper.create_arena(bench.contract, bench.shape, std::move(*plan), "next");
    if (!arena) {
      ADD_FAILURE() << arena.error().text();
      break;
    }
    seen.insert(arena->address(0, 0));
    EXPECT_TRUE(worker->map(*arena)) << std::hex << arena->address(0, 0);
    EXPECT_TRUE(worker->unmap(*arena));
    EXPECT_TRUE(bench.keeper.destroy_arena(std::move(*arena)));
  }
  return seen;
}

TEST(Device, BuffersStayWithinTheAddressesThatEveryProcessSetApart) {
  constexpr std::uint64_t k_most = 16ull << 30;
  // What was seen once holds for the rest of the process: the larger one first.
  for (const auto& [role, most] : {std::pair{"worker", k_most}, {"keeper", k_most / 2}}) {
    const auto seen = addresses_where(role, most);
    EXPECT_GT(seen.size(), 40u) << role << ": a range is not given out again at once";
    EXPECT_LT(*seen.rbegin() - *seen.begin(), most) << role;
  }
}

TEST(Device, TheMachineStateTellsClocksAndReasons) {
  const ScriptedGpu gpu("nvml sm_mhz 1410\nnvml reasons 64");
  auto bench = Bench::make(64, 1, 0, k_device);
  const auto state = bench.keeper.machine_state({});
  ASSERT_TRUE(state);
  EXPECT_EQ(state->device["sm_mhz"], 1410);
  EXPECT_EQ(state->device["hardware_limit"], true);
}

TEST(Device, AKeeperWithoutKernelsNamesTheCause) {
  const ScriptedGpu gpu("fail keeper nvrtcCompileProgram 1 6");
  client::KeeperOptions options;
  options.device = k_device;
  const auto keeper = client::Keeper::start(options);
  ASSERT_FALSE(keeper);
  EXPECT_THAT(keeper.error().text(), testing::HasSubstr("the scripted log's words"));
}

} // namespace
} // namespace ako
