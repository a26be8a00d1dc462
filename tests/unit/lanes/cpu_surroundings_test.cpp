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

/// What comes of a build whose compiler fails with these words.
lanes::BuildResult after_words(const std::string& said) {
  BuildBench bench;
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
  return bench.build(k_good_here);
}

TEST(CpuSurroundings, NoSpaceAndNoMemoryAreTheMachinesFault) {
  const std::pair<const char*, const char*> says[] = {
      {"fatal error: error writing to /tmp/x.s: No space left on device", "no space"},
      {"solution/k.cpp:1:1: fatal error: error writing to /tmp/x.s: No space left on device",
       "no space"},
      {"/tmp/x.s: Fatal error: can't write 56 bytes to section .text of x.o: 'No space left on "
       "device'",
       "no space"},
      {"/usr/bin/ld: final link failed: No space left on device", "no space"},
      {"error: unable to open output file 'x.o': 'No space left on device'", "no space"},
      {"g++: fatal error: Killed signal terminated program cc1plus", "out of memory"},
      {"x86_64-linux-gnu-g++-12: fatal error: Killed signal terminated program cc1plus",
       "out of memory"},
      {"cc1plus: out of memory allocating 65536 bytes after a total of 4096 bytes",
       "out of memory"},
      {"virtual memory exhausted: Cannot allocate memory", "out of memory"},
      {"collect2: fatal error: ld terminated with signal 9 [Killed]", "out of memory"},
      {"clang++-15: error: unable to execute command: Killed", "out of memory"},
      {"nvcc error   : 'cicc' died due to signal 9 (Kill signal)", "out of memory"},
      {"solution/k.cu(1): catastrophic error: out of memory", "out of memory"},
      {"g++: fatal error: cannot execute 'cc1plus': execvp: No such file or directory",
       "no C++ part"}};
  for (const auto& [text, words] : says) {
    const auto result = after_words(text);
    EXPECT_EQ(result.outcome.kind, model::OutcomeKind::environment) << text;
    ASSERT_TRUE(result.error);
    EXPECT_NE(result.error->message.find(words), std::string::npos) << result.error->text();
  }
}

TEST(CpuSurroundings, TheSameWordsInASourceAreTheCandidatesFault) {
  for (const char* text : {
           "solution/k.cpp:1:28: error: static assertion failed: out of memory\n"
           "    1 | static_assert(sizeof(int) == 8, \"out of memory\");",
           "solution/k.cpp:1:2: error: #error g++: fatal error: Killed signal terminated program",
           "solution/k.cpp:1:2: error: #error No space left on device",
           "solution/k.cpp(1): error: static assertion failed with \"'cicc' died due to signal 9\"",
           "solution/k.cpp:1:10: fatal error: out of memory: No such file or directory",
           // What was said of the source comes first, whatever a text of its own adds in a new
           // line.
           "solution/k.cpp:1:15: error: static assertion failed: x\n"
           "g++: fatal error: Killed signal terminated program cc1plus",
           "/usr/bin/ld: /tmp/x.o: undefined reference to `No space left on device'",
           "/tmp/x.s:12: Error: out of memory",
       }) {
    const auto result = after_words(text);
    EXPECT_EQ(result.outcome.kind, model::OutcomeKind::build_failed) << text;
    EXPECT_EQ(result.outcome.fault, model::Fault::candidate) << text;
  }
  BuildBench bench;
  const auto result = bench.build("static_assert(sizeof(int) == 8, \"out of memory\");\n" +
                                  std::string(k_good_here));
  EXPECT_EQ(result.outcome.kind, model::OutcomeKind::build_failed);
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->found.find("out of memory"), std::string::npos) << result.error->text();
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

TEST(CpuSurroundings, EveryLaneOfAContractIsThere) {
  for (const auto* name : {"cpu", "cuda", "cutlass", "triton", "cute-dsl"}) {
    const auto lane = model::lane_from(name);
    ASSERT_TRUE(lane) << name;
    const auto driver = lanes::find_lane(*lane);
    ASSERT_TRUE(driver) << name;
    EXPECT_EQ((*driver)->lane(), *lane) << name;
  }
  EXPECT_EQ(lanes::all_lanes().size(), 5u);
}

} // namespace
} // namespace ako::test
