// Everything behind the function tables, on the scripted driver.
#include "device/calibrate.hpp"
#include "device/fill.hpp"
#include "device/inventory.hpp"
#include "device/sampler.hpp"
#include "device/staging.hpp"
#include "device/telemetry.hpp"
#include "device/tensor_rates.hpp"
#include "unit/device/scripted.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::device {
namespace {

using fakes::ScriptedGpu;

/// The tables are found once a process: every case runs in a child of its own. The child's exit
/// code is the number of failed expectations.
template <class Body> void in_child(const std::string& script, Body&& body) {
  const ScriptedGpu gpu(script);
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

#define ASSERT_OK(value) ASSERT_TRUE(value) << (value).error().text()

struct Fixture {
  Gpu gpu;
  std::unique_ptr<Sampler> sampler;
  Memory evict, data;
};

base::Expected<std::unique_ptr<Fixture>> fixture() {
  AKO_TRY(auto gpu, Gpu::open(ScriptedGpu::k_uuid));
  auto made = std::unique_ptr<Fixture>(new Fixture{std::move(gpu), nullptr, {}, {}});
  AKO_TRY(made->sampler, Sampler::make(made->gpu));
  AKO_TRY(auto image, compile_kernels(made->gpu.facts(), ""));
  AKO_TRY(auto kernels, Kernels::load(made->gpu, std::move(image)));
  AKO_TRY(made->evict, Memory::take(made->gpu, 2 << 20));
  AKO_TRY(made->data, Memory::take(made->gpu, 2 << 20));
  AKO_TRY_STATUS(made->sampler->use(std::move(kernels), made->evict.at(), 2 << 20));
  return made;
}

const Fixture* g_fixture = nullptr;
int g_calls = 0, g_code_at = -1;

/// One spin of 2 us a call; from call number g_code_at on it returns 5.
int spin_call(void* const*, const std::int64_t*, const double*, void* stream) {
  if (g_code_at >= 0 && g_calls++ >= g_code_at) return 5;
  const SpinParams params{2000, 0, 0, g_fixture->data.at()};
  return g_fixture->sampler->kernels().launch("spin_kernel", params, 1, 32,
                                              static_cast<abi::Stream>(stream))
             ? 0
             : 1;
}
/// Waits for the device inside the call: behind a closed gate it can never come back by itself.
int waiting_call(void* const*, const std::int64_t*, const double*, void* stream) {
  const int code = spin_call(nullptr, nullptr, nullptr, stream);
  (void)g_fixture->gpu.api().stream_wait(static_cast<abi::Stream>(stream));
  return code;
}

SampleJob job_of(ako_call_fn call, std::size_t sets) {
  SampleJob job;
  job.call = call;
  job.sets.assign(sets, nullptr);
  job.warmup.assign(1, nullptr);
  return job;
}

TEST(Rim, LargeCopiesGoThroughPagesThatStay) {
  const auto there_and_back = [] {
    auto gpu = Gpu::open(ScriptedGpu::k_uuid);
    ASSERT_OK(gpu);
    Staging staging;
    for (const std::size_t bytes :
         {std::size_t{100}, Staging::k_piece_bytes, 2 * Staging::k_piece_bytes + 4097}) {
      std::vector<std::byte> in(bytes), out(bytes);
      for (std::size_t i = 0; i < bytes; ++i) in[i] = static_cast<std::byte>(i * 2654435761u >> 24);
      auto there = Memory::take(*gpu, static_cast<std::int64_t>(bytes));
      ASSERT_OK(there);
      ASSERT_OK(staging.copy_in(*gpu, there->at(), in));
      ASSERT_OK(staging.copy_out(*gpu, out, there->at()));
      EXPECT_EQ(in, out) << bytes;
    }
  };
  in_child("", there_and_back);
  in_child("fail cuMemHostAlloc 1 2\n", there_and_back);
}

TEST(Rim, SamplesColdCallsBehindTheGate) {
  in_child("duration spin_kernel 2000 2100 2200 2300", [] {
    const auto made = fixture();
    ASSERT_OK(made);
    g_fixture = made->get();
    const auto result = (*made)->sampler->run(job_of(spin_call, 100));
    ASSERT_OK(result);
    EXPECT_EQ(result->how, "cupti");
    EXPECT_EQ(result->gate, "held");
    ASSERT_EQ(result->call_ns.size(), 100u);
    // The warm-up took the first of the recorded times; the calls go on from there.
    EXPECT_EQ(result->call_ns[0], 2100);
    EXPECT_EQ(result->call_ns[1], 2200);
    EXPECT_EQ(result->call_ns[2], 2300);
    EXPECT_EQ(result->call_ns[3], 2000);
    EXPECT_EQ(result->stray, 0);
    EXPECT_GT(result->evict_spent_ns, 0);
  });
}

TEST(Rim, AKernelThatWaitsForTheDeviceIsLetThroughAndNamed) {
  in_child("", [] {
    const auto made = fixture();
    ASSERT_OK(made);
    g_fixture = made->get();
    for (int round = 0; round < 2; ++round) {
      const auto result = (*made)->sampler->run(job_of(waiting_call, 3));
      ASSERT_OK(result);
      EXPECT_EQ(result->gate_opened_early, 1);
      EXPECT_EQ(result->call_ns.size(), 3u);
    }
    const auto after = (*made)->sampler->run(job_of(waiting_call, 3));
    ASSERT_OK(after);
    EXPECT_EQ(after->gate_opened_early, 0);
    EXPECT_THAT(after->gate, testing::HasSubstr("waits for the device itself"));
  });
}

TEST(Rim, WithoutTimestampsEventsTakeTheirPlaceWithALabel) {
  in_child("fail any cuptiActivityRegisterCallbacks 1 15", [] {
    const auto made = fixture();
    ASSERT_OK(made);
    g_fixture = made->get();
    const auto result = (*made)->sampler->run(job_of(spin_call, 4));
    ASSERT_OK(result);
    EXPECT_EQ(result->how, "events");
    EXPECT_THAT(result->label, testing::HasSubstr("the scripted CUPTI refuses"));
    EXPECT_EQ(result->call_ns.size(), 4u);
  });
}

TEST(Rim, WithoutAGateCallsAreStillTimedAndSaySo) {
  in_child("no any gate", [] {
    const auto made = fixture();
    ASSERT_OK(made);
    g_fixture = made->get();
    const auto result = (*made)->sampler->run(job_of(spin_call, 4));
    ASSERT_OK(result);
    EXPECT_THAT(result->gate, testing::HasSubstr("no stream memory operations"));
    EXPECT_EQ(result->call_ns.size(), 4u);
  });
}

/// Counts its launches; with a stream of its own to work in, it works there as well.
abi::Stream g_other = nullptr;
int counting_call(void* const*, const std::int64_t*, const double*, void* stream) {
  const auto counter = g_fixture->data.at();
  const auto& kernels = g_fixture->sampler->kernels();
  if (g_other)
    (void)kernels.launch("spin_kernel", SpinParams{1000, 0, 0, counter + 64}, 1, 32, g_other);
  return kernels.launch("spin_kernel", SpinParams{1000, 1, counter, counter + 8}, 1, 32,
                        static_cast<abi::Stream>(stream))
             ? 0
             : 1;
}

TEST(Rim, AReplayIsTheFirstWorkOnItsContents) {
  in_child("", [] {
    const auto made = fixture();
    ASSERT_OK(made);
    g_fixture = made->get();
    const Gpu& gpu = g_fixture->gpu;
    std::uint64_t turns = 0;
    const auto count = [&] {
      std::uint64_t seen = 0;
      EXPECT_TRUE(gpu.copy_out(std::as_writable_bytes(std::span(&seen, 1)), g_fixture->data.at()));
      g_fixture->sampler->forget(); // this copy
      return seen - std::exchange(turns, seen);
    };
    ASSERT_OK(gpu.copy_in(g_fixture->data.at(), std::as_bytes(std::span(&turns, 1))));
    auto job = job_of(counting_call, 5);
    job.clock = Clock::graph;
    const auto honest = g_fixture->sampler->run(job);
    ASSERT_OK(honest);
    EXPECT_EQ(honest->stray, 0);
    EXPECT_EQ(count(), 6u) << "one untimed call, and every timed one once";
    ASSERT_OK(gpu.ok(gpu.api().stream_make(&g_other, 1), "making a stream"));
    const auto ahead = g_fixture->sampler->run(job);
    ASSERT_OK(ahead);
    EXPECT_EQ(ahead->left_behind, 0) << "the replays' own records are none of the next block's";
    EXPECT_EQ(ahead->stray, 5) << "what ran while calls were captured";
  });
}

TEST(Rim, GraphAndHostClocks) {
  in_child("", [] {
    const auto made = fixture();
    ASSERT_OK(made);
    g_fixture = made->get();
    auto job = job_of(spin_call, 5);
    job.clock = Clock::graph;
    const auto graph = (*made)->sampler->run(job);
    ASSERT_OK(graph);
    EXPECT_EQ(graph->how, "graph");
    EXPECT_EQ(graph->call_ns.size(), 5u);
    EXPECT_GE(graph->call_ns[0], 2000);
    job.clock = Clock::call;
    const auto host = (*made)->sampler->run(job);
    ASSERT_OK(host);
    EXPECT_EQ(host->how, "host");
    EXPECT_EQ(host->call_ns.size(), 5u);
  });
}

TEST(Rim, AReturnedCodeEndsTheSampleAndOpensTheGate) {
  in_child("", [] {
    const auto made = fixture();
    ASSERT_OK(made);
    g_fixture = made->get();
    g_code_at = 3; // one warm-up call, then the third timed one
    const auto result = (*made)->sampler->run(job_of(spin_call, 5));
    ASSERT_OK(result);
    EXPECT_EQ(result->code, 5);
    EXPECT_EQ(result->failed, 2u);
    EXPECT_FALSE(result->in_warmup);
    EXPECT_TRUE(result->fault.empty());
    g_code_at = -1;
    const auto after = (*made)->sampler->run(job_of(spin_call, 2));
    ASSERT_OK(after);
    EXPECT_EQ(after->call_ns.size(), 2u);
  });
}

TEST(Rim, ALostContextIsAFaultWithTheDriversWords) {
  in_child("fail any cuStreamSynchronize 6 700", [] {
    const auto made = fixture();
    ASSERT_OK(made);
    g_fixture = made->get();
    for (int round = 0; round < 8; ++round) {
      const auto result = (*made)->sampler->run(job_of(spin_call, 2));
      if (result && result->fault.empty()) continue;
      if (result) {
        EXPECT_THAT(result->fault, testing::HasSubstr("ILLEGAL_ADDRESS"));
      }
      EXPECT_THAT((*made)->gpu.lost(), testing::HasSubstr("ILLEGAL_ADDRESS"));
      return;
    }
    ADD_FAILURE() << "the fault was never seen";
  });
}

TEST(Rim, ResidencyTellsEvictedFromCached) {
  in_child("", [] {
    const auto made = fixture();
    ASSERT_OK(made);
    const auto found = (*made)->sampler->probe((*made)->data.at(), 1 << 20);
    ASSERT_OK(found);
    EXPECT_LT(found->cached_cycles, 400);
    EXPECT_GT(found->evicted_cycles, 700);
    EXPECT_EQ(found->resident_share, 0);
  });
}

// Whatever call of the driver fails, with whatever code: an error with words or a labelled
// fall-back, never a crash, a hang, or a time that was not measured.
TEST(Rim, AnyCallMayFail) {
  for (const int code : {2, 801, 700, 999})
    for (int at = 1; at <= 120; at += code == 2 ? 1 : 7) {
      in_child("fail any * " + std::to_string(at) + " " + std::to_string(code), [] {
        const auto made = fixture();
        if (!made) {
          EXPECT_FALSE(made.error().message.empty());
          return;
        }
        g_fixture = made->get();
        const auto result = (*made)->sampler->run(job_of(spin_call, 3));
        if (!result) {
          EXPECT_FALSE(result.error().message.empty());
          return;
        }
        const bool ended = result->code != 0 || !result->fault.empty();
        EXPECT_TRUE(ended || result->call_ns.size() == 3u) << result->call_ns.size();
        if (!ended && result->how == "cupti") {
          for (const double ns : result->call_ns) EXPECT_GT(ns, 0);
        }
      });
      if (testing::Test::HasFailure()) FAIL() << "call " << at << " code " << code;
    }
}

TEST(Rim, InventoryNamesDevicesByUuidAndWhatTheVariableHides) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  in_child("devices 2\nnvml reasons 72", [] {
    const auto found = inventory();
    ASSERT_EQ(found["devices"].size(), 2u);
    EXPECT_EQ(found["devices"][0]["uuid"], ScriptedGpu::k_uuid);
    EXPECT_FALSE(found["devices"][0]["visible"].get<bool>());
    EXPECT_TRUE(found["devices"][1]["visible"].get<bool>());
    EXPECT_EQ(found["devices"][0]["state"]["reason_words"],
              "hardware slow-down, hardware thermal slow-down");
    EXPECT_TRUE(found["devices"][0]["state"]["hardware_limit"].get<bool>());
  });
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(Rim, AProblemComesWithAReasonAndARemedy) {
  in_child("fail any cuInit 1 803", [] {
    const auto found = inventory();
    EXPECT_TRUE(found["devices"].empty());
    EXPECT_THAT(found["problem"]["next"].get<std::string>(), testing::HasSubstr("restart"));
  });
}

TEST(Rim, ADeviceInProhibitedModeIsRefusedWithTheModeNamed) {
  in_child("attribute 20 2", [] {
    const auto gpu = Gpu::open(ScriptedGpu::k_uuid);
    ASSERT_FALSE(gpu);
    EXPECT_THAT(gpu.error().text(), testing::HasSubstr("Prohibited"));
  });
}

TEST(Rim, CalibrationFindsTheSlopeAndTheNoiseThatAreThere) {
  in_child("", [] {
    const auto found = calibrate(ScriptedGpu::k_uuid, "");
    ASSERT_OK(found);
    EXPECT_NEAR((*found)["spin_slope"].get<double>(), 1, 0.003);
    EXPECT_LT(std::abs((*found)["spin_constant_ns"].get<double>()), 200);
    const auto& noise = (*found)["noise"];
    EXPECT_NEAR(noise["sd_ns"].get<double>(), noise["asked_sd_ns"].get<double>(), 80);
    EXPECT_GT((*found)["copy_bytes_per_s"].get<double>(), 0);
    EXPECT_EQ((*found)["residency"]["resident_share"], 0);
    EXPECT_EQ((*found)["how"], "cupti");
    for (const char* dtype : {"float16", "bfloat16", "float8_e4m3fn", "int8"}) {
      EXPECT_GT((*found)["tensor"][dtype]["ops_per_s"].get<double>(), 0) << dtype;
      EXPECT_EQ((*found)["tensor"][dtype]["how"], "wgmma") << dtype;
    }
  });
}

TEST(Rim, TensorRatesAreOfTheInstructionsThatAnArchitectureHas) {
  EXPECT_TRUE(tensor_rates(7, 5).empty());
  EXPECT_EQ(tensor_rates(8, 0).size(), 3u) << "no products of fp8 before 8.9";
  EXPECT_EQ(tensor_rates(8, 9).size(), 4u);
  EXPECT_EQ(tensor_rates(8, 9)[1].how, "mma.sync");
  // Two groups of four warps, 8 products of 64 x 256 x 16, two operations each.
  EXPECT_EQ(tensor_rates(9, 0)[1].ops_a_round, 2 * 8 * 64. * 256 * 16 * 2);
  EXPECT_EQ(tensor_architecture(9, 0), "sm_90a");
  EXPECT_EQ(tensor_architecture(12, 0), "sm_120");
}

// Contents made by the device's kernels are bit for bit the host's.
TEST(Rim, FillsAreTheHostsBitForBit) {
  in_child("", [] {
    const auto made = fixture();
    ASSERT_OK(made);
    const auto& gpu = (*made)->gpu;
    const auto& kernels = (*made)->sampler->kernels();
    int compared = 0;
    for (const auto dtype :
         {model::Dtype::bfloat16, model::Dtype::float16, model::Dtype::float32,
          model::Dtype::float64, model::Dtype::float8_e4m3fn, model::Dtype::float4_e2m1fn,
          model::Dtype::int8, model::Dtype::uint32, model::Dtype::int32, model::Dtype::int64}) {
      for (const auto kind : {model::Fill::uniform, model::Fill::normal, model::Fill::index}) {
        model::ResolvedTensor tensor;
        tensor.name = "t";
        tensor.dtype = dtype;
        tensor.shape = {37, 129};
        tensor.strides = {129, 1};
        tensor.elements = tensor.span_elements = 37 * 129;
        tensor.contiguous = true;
        tensor.bytes = model::bytes_of(dtype, tensor.elements);
        tensor.fill_limit = 6;
        model::FillSpec spec;
        spec.kind = kind;
        spec.low = model::class_of(dtype) == model::DtypeClass::integer ? -3 : -0.75;
        spec.high = 5;
        spec.mean = 0.25;
        spec.stddev = 1.5;
        auto fill = device_fill(tensor, spec, inputs::Recipe::plain);
        if (!fill) continue;
        Memory table;
        if (!fill->table.empty()) {
          table = std::move(*Memory::take(gpu, static_cast<std::int64_t>(fill->table.size())));
          ASSERT_TRUE(gpu.copy_in(table.at(), fill->table));
        }
        auto params = fill->params;
        params.table = table.at();
        params.destination = (*made)->data.at();
        const auto where = std::string(model::to_string(dtype)) + " " + model::to_string(kind);
        const auto filler = inputs::Filler::make(tensor, spec, inputs::Recipe::plain);
        if (!filler) continue; // a fill that the host refuses too
        std::vector<std::byte> wanted(static_cast<std::size_t>(tensor.bytes)), got(wanted.size());
        const inputs::StreamId first{0x1234567890abcdefu, 3, 2, 7};
        ASSERT_TRUE(filler->fill(wanted, first));
        set_streams(params, first);
        ASSERT_TRUE(kernels.launch("ako_fill", params, 4, 64, gpu.stream()));
        ASSERT_TRUE(gpu.copy_out(got, params.destination));
        EXPECT_EQ(wanted, got) << where;
        ++compared;
      }
    }
    EXPECT_GE(compared, 18);
  });
}

} // namespace
} // namespace ako::device
