#include "base/fs.hpp"
#include "profiles/ncu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::profiles {
namespace {

using testing::HasSubstr;

const std::string k_long_header =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel "
    "Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid "
    "Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
const std::string k_short_header =
    "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";

double value(const NcuReport& report, std::int64_t id, const char* metric) {
  for (const NcuKernel& kernel : report.kernels)
    if (kernel.id == id) return kernel.get(metric).value_or(-1);
  return -2;
}

// meta-pytorch/KernelAgent#141
TEST(Ncu, FindsTheTableInsideTheNoise) {
  const std::string text = "==WARNING== Unable to deploy section files to \"/root/Documents\": "
                           "read-only, using stock files\n"
                           "==PROF== Connected to process 4711 (/usr/bin/python3)\n"
                           "epoch,loss\n"
                           "\"ID\",\"note\",\"printed by the app, not by ncu\"\n"
                           "==PROF== Profiling \"k_main\": 0%....50%....100% - 3 passes\n" +
                           k_long_header +
                           "\"0\",\"4711\",\"python3\",\"127.0.0.1\",\"void k_main<float, "
                           "128>(const float *, float *, int)\",\"1\",\"7\",\"(128, 1, "
                           "1)\",\"(64, 1, 1)\",\"0\",\"9.0\",\"Command line profiler "
                           "metrics\",\"gpu__time_duration.sum\",\"ns\",\"5120\"\n"
                           "done, result = 3\n"
                           "==PROF== Disconnected from process 4711\n";
  auto report = read_ncu(text, "f");
  ASSERT_TRUE(report.has_value()) << report.error().text();
  ASSERT_EQ(report->kernels.size(), 1u);
  EXPECT_EQ(report->kernels[0].name, "void k_main<float, 128>(const float *, float *, int)");
  EXPECT_EQ(report->kernels[0].grid, "(64, 1, 1)");
  EXPECT_DOUBLE_EQ(value(*report, 0, "gpu__time_duration.sum"), 5120);
  ASSERT_EQ(report->skipped.size(), 7u); // every line that is neither header nor row
  EXPECT_EQ(report->skipped[3].line, 4);
  EXPECT_EQ(report->skipped[5].line, 8);
}

// meta-pytorch/KernelAgent#134
TEST(Ncu, RawPageWithItsRowOfUnits) {
  auto report = read_ncu(
      "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid "
      "Size\",\"gpu__time_duration.sum\",\"dram__throughput.avg.pct_of_peak_sustained_elapsed\"\n"
      "\"\",\"\",\"\",\"\",\"ns\",\"%\"\n\"0\",\"k_main\",\"(128, 1, 1)\",\"(64, 1, "
      "1)\",\"5,120\",\"41.50\"\n",
      "f");
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_DOUBLE_EQ(value(*report, 0, "gpu__time_duration.sum"), 5120);
  EXPECT_DOUBLE_EQ(value(*report, 0, "dram__throughput.avg.pct_of_peak_sustained_elapsed"), 41.5);
  EXPECT_TRUE(report->skipped.empty());
}

const std::string k_point_rows =
    "\"0\",\"k\",\"dram__bytes_read.sum\",\"Mbyte\",\"500\"\n"
    "\"1\",\"k\",\"dram__bytes_read.sum\",\"Gbyte\",\"1.5\"\n"
    "\"2\",\"k\",\"gpu__time_duration.sum\",\"us\",\"1,205.00\"\n"
    "\"3\",\"k\",\"gpu__time_duration.sum\",\"usecond\",\"1.205\"\n"
    "\"4\",\"k\",\"gpu__time_duration.sum\",\"msecond\",\"1,200\"\n"
    "\"5\",\"k\",\"smsp__cycles_active.avg\",\"cycle\",\"1,215,000,000.50\"\n"
    "\"6\",\"k\",\"dram__bytes_read.sum\",\"furlong\",\"3\"\n";
const std::string k_comma_rows =
    "\"10\",\"k\",\"dram__throughput.avg.pct_of_peak_sustained_elapsed\",\"%\",\"9,00\"\n"
    "\"11\",\"k\",\"gpu__time_duration.sum\",\"usecond\",\"1.205,50\"\n\"12\",\"k\",\"gpu__time_"
    "duration.sum\",\"usecond\",\"1,205\"\n";

TEST(Ncu, UnitsOfEachRowAndPointDecimals) {
  auto report = read_ncu(k_short_header + k_point_rows, "f");
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_DOUBLE_EQ(value(*report, 0, "dram__bytes_read.sum"), 5e8);
  EXPECT_DOUBLE_EQ(value(*report, 1, "dram__bytes_read.sum"), 1.5e9);
  EXPECT_DOUBLE_EQ(value(*report, 2, "gpu__time_duration.sum"), 1205000);
  EXPECT_DOUBLE_EQ(value(*report, 3, "gpu__time_duration.sum"), 1205);
  EXPECT_DOUBLE_EQ(value(*report, 4, "gpu__time_duration.sum"), 1.2e9);
  EXPECT_DOUBLE_EQ(value(*report, 5, "smsp__cycles_active.avg"), 1215000000.5);
  EXPECT_DOUBLE_EQ(value(*report, 6, "dram__bytes_read.sum"), -1); // never a guess
  ASSERT_EQ(report->skipped.size(), 1u);
  EXPECT_EQ(report->skipped[0].line, 8);
  EXPECT_THAT(report->skipped[0].reason, HasSubstr("furlong"));
}

TEST(Ncu, CommaDecimals) {
  auto report = read_ncu(k_short_header + k_comma_rows, "f");
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_DOUBLE_EQ(value(*report, 10, "dram__throughput.avg.pct_of_peak_sustained_elapsed"), 9);
  EXPECT_DOUBLE_EQ(value(*report, 11, "gpu__time_duration.sum"), 1205500);
  EXPECT_DOUBLE_EQ(value(*report, 12, "gpu__time_duration.sum"), 1205);
}

TEST(Ncu, AmbiguousAndMixedFormatsAreRefused) {
  const std::string one =
      k_short_header + "\"0\",\"k\",\"gpu__time_duration.sum\",\"msecond\",\"1,200\"\n";
  auto ambiguous = read_ncu(one, "f");
  ASSERT_FALSE(ambiguous.has_value());
  EXPECT_THAT(ambiguous.error().message, HasSubstr("ambiguous number format"));
  auto known = read_ncu(one, "f", RunLocale::c);
  ASSERT_TRUE(known.has_value());
  EXPECT_DOUBLE_EQ(value(*known, 0, "gpu__time_duration.sum"), 1.2e9);
  auto mixed = read_ncu(k_short_header + k_point_rows + k_comma_rows, "f");
  ASSERT_FALSE(mixed.has_value());
  EXPECT_THAT(mixed.error().message, HasSubstr("mixed number formats"));
}

TEST(Ncu, AbsentValuesAndDamagedRows) {
  auto report = read_ncu(
      k_short_header +
          "\"0\",\"k\",\"a__b.sum\",\"\",\"n/a\"\n\"0\",\"k\",\"a__c.sum\",\"\",\"(!) nan\"\n"
          "\"0\",\"k\",\"a__d.sum\",\"\",\"(!) 2.5\"\n\"0\",\"k\",\"a__e.sum\"\n"
          "\"x\",\"k\",\"a__f.sum\",\"\",\"1\"\n\"0\",\"k\",\"a__g.sum\",\"\",\"1;\n",
      "f");
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_DOUBLE_EQ(value(*report, 0, "a__d.sum"), 2.5);
  EXPECT_DOUBLE_EQ(value(*report, 0, "a__b.sum"), -1);
  ASSERT_EQ(report->skipped.size(), 5u);
  EXPECT_THAT(report->skipped[4].reason, HasSubstr("cut off"));
}

TEST(Ncu, NvtxColumnsSummariesAndInstances) {
  auto nvtx = read_ncu(
      "\"ID\",\"Process ID\",\"Id:Domain:Start/Stop_Range:PL_Type\",\"Kernel "
      "Name\",\"gpu__time_duration.sum\"\n"
      "\"\",\"\",\"\",\"\",\"us\"\n\"3\",\"1\",\"a \"\"range\"\"\",\"k\",\"7.50 (1.5; 6.0)\"\n",
      "f");
  ASSERT_TRUE(nvtx.has_value()) << nvtx.error().text();
  EXPECT_DOUBLE_EQ(value(*nvtx, 3, "gpu__time_duration.sum"), 7500);
  auto summary = read_ncu(
      "\"Process ID\",\"Kernel Name\",\"Invocations\",\"Section Name\",\"Metric Name\",\"Metric "
      "Unit\",\"Minimum\",\"Maximum\",\"Average\"\n\"1\",\"k\",\"12\",\"GPU Speed Of Light "
      "Throughput\",\"Duration\",\"us\",\"1.25\",\"9.5\",\"4.75\"\n",
      "f");
  ASSERT_TRUE(summary.has_value()) << summary.error().text();
  EXPECT_EQ(summary->kernels[0].invocations, 12);
  EXPECT_DOUBLE_EQ(value(*summary, 0, "gpu__time_duration.sum"), 4750);
}

TEST(Ncu, AForgedSecondTableIsNoticed) {
  const std::string row = "\"0\",\"k\",\"gpu__time_duration.sum\",\"ns\",\"5120\"\n";
  const std::string table = k_short_header + row;
  auto forged = read_ncu(table + "text\n" + table, "f");
  ASSERT_FALSE(forged.has_value());
  EXPECT_THAT(forged.error().message, HasSubstr("claim the same launch"));
  // The honest twin: another launch in a second table.
  auto honest = read_ncu(table + "text\n" + k_short_header +
                             "\"1\",\"k\",\"gpu__time_duration.sum\",\"ns\",\"99\"\n",
                         "f");
  ASSERT_TRUE(honest.has_value());
  EXPECT_EQ(honest->kernels.size(), 2u);
}

TEST(Ncu, NamedFailures) {
  auto permission =
      read_ncu("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\nresult 3\n", "f");
  ASSERT_FALSE(permission.has_value());
  EXPECT_EQ(permission.error().kind, base::ErrorKind::environment);
  EXPECT_THAT(permission.error().message, HasSubstr("not permitted"));
  auto locked =
      read_ncu("==ERROR== Profiling failed because a driver resource was unavailable.\n", "f");
  EXPECT_THAT(locked.error().message, HasSubstr("get hold"));
  auto none = read_ncu("==WARNING== No kernels were profiled.\n", "f");
  EXPECT_THAT(none.error().message, HasSubstr("no kernel"));
  auto half = read_ncu(k_short_header, "f");
  EXPECT_THAT(half.error().message, HasSubstr("no whole row"));
  EXPECT_FALSE(read_ncu("", "f"));
}

TEST(Ncu, TheRealMixedStream) {
  auto text = base::read_file(AKO_SOURCE_DIR "/tests/golden/ncu/given/app_stdout_mixed.csv");
  ASSERT_TRUE(text.has_value());
  auto report = read_ncu(*text, "f");
  ASSERT_TRUE(report.has_value()) << report.error().text();
  ASSERT_EQ(report->kernels.size(), 1u);
  EXPECT_GT(report->kernels[0].get("gpu__time_duration.sum").value_or(0), 1000);
  EXPECT_GE(report->skipped.size(), 10u);
}

} // namespace
} // namespace ako::profiles
