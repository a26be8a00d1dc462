#include "base/fs.hpp"
#include "profiles/code_report.hpp"
#include "profiles/sanitizer.hpp"
#include "profiles/sass.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::profiles {
namespace {

std::string golden(const char* name) {
  return base::read_file(std::string(AKO_SOURCE_DIR "/tests/golden/profiles/") + name).value_or("");
}

TEST(Sass, MixOfRealFunctions) {
  auto copy = read_sass(golden("sass_stream_copy.txt"), "f");
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ((*copy)[0].load_bits.at(128), 4);
  EXPECT_EQ((*copy)[0].store_bits.at(128), 4);
  EXPECT_EQ((*copy)[0].tensor, 0);
  auto mma = read_sass(golden("sass_mma_loop.txt"), "f");
  ASSERT_TRUE(mma.has_value());
  const SassFunction *warp = nullptr, *group = nullptr;
  for (const SassFunction& function : *mma) {
    if (function.name.find("8mma_loop") != std::string::npos) warp = &function;
    if (function.name.find("10wgmma_loop") != std::string::npos) group = &function;
  }
  ASSERT_TRUE(warp && group);
  EXPECT_EQ(warp->opcodes.at("HMMA"), warp->tensor);
  EXPECT_GE(warp->tensor, 8);
  EXPECT_EQ(warp->wgmma, 0);
  EXPECT_GE(group->wgmma, 4);
  auto sort = read_sass(golden("sass_local_sort.txt"), "f");
  ASSERT_TRUE(sort.has_value());
  EXPECT_GT((*sort)[0].local_loads, 0);
  EXPECT_GT((*sort)[0].local_stores, 0);
  EXPECT_TRUE(diff_sass((*copy)[0], (*copy)[0]).empty());
  EXPECT_THAT(diff_sass((*copy)[0], *warp), testing::Contains("global loads of 128 bits 4 -> 0"));
  EXPECT_FALSE(read_sass("nothing", "f"));
}

TEST(Sass, ResourceReports) {
  auto ptxas =
      read_resources("ptxas info    : Compiling entry function '_Z1fPf' for 'sm_90a'\n"
                     "ptxas info    : Function properties for _Z1fPf\n"
                     "    576 bytes stack frame, 1252 bytes spill stores, 1448 bytes spill loads\n"
                     "ptxas info    : Used 32 registers, used 1 barriers, 4096 bytes smem\n",
                     "f");
  ASSERT_TRUE(ptxas.has_value());
  EXPECT_EQ((*ptxas)[0].function, "_Z1fPf");
  EXPECT_EQ((*ptxas)[0].architecture, "sm_90a");
  EXPECT_EQ((*ptxas)[0].registers, 32);
  EXPECT_EQ((*ptxas)[0].spill_store_bytes, 1252);
  EXPECT_EQ((*ptxas)[0].spill_load_bytes, 1448);
  EXPECT_EQ((*ptxas)[0].shared_bytes, 4096);
  auto usage = read_resources(golden("resource_usage.txt"), "f");
  ASSERT_TRUE(usage.has_value());
  EXPECT_EQ((*usage)[0].architecture, "sm_90a");
  EXPECT_GT((*usage)[0].registers, 0);
}

TEST(Sanitizer, RealOutputs) {
  auto oob = read_sanitizer(golden("sanitizer_memcheck_oob.txt"), "f");
  ASSERT_TRUE(oob.has_value());
  EXPECT_EQ(oob->errors, 2);
  ASSERT_GE(oob->findings.size(), 1u);
  EXPECT_EQ(oob->findings[0].kind, FaultKind::out_of_bounds);
  EXPECT_EQ(oob->findings[0].file, "faults.cu");
  EXPECT_EQ(oob->findings[0].line, 15);
  EXPECT_EQ(oob->findings[0].function, "write_past_end(float *, int)");
  EXPECT_EQ(oob->findings[0].block, "(4,0,0)");
  auto race = read_sanitizer(golden("sanitizer_racecheck_race.txt"), "f");
  ASSERT_TRUE(race.has_value());
  ASSERT_EQ(race->findings.size(), 1u);
  EXPECT_EQ(race->findings[0].kind, FaultKind::race);
  EXPECT_EQ(race->findings[0].line, 8);
  EXPECT_THAT(race->findings[0].text, testing::HasSubstr("faults.cu:10"));
  auto reads = read_sanitizer(golden("sanitizer_initcheck_uninitialised.txt"), "f");
  ASSERT_TRUE(reads.has_value());
  ASSERT_EQ(reads->findings.size(), 1u);
  EXPECT_GT(reads->findings[0].times, 5);
  EXPECT_EQ(reads->errors, 256);
  // The honest twin: memcheck has nothing to say about a race.
  auto clean = read_sanitizer(golden("sanitizer_memcheck_race.txt"), "f");
  ASSERT_TRUE(clean.has_value());
  EXPECT_TRUE(clean->findings.empty());
  EXPECT_EQ(clean->errors, 0);
  EXPECT_FALSE(read_sanitizer("hello", "f"));
}

TEST(CodeText, ToldApartByContent) {
  auto sass = read_code_text(golden("sass_stream_copy.txt"), "f");
  ASSERT_TRUE(sass && *sass);
  EXPECT_TRUE(std::holds_alternative<Disassembly>(**sass));
  EXPECT_THAT(to_text(**sass), testing::HasSubstr("4 x 128 bit"));
  auto resources = read_code_text(golden("resource_usage.txt"), "f");
  ASSERT_TRUE(resources && *resources);
  EXPECT_TRUE(std::holds_alternative<Resources>(**resources));
  auto faults = read_code_text(golden("sanitizer_memcheck_oob.txt"), "f");
  ASSERT_TRUE(faults && *faults);
  EXPECT_THAT(to_text(**faults), testing::HasSubstr("faults.cu:15: out of bounds"));
  EXPECT_EQ(to_json(**faults)["sanitizer"]["errors"], 2);
  EXPECT_FALSE(read_code_text("\"ID\",\"Kernel Name\"\n", "f").has_value());
}

TEST(CodeText, WhatTheCompilerChanged) {
  auto before = read_code_text(golden("sass_stream_copy.txt"), "f");
  auto after = read_code_text(golden("sass_local_sort.txt"), "f");
  ASSERT_TRUE(before && *before && after && *after);
  auto same = code_delta(**before, **before);
  ASSERT_TRUE(same.has_value());
  for (const auto& function : same->functions) EXPECT_TRUE(function.changes.empty());
  auto delta = code_delta(**before, **after);
  ASSERT_TRUE(delta.has_value());
  EXPECT_FALSE(to_text(*delta).empty());
  auto usage = read_code_text(golden("resource_usage.txt"), "f");
  EXPECT_FALSE(code_delta(**before, **usage));
  ResourceUse lean, fat;
  lean.function = fat.function = "k", lean.registers = 32, fat.registers = 40;
  auto registers = code_delta(Resources{lean}, Resources{fat});
  ASSERT_TRUE(registers.has_value());
  EXPECT_THAT(registers->functions[0].changes, testing::ElementsAre("registers 32 -> 40"));
}

} // namespace
} // namespace ako::profiles
