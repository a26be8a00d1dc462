// ako's use of Nsight Compute, on a scripted ncu that runs the target and then shows a real
// capture.
#include "base/fs.hpp"
#include "executors/runner.hpp"
#include "loop/capture.hpp"
#include "loop/profile.hpp"

#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using testing::HasSubstr;

const char* const k_ncu = R"sh(#!/bin/sh
say="$0.calls"
echo "$*" >> "$say"
env | grep -E '^(LC_ALL|HOME|TMPDIR|LANG)=' | sort > "$0.env"
[ "$1" = --version ] && { echo "Version 2025.3.1.0 (build 1)"; exit 0; }
import= export= log= page=
while [ $# -gt 0 ]; do
  case "$1" in
    --import) import="$2"; shift 2 ;;
    --page) page="$2"; shift 2 ;;
    --print-source) view="$2"; shift 2 ;;
    --export) export="$2"; shift 2 ;;
    --log-file) log="$2"; shift 2; break ;;
    *) shift ;;
  esac
done
if [ -n "$import" ]; then
  [ -f "$import" ] || exit 5
  case "$page" in
    raw) cat "GOLDEN/p02_bank_conflict.raw.csv" ;;
    details) cat "GOLDEN/p02_bank_conflict.details.csv" ;;
    source) [ "$MODE" = no_source -o "$view" = sass ] && exit 1
      printf '"Kernel Name","x"\n"File Name","/a/k.cu"\n"Line No","Source","L1 Wavefronts Shared Excessive"\n"7","s[i]","5"\n' ;;
  esac
  exit 0
fi
case "$MODE" in
  refuse) echo "==ERROR== ERR_NVGPUCTRPERM - no permission"; "$@"; exit 0 ;;
  hang) exec sleep 60 ;;
  half) echo PARTIAL > "$export"; exit 0 ;;
esac
"$@" || { echo "==ERROR== The application returned an error code ($?)." > "$log"; exit 1; }
echo '==PROF== Profiling "k": 0%....100% - 40 passes' > "$log"
echo REPORT > "$export"
)sh";

class Captures : public testing::Test {
protected:
  void SetUp() override {
    auto folder = base::TemporaryDir::make("capture");
    ASSERT_TRUE(folder.has_value());
    m_folder.emplace(std::move(*folder));
    m_ncu = (m_folder->path() / "ncu").string();
    mode("");
    m_request.target = {"sh", "-c", "echo home=$HOME > " + file("target")};
  }
  void mode(const std::string& which) {
    std::string script = k_ncu;
    for (std::size_t at; (at = script.find("GOLDEN")) != std::string::npos;)
      script.replace(at, 6, AKO_SOURCE_DIR "/tests/golden/ncu/given");
    script.insert(script.find('\n') + 1, "MODE=" + which + "\n");
    ASSERT_TRUE(base::write_file_atomic(m_ncu, script));
    std::filesystem::permissions(m_ncu, std::filesystem::perms::owner_all);
  }
  std::string file(const char* name) const { return (m_folder->path() / name).string(); }
  std::string content(const std::string& path) const {
    return base::read_file(path).value_or("(no file)");
  }
  base::Expected<Capture> capture() {
    return capture_with_ncu(m_ncu, m_request, executors::local_runner());
  }

  std::optional<base::TemporaryDir> m_folder;
  std::string m_ncu;
  CaptureRequest m_request;
};

TEST_F(Captures, TheTargetRunsAndItsKernelIsDiagnosed) {
  ::setenv("LANG", "de_DE.UTF-8", 1);
  auto result = capture();
  ASSERT_TRUE(result.has_value()) << result.error().text();
  ASSERT_EQ(result->report.kernels.size(), 1u);
  ASSERT_FALSE(result->report.kernels[0].findings.empty());
  const model::Finding& first = result->report.kernels[0].findings[0];
  EXPECT_EQ(first.id, "shared_bank_conflicts");
  ASSERT_EQ(first.lines.size(), 1u);
  EXPECT_THAT(first.lines[0], HasSubstr("k.cu:7"));
  EXPECT_EQ(result->version, "2025.3.1.0");
  EXPECT_EQ(result->kernels.size(), 1u);
  EXPECT_THAT(result->command, HasSubstr("--config-file off"));
  EXPECT_THAT(result->command, HasSubstr("'echo home=$HOME"));
  // ncu has folders of its own and prints numbers in one form; the target has its home.
  const std::string env = content(m_ncu + ".env");
  EXPECT_THAT(env, HasSubstr("LC_ALL=C\n"));
  EXPECT_THAT(env, testing::Not(HasSubstr("LANG=")));
  EXPECT_THAT(env, HasSubstr("ako-profile"));
  EXPECT_EQ(content(file("target")), std::string("home=") + std::getenv("HOME") + "\n");
  EXPECT_THAT(content(m_ncu + ".calls"), HasSubstr("--page raw --print-units base"));
}

TEST_F(Captures, WithoutASourcePageTheRestStands) {
  mode("no_source");
  auto result = capture();
  ASSERT_TRUE(result.has_value()) << result.error().text();
  EXPECT_TRUE(result->source.empty());
  EXPECT_TRUE(result->report.kernels[0].findings[0].lines.empty());
}

TEST_F(Captures, RefusedCountersAreTheMachinesFault) {
  mode("refuse");
  auto result = capture();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, base::ErrorKind::environment);
  EXPECT_THAT(result.error().next, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST_F(Captures, AHangIsEnded) {
  mode("hang");
  m_request.seconds = 0.3;
  auto result = capture();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, base::ErrorKind::timeout);
}

TEST_F(Captures, AFailingTargetIsNotNcusFault) {
  m_request.target = {"sh", "-c", "exit 3"};
  auto result = capture();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, base::ErrorKind::invalid);
  EXPECT_THAT(result.error().message, HasSubstr("program that was profiled failed"));
}

TEST_F(Captures, WhereNcuIsLookedFor) {
  ::setenv("AKO_NCU", m_ncu.c_str(), 1);
  EXPECT_EQ(find_ncu().value_or(""), m_ncu);
  ::setenv("AKO_NCU", file("absent").c_str(), 1);
  EXPECT_THAT(find_ncu().error().message, HasSubstr("AKO_NCU names no program"));
  ::unsetenv("AKO_NCU");
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (m_folder->path().string() + ":" + path).c_str(), 1);
  EXPECT_EQ(find_ncu().value_or(""), m_ncu);
  ::setenv("PATH", path.c_str(), 1);
}

TEST(HotShape, WeightTimesTime) {
  model::Contract contract;
  contract.shapes.resize(2);
  contract.shapes[0].tag = "often", contract.shapes[0].weight = 10;
  contract.shapes[1].tag = "long", contract.shapes[1].weight = 1;
  EXPECT_EQ(hot_shape(contract, {}), "often");
  std::vector<ledger::ShapeFigure> figures(2);
  figures[0].tag = "often", figures[0].p50_ns = 5;
  figures[1].tag = "long", figures[1].p50_ns = 500;
  EXPECT_EQ(hot_shape(contract, figures), "long");
}

TEST(ProfileSummary, SaysWhatIsInferred) {
  Profiled profiled;
  profiled.side = "incumbent", profiled.shape = "decode", profiled.inferred = true;
  profiled.report.kernels.resize(1);
  profiled.report.kernels[0].name = "k";
  EXPECT_THAT(profile_summary(profiled), HasSubstr("inferred without counters"));
  EXPECT_THAT(profile_summary(profiled), HasSubstr("no finding"));
}

} // namespace
} // namespace ako::loop
