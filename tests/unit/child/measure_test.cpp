#include "measure/cache.hpp"
#include "measure/ticks.hpp"

#include <ctime>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace ako::measure {
namespace {

TEST(Ticks, AgreeWithTheKernelsClock) {
  Ticks ticks;
  double worst = 0, best = 1;
  for (int i = 0; i < 5; ++i) {
    const auto begin_ns = raw_clock_ns(CLOCK_MONOTONIC);
    const auto begin = ticks.now();
    timespec nap{0, 20'000'000};
    nanosleep(&nap, nullptr);
    const auto end = ticks.now();
    const auto end_ns = raw_clock_ns(CLOCK_MONOTONIC);
    const double error = ticks.to_ns(end - begin) / static_cast<double>(end_ns - begin_ns) - 1;
    worst = std::max(worst, error);
    best = std::min(best, std::abs(error));
  }
  EXPECT_LT(best, 0.001);  // a preemption between the two clocks may spoil one of them, not all
  EXPECT_LT(worst, 0.001); // and can only make the outer interval longer
}

TEST(Ticks, OverheadIsMeasuredAndSmall) {
  const Ticks ticks;
  EXPECT_GT(ticks.overhead_ns(), 0);
  EXPECT_LT(ticks.overhead_ns(), 2000);
  EXPECT_GE(ticks.noise_ns(), 0);
}

TEST(Ticks, RawClockIsTheMonotonicOne) {
  timespec now{};
  const auto before = raw_clock_ns(CLOCK_MONOTONIC);
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto after = raw_clock_ns(CLOCK_MONOTONIC);
  const auto ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  EXPECT_LE(before, ns);
  EXPECT_GE(after, ns);
}

TEST(CoreClock, IsInTheRangeOfProcessors) {
  const Ticks ticks;
  const double clock = core_clock(ticks, 2'000'000);
  EXPECT_GT(clock, 0.2);
  EXPECT_LT(clock, 12);
}

TEST(Cache, IsFound) {
  const auto facts = find_cache();
  EXPECT_GE(facts.bytes, 1u << 16);
  EXPECT_LE(facts.bytes, std::uint64_t{4} << 30);
  EXPECT_TRUE(facts.line == 64 || facts.line == 128);
}

TEST(Cache, EvictionEvictsAndTheProbeNoticesWhenItDoesNot) {
  const Ticks ticks;
  const auto facts = find_cache();
  const auto enough = EvictBuffer::make(2 * facts.bytes, facts.line);
  const auto too_little = EvictBuffer::make(64 << 10, facts.line);
  ASSERT_GT(enough.bytes(), 0u);
  const std::vector<char> memory(1 << 20, 1);
  // The best of a few: other work on the machine evicts as well, and never fills.
  double resident = 1, kept = 0;
  for (int i = 0; i < 5; ++i) {
    const auto evicted = probe_residency(ticks, enough, memory.data(), memory.size(), facts.line);
    const auto warm = probe_residency(ticks, too_little, memory.data(), memory.size(), facts.line);
    resident = std::min(resident, evicted.resident_share);
    kept = std::max(kept, warm.resident_share);
  }
  EXPECT_LT(resident, 0.1);
  EXPECT_GT(kept, 0.8);
}

TEST(Cache, ReadingLinesChangesNothing) {
  std::vector<unsigned char> bytes(1001);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
  const auto before = bytes;
  read_lines(bytes.data(), bytes.size(), 64);
  read_lines(bytes.data(), 3, 64);
  read_lines(bytes.data(), 0, 64);
  EXPECT_EQ(bytes, before);
}

TEST(Cache, ReadingTouchesEveryPage) {
  for (const std::size_t bytes : {std::size_t{3} << 20, (std::size_t{5} << 20) + 4096 * 3 + 100}) {
    const int fd = memfd_create("pages", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
    void* data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_NE(data, MAP_FAILED);
    read_lines(data, bytes, 64);
    std::vector<unsigned char> there((bytes + 4095) / 4096);
    ASSERT_EQ(mincore(data, bytes, there.data()), 0);
    for (std::size_t page = 0; page < there.size(); ++page)
      EXPECT_TRUE(there[page] & 1) << page << " of " << there.size();
    munmap(data, bytes);
    close(fd);
  }
}

} // namespace
} // namespace ako::measure
