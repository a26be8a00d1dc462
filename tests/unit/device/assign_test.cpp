// Records into calls: pure, no driver.
#include "device/inventory.hpp"
#include "device/sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::device {
namespace {

Record ours(const char* name, std::uint64_t start, std::uint64_t end) {
  return {Record::Kind::kernel, start, end, 7, 0, 0, name};
}
Record theirs(std::uint64_t start, std::uint64_t end, std::uint32_t stream = 7,
              Record::Kind kind = Record::Kind::kernel) {
  return {kind, start, end, stream, 0, 0, kind == Record::Kind::kernel ? "scale" : ""};
}

TEST(Assign, ACallIsWhatLiesBetweenTwoOfOurs) {
  std::vector<TimedCall> calls;
  int stray = 0;
  const std::vector<Record> records{
      ours("ako_sweep", 0, 100),   theirs(110, 150), theirs(160, 200, 7, Record::Kind::copy),
      ours("ako_sweep", 210, 300), theirs(310, 340), ours("ako_mark", 350, 351)};
  ASSERT_TRUE(assign(records, {1, 1}, calls, stray));
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].span_ns, 90);
  EXPECT_EQ(calls[0].busy_ns, 80);
  EXPECT_EQ(calls[0].kernels, 1);
  EXPECT_EQ(calls[0].copies, 1);
  EXPECT_EQ(calls[1].span_ns, 30);
  EXPECT_EQ(stray, 0);
}

TEST(Assign, KernelsThatOverlapAreBusyOnce) {
  std::vector<TimedCall> calls;
  int stray = 0;
  const std::vector<Record> records{ours("ako_mark", 0, 1), theirs(10, 50), theirs(20, 40, 9),
                                    theirs(45, 60, 9), ours("ako_mark", 70, 71)};
  ASSERT_TRUE(assign(records, {1}, calls, stray));
  EXPECT_EQ(calls[0].busy_ns, 50);
  EXPECT_EQ(calls[0].span_ns, 50);
}

TEST(Assign, WorkOutsideEveryWindowIsStray) {
  std::vector<TimedCall> calls;
  int stray = 0;
  // The culprit runs in a stream of its own, while the gate holds ours.
  const std::vector<Record> records{theirs(0, 40, 9), ours("ako_sweep", 50, 60),
                                    ours("ako_mark", 70, 71)};
  ASSERT_TRUE(assign(records, {1}, calls, stray));
  EXPECT_EQ(stray, 1);
  EXPECT_EQ(calls[0].span_ns, 0);
}

TEST(Assign, AKernelThatStartsWhileTheOneBeforeEndsIsTimedFromItsBegin) {
  std::vector<TimedCall> calls;
  int stray = 0;
  std::vector<Record> records{ours("ako_sweep", 0, 100), theirs(95, 150),
                              ours("ako_mark", 160, 161)};
  ASSERT_TRUE(assign(records, {1}, calls, stray));
  EXPECT_EQ(stray, 0);
  EXPECT_EQ(calls[0].span_ns, 55);
  records[1].stream = 9; // the same in another stream is nobody's call
  ASSERT_TRUE(assign(records, {1}, calls, stray));
  EXPECT_EQ(stray, 1);
}

TEST(Assign, WhatPassedBetweenOursIsKnownWithoutRecords) {
  std::vector<TimedCall> calls;
  int stray = 0;
  // 400 ns of work left no record; a decoy of 10 ns did.
  const std::vector<Record> records{ours("ako_sweep", 0, 100), theirs(500, 510),
                                    ours("ako_mark", 520, 521)};
  ASSERT_TRUE(assign(records, {1}, calls, stray));
  EXPECT_EQ(calls[0].span_ns, 10);
  EXPECT_EQ(calls[0].window_ns, 420);
}

TEST(Assign, LostRecordsAreAnErrorAndNotAShortTime) {
  std::vector<TimedCall> calls;
  int stray = 0;
  const std::vector<Record> records{ours("ako_sweep", 0, 10), theirs(20, 30)};
  const auto status = assign(records, {1}, calls, stray);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().text(), testing::HasSubstr("1 of ako's own kernels"));
  EXPECT_EQ(status.error().kind, base::ErrorKind::environment);
}

TEST(Visible, AllFormsOfTheVariable) {
  const std::vector<std::string> all{"GPU-aa11", "GPU-aa22", "GPU-bb33"};
  using Names = std::vector<std::string>;
  EXPECT_EQ(visible_uuids(std::nullopt, all), all);
  EXPECT_EQ(visible_uuids("", all), Names{});
  EXPECT_EQ(visible_uuids("2,0", all), (Names{"GPU-bb33", "GPU-aa11"}));
  EXPECT_EQ(visible_uuids(" 1 , 2", all), (Names{"GPU-aa22", "GPU-bb33"}));
  EXPECT_EQ(visible_uuids("GPU-b,0", all), (Names{"GPU-bb33", "GPU-aa11"}));
  EXPECT_EQ(visible_uuids("GPU-aa", all), Names{}) << "not unique";
  EXPECT_EQ(visible_uuids("0,-1,2", all), Names{"GPU-aa11"}) << "ends at the first that is none";
  EXPECT_EQ(visible_uuids("0,9,1", all), Names{"GPU-aa11"});
  EXPECT_EQ(visible_uuids("NoDevFiles", all), Names{});
  EXPECT_EQ(visible_uuids("0,0", all), Names{}) << "named twice";
}

} // namespace
} // namespace ako::device
