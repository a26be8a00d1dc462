// Numbers out of what serving, batch and diffusion benchmarks print, and what they must reach.
#include "profiles/benchmarks.hpp"

#include "base/fs.hpp"

#include <gtest/gtest.h>

namespace ako::profiles {
namespace {

std::string golden_benchmark(const std::string& name) {
  auto text = base::read_file(std::string(AKO_SOURCE_DIR) + "/tests/golden/benchmarks/" + name);
  EXPECT_TRUE(text) << text.error().text();
  return text.value_or("");
}

struct Reading {
  const char* file;
  const char* how;
  double value;
};

const Reading k_readings[] = {
    {"sglang_serving.txt", "sglang:output_throughput", 163.84},
    {"sglang_serving.txt", "sglang:total_token_throughput", 819.2},
    {"sglang_serving.txt", "sglang:mean_ttft_ms", 71.75},
    {"sglang_serving.txt", "sglang:median_e2e_latency_ms", 2050.5},
    {"sglang_serving.txt", "sglang:duration", 12.5},
    {"sglang_serving.jsonl", "sglang:output_throughput", 163.84}, // the last run in the file
    {"sglang_serving.jsonl", "/request_throughput", 1.28},
    {"sglang_one_batch.txt", "sglang:prefill_latency", 0.025}, // not the warm-up's
    {"sglang_one_batch.txt", "sglang:median_decode_throughput", 156.25},
    {"sglang_one_batch.txt", "sglang:overall_throughput", 3520},
    {"vllm_serve.json", "vllm:output_throughput", 163.84},
    {"vllm_serve.json", "vllm:p99_tpot_ms", 18.5},
    {"vllm_serve.json", "/ttfts/1", 0.073},
    {"vllm_throughput.txt", "vllm:requests_per_second", 4.72},
    {"vllm_throughput.txt", "vllm:output_tokens_per_second", 708.33},
    {"vllm_latency.txt", "vllm:avg_latency", 0.41666},
    {"vllm_latency.txt", "vllm:percentile_99", 0.4312},
    {"vllm_latency.json", "vllm:percentile_50", 0.4159},
    {"diffusion.txt", "diffusion:total_seconds", 21.75},
    {"diffusion.txt", "diffusion:step_seconds", 0.5},
    {"diffusion.txt", "diffusion:denoising_seconds", 20},
    {"vllm_throughput.txt", "Total num output tokens: *([0-9]+)", 2048},
};

TEST(Benchmarks, EachFormatIsRead) {
  for (const auto& each : k_readings) {
    const auto value = read_number(golden_benchmark(each.file), each.how);
    ASSERT_TRUE(value) << each.file << " " << each.how << "\n" << value.error().text();
    EXPECT_DOUBLE_EQ(*value, each.value) << each.file << " " << each.how;
  }
}

TEST(Benchmarks, WhatIsNotThereIsSaidWithWhatIs) {
  const auto missing = read_number(golden_benchmark("vllm_serve.json"), "vllm:p50_ttft_ms");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().found.find("mean_ttft_ms"), std::string::npos);
  for (const char* how :
       {"/no/such", "vllm:x", "sglang:x", "diffusion:x", "([0-9", "nothing ([0-9]+)"})
    EXPECT_FALSE(read_number("words and no numbers\n", how)) << how;
  EXPECT_FALSE(read_number("{\"a\": null}", "/a"));
  EXPECT_FALSE(read_number("{\"a\": \"12\"}", "/a"));
  EXPECT_FALSE(read_number("nan", "(nan)"));
  EXPECT_FALSE(read_number("", "vllm:avg_latency"));
}

TEST(Benchmarks, AFileMayHoldTheNumber) {
  EXPECT_EQ(parse_read("file:out/a.json#/x").file, "out/a.json");
  EXPECT_EQ(parse_read("file:out/a.json#/x").how, "/x");
  EXPECT_EQ(parse_read("vllm:avg_latency").file, "");
}

TEST(Benchmarks, RequirementsAreHeldAgainstTheBase) {
  struct Case {
    const char* must;
    double value, base;
    bool met;
  };
  for (const Case& each :
       {Case{">= 0.99*base", 99, 100, true}, Case{">= 0.99*base", 98.9, 100, false},
        Case{"<= base + 1", 101, 100, true}, Case{"<= 1.01 * base", 102, 100, false},
        Case{"> 5", 5, 0, false}, Case{"== base", 3, 3, true}, Case{"< (base - 2)/2", 3, 10, true},
        Case{">= -1", 0, 0, true}}) {
    const auto made = require(each.must, each.value, each.base);
    ASSERT_TRUE(made) << each.must;
    EXPECT_EQ(made->met, each.met) << each.must;
  }
  for (const char* must :
       {"", "0.99*base", ">= ", ">= base base", ">= x", ">= base/0", ">= (base", "=> 3"})
    EXPECT_FALSE(require(must, 1, 1)) << must;
}

} // namespace
} // namespace ako::profiles
