#include "base/fs.hpp"
#include "base/sqlite.hpp"
#include "profiles/diagnose.hpp"
#include "profiles/nsys.hpp"
#include "profiles/torch_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::profiles {
namespace {

Span span(Timeline& t, const char* name, std::int64_t start, std::int64_t end, int stream = 1,
          Activity activity = Activity::kernel) {
  return {start, end, t.intern(name), 0, stream, activity};
}

TEST(Timeline, BusyIsTheUnionAndGapsAreBetween) {
  Timeline t;
  t.spans = {span(t, "a", 0, 100), span(t, "b", 50, 150, 2), span(t, "a", 250, 300)};
  TimelineSummary sum = summarise(t);
  EXPECT_DOUBLE_EQ(sum.busy_ns, 200); // 150 + 50, not 250
  EXPECT_DOUBLE_EQ(sum.wall_ns, 300);
  EXPECT_DOUBLE_EQ(sum.gap_ns, 100);
  EXPECT_DOUBLE_EQ(sum.overlap_ns, 50);
  ASSERT_EQ(sum.ranking.size(), 2u);
  EXPECT_EQ(sum.ranking[0].name, "a");
  EXPECT_EQ(sum.ranking[0].launches, 2);
  EXPECT_DOUBLE_EQ(sum.ranking[0].amdahl, 100.0 / 300); // 50 alone at first, 50 at the end
  EXPECT_DOUBLE_EQ(amdahl_gain(0.5, 2), 0.25);
}

TEST(Timeline, FindingsAndTheirHonestTwins) {
  auto ids = [](const Timeline& t) {
    std::vector<std::string> all;
    const model::DiagnosisReport report = diagnose_timeline(t);
    for (const auto& finding : report.kernels[0].findings) all.push_back(finding.id);
    return all;
  };
  Timeline dense, launches, host, copies;
  for (int i = 0; i < 50; ++i) {
    dense.spans.push_back(span(dense, "k", i * 10000, i * 10000 + 9900));
    launches.spans.push_back(span(launches, "k", i * 8000, i * 8000 + 3000));
    host.spans.push_back(span(host, "k", i * 100000, i * 100000 + 50000));
    copies.spans.push_back(span(copies, "k", i * 10000, i * 10000 + 5000));
    copies.spans.push_back(
        span(copies, "c", i * 10000 + 5000, i * 10000 + 10000, 2, Activity::copy));
  }
  EXPECT_THAT(ids(dense), testing::IsEmpty());
  EXPECT_THAT(ids(launches), testing::ElementsAre("launch_overhead"));
  EXPECT_THAT(ids(host), testing::ElementsAre("host_gaps"));
  EXPECT_THAT(ids(copies), testing::ElementsAre("copies_bound"));
  for (int i = 0; i < 50; ++i)
    host.spans.push_back(span(host, "cudaStreamSynchronize_v3020", i * 100000, i * 100000 + 60000,
                              0, Activity::api));
  EXPECT_THAT(ids(host), testing::Contains("sync_in_steady_state"));
}

// ashalliants/ninfer-3090#60 and others
TEST(Nsys, StackedTables) {
  auto stats = read_nsys_csv("Processing [run.sqlite] with [cuda_gpu_kern_sum.py]...\n"
                             " ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n"
                             "\"Time (%)\",\"Total Time (ns)\",\"Instances\",\"Avg (ns)\",\"Med "
                             "(ns)\",\"Min (ns)\",\"Max (ns)\",\"StdDev "
                             "(ns)\",\"GridXYZ\",\"BlockXYZ\",\"Name\"\n"
                             "58.5,\"5,850,000\",50,117000.0,116000.0,100000,130000,4000.0,\" 896  "
                             "  1    1\",\" 128    1    1\",\"void "
                             "f<double, (int)0>(double *, const double *)\"\n"
                             " ** CUDA API Summary (cuda_api_sum):\n"
                             "\"Time (%)\",\"Total Time (ns)\",\"Num Calls\",\"Name\"\n"
                             "100.0,9000000,50,cudaGraphLaunch\n"
                             "SKIPPED: run.sqlite does not contain GPU memory data.\n",
                             "f");
  ASSERT_TRUE(stats.has_value()) << stats.error().text();
  ASSERT_EQ(stats->kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(stats->kernels[0].total_ns, 5850000);
  EXPECT_EQ(stats->kernels[0].count, 50);
  EXPECT_EQ(stats->api.size(), 1u);
  EXPECT_EQ(stats->skipped.size(), 4u);
  EXPECT_TRUE(stats->hints.empty());
  auto graph = read_nsys_csv("\"Time (%)\",\"Total Time (us)\",\"Num "
                             "Calls\",\"Name\"\n100.0,9,50,cudaGraphLaunch_v10000\n",
                             "f");
  ASSERT_TRUE(graph.has_value());
  EXPECT_DOUBLE_EQ(graph->api[0].total_ns, 9000);
  ASSERT_EQ(graph->hints.size(), 1u);
  EXPECT_THAT(graph->hints[0], testing::HasSubstr("graph-level trace"));
  EXPECT_FALSE(read_nsys_csv("hello\n", "f"));
}

TEST(Nsys, StaleAndFailedExportsAreRefused) {
  auto folder = base::TemporaryDir::make("nsys");
  auto file = folder->path() / "kern_sum.csv";
  ASSERT_TRUE(base::write_file_atomic(file, "x"));
  EXPECT_TRUE(check_fresh(file, 0, 0));
  EXPECT_EQ(check_fresh(file, 4000000000LL * 1000000000, 0).error().kind, base::ErrorKind::stale);
  EXPECT_FALSE(check_fresh(file, 0, 1));
  EXPECT_FALSE(check_fresh(folder->path() / "none", 0, 0));
}

TEST(Nsys, SqliteOfVaryingColumns) {
  auto folder = base::TemporaryDir::make("nsys");
  auto path = folder->path() / "run.sqlite";
  {
    auto db = base::Database::open(path, base::Database::Mode::create);
    ASSERT_TRUE(db.has_value());
    ASSERT_TRUE(db->exec(
        "CREATE TABLE StringIds(id INTEGER, value TEXT); INSERT INTO StringIds VALUES(1,'void "
        "f()'),(2,'cudaLaunchKernel');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, shortName INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(0,100,0,1),(50,150,0,1);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, nameId INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(0,5,2);"));
  }
  auto timeline = read_nsys_sqlite(path);
  ASSERT_TRUE(timeline.has_value()) << timeline.error().text();
  TimelineSummary sum = summarise(*timeline);
  EXPECT_DOUBLE_EQ(sum.busy_ns, 150);
  ASSERT_EQ(sum.ranking.size(), 1u);
  EXPECT_EQ(sum.ranking[0].name, "void f()");
  EXPECT_EQ(sum.api_launches, 1);
  EXPECT_TRUE(diagnose_file(path).has_value());
}

TEST(TorchTrace, RealGzippedTrace) {
  auto timeline = read_torch_trace(AKO_SOURCE_DIR "/tests/golden/profiles/trace.json.gz");
  ASSERT_TRUE(timeline.has_value()) << timeline.error().text();
  TimelineSummary sum = summarise(*timeline);
  EXPECT_GT(sum.kernels, 10);
  EXPECT_GT(sum.copy_ns, 0);
  EXPECT_LE(sum.busy_ns, sum.wall_ns);
  EXPECT_EQ(timeline->device, "NVIDIA H200");
  EXPECT_TRUE(timeline->skipped.empty());
}

TEST(TorchTrace, CutOffKeepsWhatWasWhole) {
  const std::string event =
      R"({"ph":"X","cat":"kernel","name":"k \"q\"","ts":1234567890123456.789,"dur":2.5,"args":{"device":0,"stream":7,"x":{"y":[1,"]"]}}})";
  auto whole = parse_torch_trace(R"({"a":{"b":["]"]},"traceEvents":[)" + event + "]}", "f");
  ASSERT_TRUE(whole.has_value());
  ASSERT_EQ(whole->spans.size(), 1u);
  EXPECT_EQ(whole->spans[0].start_ns, 1234567890123456789);
  EXPECT_EQ(whole->spans[0].end_ns - whole->spans[0].start_ns, 2500);
  EXPECT_EQ(whole->spans[0].stream, 7);
  EXPECT_EQ(whole->name(whole->spans[0].name), "k \"q\"");
  auto cut = parse_torch_trace("{\"traceEvents\":[" + event + "," + event.substr(0, 40), "f");
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->spans.size(), 1u);
  ASSERT_EQ(cut->skipped.size(), 1u);
  EXPECT_FALSE(parse_torch_trace("{\"other\":[]}", "f"));
}

} // namespace
} // namespace ako::profiles
