#include "profiles/ncu_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::profiles {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

NcuJob job() {
  NcuJob out;
  out.target = {"./app", "--size", "3"};
  out.folder = "/tmp/j";
  return out;
}

base::CommandResult ended(int code, std::string out = {}) {
  base::CommandResult result;
  result.ending = {true, code, 0};
  result.out = std::move(out);
  return result;
}

/// The value behind an option.
std::string option_value(const std::vector<std::string>& argv, const std::string& option) {
  auto at = std::find(argv.begin(), argv.end(), option);
  return at == argv.end() || at + 1 == argv.end() ? "" : *(at + 1);
}

TEST(NcuRun, ItsMessagesAndSettingsStayOutOfTheTable) {
  const auto argv = capture_argv(job());
  EXPECT_EQ(option_value(argv, "--config-file"),
            "off"); // a file in the current folder would be applied
  EXPECT_EQ(option_value(argv, "--log-file"), "/tmp/j/ncu.log");
  EXPECT_EQ(option_value(argv, "--export"), "/tmp/j/capture.ncu-rep");
  EXPECT_EQ(option_value(argv, "--clock-control"), "none"); // its default differs between versions
  EXPECT_EQ(option_value(argv, "--replay-mode"), "kernel"); // restores the data before each replay
  EXPECT_EQ(option_value(argv, "--launch-count"), "1");
  EXPECT_THAT(argv, Not(Contains("--kernel-name")));
  EXPECT_THAT(argv, Not(Contains("--profile-from-start")));
  EXPECT_EQ(std::vector<std::string>(argv.end() - 3, argv.end()), job().target);
}

TEST(NcuRun, TheRightLaunch) {
  NcuJob one = job();
  one.kernel = "f<int>(a*", one.skip = 4, one.count = 2, one.from = ProfileFrom::marks;
  const auto argv = capture_argv(one);
  EXPECT_EQ(option_value(argv, "--kernel-name"),
            "regex:f<int>\\(a\\*"); // as text, not as an expression
  EXPECT_EQ(option_value(argv, "--kernel-name-base"), "demangled");
  EXPECT_EQ(option_value(argv, "--launch-skip"), "4");
  EXPECT_EQ(option_value(argv, "--launch-count"), "2");
  EXPECT_EQ(option_value(argv, "--profile-from-start"), "off");
  EXPECT_THAT(export_argv(one, NcuPage::raw), Contains("base"));
}

TEST(NcuRun, EnvironmentOfItsOwn) {
  const std::vector<std::string> given = {"LANG=de_DE.UTF-8", "LC_NUMERIC=de_DE", "HOME=/home/u",
                                          "TMPDIR=/scratch", "PATH=/bin"};
  const auto env = job_environment(job(), given);
  EXPECT_THAT(env, testing::UnorderedElementsAre("PATH=/bin", "LC_ALL=C", "HOME=/tmp/j/home",
                                                 "TMPDIR=/tmp/j/tmp"));
  EXPECT_THAT(with_home({"./app"}, given), testing::ElementsAre("env", "HOME=/home/u", "./app"));
  EXPECT_THAT(with_home({"./app"}, {}), testing::ElementsAre("./app"));
}

TEST(NcuRun, Version) {
  EXPECT_EQ(version_of("NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright\nVersion "
                       "2025.3.1.0 (build 36398880) (public-release)\n"),
            "2025.3.1.0");
  EXPECT_EQ(version_of("nonsense"), "");
}

struct Failure {
  const char* name;
  base::CommandResult result;
  const char *log, *message, *next;
  base::ErrorKind kind;
};

class NcuFails : public testing::TestWithParam<Failure> {};

TEST_P(NcuFails, IsNamedWithItsRemedy) {
  const Failure& failure = GetParam();
  NcuJob one = job();
  if (std::string(failure.name) == "wrong_kernel") one.kernel = "absent";
  const auto status = judge_capture(one, failure.result, failure.log, false);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, failure.kind);
  EXPECT_EQ(status.error().message, failure.message);
  EXPECT_THAT(status.error().next, HasSubstr(failure.next));
}

base::CommandResult late() {
  base::CommandResult result;
  result.timed_out = true, result.wall_ns = 300000000000;
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Ncu, NcuFails,
    testing::Values(
        // HazyResearch/ThunderKittens#73, deepseek-ai/DeepGEMM#46: the program runs on and ends
        // with 0
        Failure{"refused",
                ended(0, "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission "
                         "to access NVIDIA GPU Performance Counters\nresult 3\n"),
                "", "ncu was not permitted to read the performance counters",
                "NVreg_RestrictProfilingToAdminUsers=0", base::ErrorKind::environment},
        // NVIDIA/DCGM#56
        Failure{"held", ended(1),
                "==ERROR== Profiling failed because a driver resource was "
                "unavailable.",
                "the performance counters are held by another program", "DCGM",
                base::ErrorKind::environment},
        // madgraph5/madgraph4gpu#603
        Failure{"locked", late(), "==WARNING== waiting for /tmp/nsight-compute-lock",
                "another user's lock keeps ncu away", "removes nobody's files",
                base::ErrorKind::environment},
        Failure{"hangs", late(), "==PROF== Connected", "ncu did not end in time", "gate",
                base::ErrorKind::timeout},
        Failure{"no_kernel", ended(0), "==WARNING== No kernels were profiled.",
                "the program launched no kernel that ncu saw", "--launch",
                base::ErrorKind::invalid},
        Failure{"wrong_kernel", ended(0), "==WARNING== No kernels were profiled.",
                "no launch matches the kernel's name", "without --kernel",
                base::ErrorKind::invalid},
        Failure{"target_fails", ended(11), "==ERROR== The application returned an error code (11).",
                "the program that was profiled failed", "without ncu", base::ErrorKind::invalid},
        Failure{"old_driver", ended(1),
                "==ERROR== Cuda driver is not compatible with Nsight Compute",
                "this ncu does not fit the driver", "AKO_NCU", base::ErrorKind::environment},
        Failure{"unknown", ended(9), "==ERROR== Failed to read the configuration", "ncu failed",
                "by hand", base::ErrorKind::environment},
        Failure{"no_report", ended(0), "==PROF== Disconnected",
                "ncu ended without writing its report", "disk", base::ErrorKind::environment}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(NcuRun, AGoodCapturePasses) {
  EXPECT_TRUE(judge_capture(job(), ended(0, "application output: error code none\n"),
                            "==PROF== Profiling \"k\": 0%....100% - 40 passes\n==WARNING== Metric "
                            "ctc__x not available\n",
                            true));
}

} // namespace
} // namespace ako::profiles
