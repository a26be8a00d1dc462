// This machine's ceilings: measured, kept by processor, read back.
#include "loop/calibration.hpp"

#include "base/fs.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

class CalibrationTest : public testing::Test {
protected:
  CalibrationTest() : m_cache(base::TemporaryDir::make("ako-test-calibration").value()) {
    const char* before = std::getenv("XDG_CACHE_HOME");
    m_before = before ? before : "";
    ::setenv("XDG_CACHE_HOME", m_cache.path().c_str(), 1);
  }
  ~CalibrationTest() override {
    if (m_before.empty()) ::unsetenv("XDG_CACHE_HOME");
    else ::setenv("XDG_CACHE_HOME", m_before.c_str(), 1);
  }
  base::fs::path kept_file() const {
    return *base::fs::directory_iterator(m_cache.path() / "ako" / "calibration");
  }
  base::TemporaryDir m_cache;
  std::string m_before;
};

HostFacts host(const std::string& cpu, int cores) {
  HostFacts out;
  out.cpu = cpu;
  out.cores = cores;
  return out;
}

TEST_F(CalibrationTest, ComesBackForTheSameProcessorAndCoresOnly) {
  EXPECT_FALSE(load_calibration(host("A", 2)));
  Calibration made;
  made.memory_bytes_per_s = 1.5e10;
  made.cache_bytes_per_s = 4e11;
  made.flops_per_s = 1e11;
  made.clock_tick_ns = 1;
  made.call_overhead_ns = 21;
  ASSERT_TRUE(save_calibration(host("A", 2), made));
  auto read = load_calibration(host("A", 2));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->memory_bytes_per_s, made.memory_bytes_per_s);
  EXPECT_EQ(read->cache_bytes_per_s, made.cache_bytes_per_s);
  EXPECT_EQ(read->flops_per_s, made.flops_per_s);
  EXPECT_EQ(read->clock_tick_ns, made.clock_tick_ns);
  EXPECT_EQ(read->call_overhead_ns, made.call_overhead_ns);
  EXPECT_FALSE(load_calibration(host("A", 4)));
  EXPECT_FALSE(load_calibration(host("B", 2)));
}

TEST_F(CalibrationTest, ADamagedFileIsNoCalibration) {
  ASSERT_TRUE(save_calibration(host("A", 2), {}));
  std::ofstream(kept_file()) << "{\"memory_bytes_per_s\": ";
  EXPECT_FALSE(load_calibration(host("A", 2)));
}

TEST_F(CalibrationTest, EveryFigureOfThisHostIsPositive) {
  const Calibration made = calibrate_host(0.2);
  for (double figure : {made.memory_bytes_per_s, made.cache_bytes_per_s, made.flops_per_s,
                        made.clock_tick_ns, made.call_overhead_ns}) {
    EXPECT_TRUE(std::isfinite(figure));
    EXPECT_GT(figure, 0);
  }
  EXPECT_LT(made.clock_tick_ns, 1e6);
}

} // namespace
} // namespace ako::loop
