#include "arch/host_cpu.hpp"
#include "arch/occupancy.hpp"
#include "arch/roofline.hpp"
#include "base/fs.hpp"
#include "profiles/ncu.hpp"

#include <gtest/gtest.h>

namespace ako::arch {
namespace {

Occupancy of(int capability, BlockShape block) {
  auto result = occupancy(*find(capability), block);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().text());
  return result.value_or(Occupancy{});
}

TEST(Occupancy, KnownValues) {
  // 256 threads, 32 registers, nothing else: full everywhere.
  for (int capability : {80, 86, 89, 90, 100, 103, 120})
    EXPECT_DOUBLE_EQ(of(capability, {256, 32, 0}).share, 1.0) << capability;
  // 1024 threads fit once where 1536 are allowed: two thirds.
  EXPECT_NEAR(of(86, {1024, 32, 0}).share, 2.0 / 3, 1e-9);
  EXPECT_EQ(of(90, {1024, 32, 0}).blocks, 2);
  // 255 registers: 256 x 32 a warp, 8 warps of 64.
  EXPECT_EQ(of(90, {256, 255, 0}).blocks, 1);
  EXPECT_EQ(of(90, {256, 255, 0}).limit, Limit::registers);
  EXPECT_DOUBLE_EQ(of(90, {256, 255, 0}).share, 0.125);
  // One warp a block: 32 blocks of 64 warps on sm_90, 16 of 48 on sm_86, 24 of 48 on sm_89.
  EXPECT_DOUBLE_EQ(of(90, {32, 16, 0}).share, 0.5);
  EXPECT_NEAR(of(86, {32, 16, 0}).share, 16.0 / 48, 1e-9);
  EXPECT_DOUBLE_EQ(of(89, {32, 16, 0}).share, 0.5);
  // 100 KiB a block plus 1 KiB of the system's: two on sm_90, one on sm_80.
  EXPECT_EQ(of(90, {128, 32, 100 * 1024}).blocks, 2);
  EXPECT_EQ(of(80, {128, 32, 100 * 1024}).blocks, 1);
  EXPECT_EQ(of(80, {128, 32, 100 * 1024}).limit, Limit::shared_memory);
}

TEST(Occupancy, WhatCannotBeLaunched) {
  EXPECT_FALSE(occupancy(*find(90), {1025, 32, 0}));
  EXPECT_FALSE(occupancy(*find(90), {128, 256, 0}));
  EXPECT_FALSE(occupancy(*find(86), {128, 32, 100 * 1024}));
  EXPECT_FALSE(occupancy(*find(90), {1024, 128, 0})); // more registers than there are
  EXPECT_TRUE(occupancy(*find(90), {128, 32, 227 * 1024}));
}

TEST(Occupancy, AgreesWithTheProfiler) {
  auto files = base::list_files(AKO_SOURCE_DIR "/tests/golden/ncu/h200");
  ASSERT_TRUE(files.has_value());
  int compared = 0;
  for (const auto& file : *files) {
    if (file.string().find(".raw.csv") == std::string::npos) continue;
    auto text =
        base::read_file(std::filesystem::path(AKO_SOURCE_DIR "/tests/golden/ncu/h200") / file);
    auto report = profiles::read_ncu(*text, file.string());
    ASSERT_TRUE(report.has_value());
    for (const auto& kernel : report->kernels) {
      auto get = [&](const char* name) { return kernel.get(name).value_or(-1); };
      if (get("launch__cluster_size") > 1) continue;
      BlockShape block;
      block.threads = int(get("launch__block_size")),
      block.registers_per_thread = int(get("launch__registers_per_thread"));
      block.shared_bytes = int(get("launch__shared_mem_per_block_static") +
                               get("launch__shared_mem_per_block_dynamic") + 0.5);
      block.shared_configuration = int(get("launch__shared_mem_config_size") + 0.5);
      Occupancy ours = of(90, block);
      EXPECT_EQ(ours.by_registers, int(get("launch__occupancy_limit_registers"))) << file;
      EXPECT_EQ(ours.by_warps, int(get("launch__occupancy_limit_warps"))) << file;
      EXPECT_EQ(ours.by_blocks, int(get("launch__occupancy_limit_blocks"))) << file;
      EXPECT_NEAR(ours.by_shared, get("launch__occupancy_limit_shared_mem"), 0.5) << file;
      EXPECT_NEAR(ours.share * 100, get("sm__maximum_warps_per_active_cycle_pct"), 0.01) << file;
      ++compared;
    }
  }
  EXPECT_GE(compared, 80);
}

TEST(Tables, EveryArchitectureIsWhole) {
  EXPECT_EQ(architectures().size(), 7u);
  for (const Architecture& one : architectures()) {
    EXPECT_EQ(one.limits.warps * 32, one.limits.threads);
    EXPECT_EQ(one.shared_configurations.back(), one.limits.shared_bytes) << one.name;
    EXPECT_LT(one.limits.shared_per_block, one.limits.shared_bytes);
    EXPECT_NE(std::string(one.limits_source), "");
    for (const Device& device : one.devices) {
      EXPECT_GT(device.dram_bytes_per_s, 1e11) << device.name;
      EXPECT_NE(std::string(device.source), "") << device.name;
    }
  }
  EXPECT_EQ(find("sm_90a"), find(90));
  EXPECT_EQ(find("9.0"), find(90));
  EXPECT_EQ(find("10.3"), find(103));
  EXPECT_EQ(find("12.0")->capability, 120);
  EXPECT_EQ(find("sm_75"), nullptr);
  EXPECT_EQ(find("garbage"), nullptr);
  EXPECT_EQ(find_device(*find(90), "NVIDIA H100 PCIe")->sms, 114);
  EXPECT_EQ(find_device(*find(90), "NVIDIA A100"), nullptr);
}

TEST(Roofline, TallestFirst) {
  const Architecture& hopper = *find(90);
  Ceilings roof = ceilings(hopper, find_device(hopper, "NVIDIA H200"), 0, 0, TensorType::bf16);
  EXPECT_NEAR(roof.fp32_flops, 2.0 * 128 * 132 * 1.98e9, 1e6);
  EXPECT_NEAR(ridge(roof, true), 989.5e12 / 4.8e12, 1e-6);
  Work work;
  work.dram_bytes = 4.8e9, work.tensor_flops = 989.5e9 / 2; // 1 ms and 0.5 ms
  auto shares = roofline(work, roof, 2e6);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].roof, "dram");
  EXPECT_NEAR(shares[0].share, 0.5, 1e-9);
  EXPECT_NEAR(shares[1].share, 0.25, 1e-9);
}

TEST(HostCpu, ReadsThisMachineAndRefusesAnEmptyRoot) {
  auto cpu = read_host_cpu();
  ASSERT_TRUE(cpu.has_value());
  EXPECT_GE(cpu->logical, 1);
  EXPECT_GE(cpu->fp32_flops_per_clock(), 8);
  EXPECT_FALSE(read_host_cpu("/nonexistent"));
}

} // namespace
} // namespace ako::arch
