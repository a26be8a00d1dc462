// Machines where the compiler is missing, wrong, silent or short of room.
#include "bench_of_builds.hpp"
#include "executors/runner.hpp"
#include "lanes/registry.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::test {
namespace {

constexpr const char* k_good_here = "void k(const float*, float*, int, float) {}\n";

/// A folder of programs to put into PATH.
class Programs {
public:
  explicit Programs(const BuildBench& bench) : m_dir(bench.root() / "bin") {
    fs::create_directories(m_dir);
  }
  std::string path() const { return m_dir.string(); }
  void script(const std::string& name, const std::string& body) const {
    std::ofstream(m_dir / name) << "#!/bin/sh\n" << body << "\n";
    chmod((m_dir / name).c_str(), 0755);
  }

private:
  fs::path m_dir;
};

lanes::Probe probe(const BuildBench& bench, const std::string& compiler = "") {
  fs::create_directories(bench.root() / "scratch");
  return lanes::find_lane(model::Lane::cpu)
      .value()
      ->probe(compiler, bench.around, bench.root() / "scratch");
}

std::string joined(const lanes::Probe& probe) {
  std::string text = probe.summary;
  for (const auto& line : probe.looked) text += "\n" + line;
  return text;
}

TEST(CpuSurroundings, AWorkingCompilerIsProbed) {
  BuildBench bench;
  const auto found = probe(bench);
  EXPECT_TRUE(found.works) << joined(found);
  EXPECT_NE(joined(found).find("PATH 'g++': /"), std::string::npos) << joined(found);
}

TEST(CpuSurroundings, NoCompilerAtAll) {
  BuildBench bench;
  Programs programs(bench);
  bench.around.environment["PATH"] = programs.path();
  const auto result = bench.build(k_good_here);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->kind, base::ErrorKind::environment);
  EXPECT_NE(result.error->found.find("'g++': not found"), std::string::npos);
  EXPECT_NE(result.error->next.find("install"), std::string::npos);
  EXPECT_FALSE(probe(bench).works);
}

TEST(CpuSurroundings, GccWithoutItsCxxHalfIsSaidSo) {
  BuildBench bench;
  Programs programs(bench);
  programs.script("gcc", "echo gcc 12");
  bench.around.environment["PATH"] = programs.path();
  const auto result = bench.build(k_good_here);
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->found.find("compiles C"), std::string::npos) << result.error->text();
}

TEST(CpuSurroundings, AnEmptyCxxCountsAsNotSet) {
  BuildBench bench;
  bench.around.environment["CXX"] = "";
  EXPECT_TRUE(bench.build(k_good_here).artifact);
  EXPECT_NE(joined(probe(bench)).find("CXX: set but empty"), std::string::npos);
  bench.around.environment["CXX"] = "no-such-compiler";
  const auto result = bench.build(k_good_here);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->where, "CXX"); // and no other is taken in its place
}

TEST(CpuSurroundings, AFakeCompilerThatOnlyKnowsItsVersion) {
  BuildBench bench;
  Programs programs(bench);
  programs.script("g++", "echo 'g++ (GNU) 99.1.0'");
  bench.around.environment["PATH"] = programs.path() + ":/usr/bin:/bin";
  const auto found = probe(bench);
  EXPECT_FALSE(found.works);
  EXPECT_NE(found.summary.find("99.1.0"), std::string::npos) << found.summary;
  EXPECT_NE(found.summary.find("wrote no library"), std::string::npos) << found.summary;
  const auto result = bench.build(k_good_here);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.outcome.kind, model::OutcomeKind::environment);
}

TEST(CpuSurroundings, ACompilerThatHangsIsEndedWithAllItStarted) {
  BuildBench bench;
  Programs programs(bench);
  const std::string pid_file = (bench.root() / "pid").string();
  programs.script("g++", "case \"$1\" in --version) echo 'g++ (GNU) 12'; exit;; -E) exit;; esac\n"
                         "sleep 1000 & echo $! > " +
                             pid_file + "; wait");
  bench.around.environment["PATH"] = programs.path() + ":/usr/bin:/bin";
  bench.contract.limits.build_seconds = 0.5;
  const auto result = bench.build(k_good_here);
  EXPECT_EQ(result.outcome.kind, model::OutcomeKind::timeout);
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->next.find("limits.build_seconds"), std::string::npos);
  int pid = 0;
  std::ifstream(pid_file) >> pid;
  ASSERT_GT(pid, 1);
  for (int i = 0; i < 100 && kill(pid, 0) == 0; ++i) { // an orphan is reaped by init a moment later
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    if (text.find(") Z") != std::string::npos) return;
    usleep(20'000);
  }
  EXPECT_NE(kill(pid, 0), 0);
}

TEST(CpuSurroundings, NoSpaceAndNoMemoryAreTheMachinesFault) {
  const std::pair<const char*, const char*> says[] = {
      {"fatal error: error writing to /tmp/x.s: No space left on device", "no space"},
      {"g++: fatal error: Killed signal terminated program cc1plus", "out of memory"},
      {"g++: fatal error: cannot execute 'cc1plus': execvp: No such file or directory",
       "no C++ part"}};
  for (const auto& [text, words] : says) {
    BuildBench bench;
    const std::string said = text;
    const auto real = bench.around.runner;
    bench.around.runner = [&](const base::CommandOptions& options) {
      auto result = real(options);
      if (result &&
          std::find(options.argv.begin(), options.argv.end(), "-MD") != options.argv.end()) {
        result->err = said + "\n";
        result->ending.code = 1;
      }
      return result;
    };
    const auto result = bench.build(k_good_here);
    EXPECT_EQ(result.outcome.kind, model::OutcomeKind::environment) << text;
    ASSERT_TRUE(result.error);
    EXPECT_NE(result.error->message.find(words), std::string::npos) << result.error->text();
  }
}

TEST(CpuSurroundings, ACacheThatCannotBeWrittenIsNamed) {
  BuildBench bench;
  fs::create_directories(bench.cache().parent_path());
  std::ofstream(bench.cache()) << "a file stands where the folder should be";
  const auto result = bench.build(k_good_here);
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->next.find("XDG_CACHE_HOME"), std::string::npos) << result.error->text();
}

TEST(CpuSurroundings, ATemplateErrorOfThousandsOfLines) {
  BuildBench bench;
  const auto result = bench.build(
      "template <int N> struct Chain { static constexpr int v = Chain<N - 1>::v; };\n"
      "template <> struct Chain<0> { static constexpr int v = Chain<0>::none; };\n"
      "template <int N> void many() { if constexpr (N > 0) { nothing_of_the_kind(N, float(N));\n"
      "  char x[N] = \"\"; int y = x + \"a\" * N; many<N - 1>(); } }\n"
      "void k(const float*, float*, int, float) { many<300>(); }\n");
  ASSERT_TRUE(result.error);
  EXPECT_FALSE(result.error->where.empty());
  EXPECT_EQ(result.error->where.find("solution/k.cpp:"), 0u) << result.error->text();
  EXPECT_LT(result.error->text().size(), 3000u);
  EXPECT_TRUE(fs::exists(result.log_path));
}

TEST(CpuSurroundings, AnUnknownLaneListsThoseThereAre) {
  const auto lane = lanes::find_lane(model::Lane::cute_dsl);
  ASSERT_FALSE(lane);
  EXPECT_EQ(lane.error().kind, base::ErrorKind::unsupported);
  EXPECT_EQ(lane.error().allowed, "cpu, cuda, triton");
}

} // namespace
} // namespace ako::test
