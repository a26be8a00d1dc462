// Machines where nvcc is missing, foreign, half there or at odds with its host compiler.
#include "cuda_bench.hpp"
#include "lanes/cuda/nvcc.hpp"
#include "lanes/registry.hpp"

#include <fstream>
#include <sys/stat.h>

namespace ako::test {
namespace {

constexpr const char* k_good = "void k(const float*, float*, int, float, void*) {}\n";
constexpr const char* k_version = "case \"$1\" in --version) echo 'nvcc: NVIDIA (R) Cuda compiler "
                                  "driver'; echo 'Cuda compilation "
                                  "tools, release 13.0, V13.0.88'; exit 0;; esac\n";

/// A folder with its own nvcc and g++, and nothing else in PATH but the system's.
class Machine {
public:
  explicit Machine(CudaBench& bench) : m_bench(bench), m_bin(bench.root() / "toolkit" / "bin") {
    fs::create_directories(m_bin);
    for (const char* name : {"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "NVCC_CCBIN"})
      bench.around.environment.erase(name);
    bench.around.environment["PATH"] = m_bin.string() + ":/usr/bin:/bin";
  }
  std::string bin() const { return m_bin.string(); }
  void script(const std::string& name, const std::string& body) const {
    std::ofstream(m_bin / name) << "#!/bin/sh\n" << body << "\n";
    chmod((m_bin / name).c_str(), 0755);
  }
  base::Expected<lanes::Tool> find(const std::string& wanted = "",
                                   std::vector<std::string>* looked = nullptr) const {
    return lanes::cuda::find_nvcc(wanted, m_bench.around, looked);
  }

private:
  CudaBench& m_bench;
  fs::path m_bin;
};

TEST(CudaSurroundings, TheReleaseIsRead) {
  const auto release = lanes::cuda::release_of("Cuda compilation tools, release 12.4, V12.4.131");
  EXPECT_EQ(release.major, 12);
  EXPECT_EQ(release.minor, 4);
  EXPECT_TRUE(release.at_least(12, 4));
  EXPECT_FALSE(release.at_least(12, 8));
  EXPECT_FALSE(release.at_least(13, 0));
  EXPECT_EQ(lanes::cuda::release_of("clang").major, 0);
}

TEST(CudaSurroundings, AWantedOneThatIsMissingIsNotReplaced) {
  CudaBench bench;
  Machine machine(bench);
  machine.script("nvcc", k_version);
  EXPECT_TRUE(machine.find());
  for (const bool by_contract : {true, false}) {
    if (!by_contract) bench.around.environment["NVCC"] = "/no/such/nvcc";
    const auto tool = machine.find(by_contract ? "/no/such/nvcc" : "");
    ASSERT_FALSE(tool);
    EXPECT_EQ(tool.error().kind, base::ErrorKind::environment);
    EXPECT_EQ(tool.error().where, by_contract ? "kernel.compiler" : "NVCC");
    EXPECT_NE(tool.error().next.find("install the CUDA toolkit"), std::string::npos);
  }
}

TEST(CudaSurroundings, FoundInPathThenInCudaHomeAndInPythonsFolders) {
  CudaBench bench;
  Machine machine(bench);
  machine.script("nvcc", k_version);
  EXPECT_EQ(machine.find()->chosen_by, "PATH");
  bench.around.environment["PATH"] = "/usr/bin:/bin";
  bench.around.environment["CUDA_HOME"] = fs::path(machine.bin()).parent_path().string();
  EXPECT_EQ(machine.find()->chosen_by, "CUDA_HOME");
  bench.around.environment.erase("CUDA_HOME");
  if (fs::exists("/usr/local/cuda/bin/nvcc")) return; // it comes before Python's
  const fs::path site = bench.root() / "venv/lib/python3.11/site-packages/nvidia/cu13";
  fs::create_directories(site);
  fs::rename(machine.bin(), site / "bin");
  bench.around.environment["VIRTUAL_ENV"] = (bench.root() / "venv").string();
  EXPECT_EQ(machine.find()->chosen_by, "VIRTUAL_ENV");
}

TEST(CudaSurroundings, AnNvccThatSaysNothingIsAnEnvironmentError) {
  CudaBench bench;
  Machine machine(bench);
  for (const char* body : {"exit 0", "echo clang version 19; exit 0", "exit 3"}) {
    machine.script("nvcc", body);
    const auto tool = machine.find();
    ASSERT_FALSE(tool) << body;
    EXPECT_EQ(tool.error().message, "nvcc does not tell its version") << body;
  }
}

TEST(CudaSurroundings, WithoutAHostCompilerThereIsNoNvcc) {
  CudaBench bench;
  Machine machine(bench);
  machine.script("nvcc", k_version);
  bench.around.environment["NVCC_CCBIN"] = "/no/such/g++";
  const auto tool = machine.find();
  ASSERT_FALSE(tool);
  EXPECT_NE(tool.error().message.find("host compiler"), std::string::npos);
}

TEST(CudaSurroundings, FlagsFromTheEnvironmentAreSaidToBeIgnoredAndAre) {
  CudaBench bench;
  Machine machine(bench);
  machine.script("nvcc", k_version);
  bench.around.environment["NVCC_APPEND_FLAGS"] = "-use_fast_math";
  std::vector<std::string> looked;
  ASSERT_TRUE(machine.find("", &looked));
  EXPECT_NE(looked[0].find("NVCC_APPEND_FLAGS: set, ignored"), std::string::npos) << looked[0];
  for (const auto& entry : lanes::cuda::nvcc_environment(bench.around))
    EXPECT_FALSE(entry.starts_with("NVCC_APPEND_FLAGS")) << entry;
}

TEST(CudaSurroundings, TheIdentityChangesWithTheHostCompilerAndTheAssembler) {
  CudaBench bench;
  Machine machine(bench);
  bench.around.memo_dir.clear();
  machine.script("nvcc", k_version);
  machine.script("g++", "echo 'g++ (Test) 12.2.0'");
  machine.script("ptxas", "echo one");
  const std::string first = machine.find()->identity;
  EXPECT_NE(first.find("host g++ (Test) 12.2.0"), std::string::npos) << first;
  machine.script("ptxas", "echo two");
  const std::string second = machine.find()->identity;
  EXPECT_NE(first, second);
  machine.script("g++", "echo 'g++ (Test) 13.1.0'");
  EXPECT_NE(second, machine.find()->identity);
}

struct Said {
  const char* words; ///< of nvcc, on stderr
  const char* message;
  model::OutcomeKind outcome;
};

TEST(CudaSurroundings, WhatNvccSaysOfTheMachineIsExplained) {
  const Said cases[] = {
      {"/x/crt/host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later "
       "than 15 are not supported!",
       "this nvcc does not take this host compiler", model::OutcomeKind::environment},
      {"sh: 1: cicc: not found", "the CUDA toolkit is not whole", model::OutcomeKind::environment},
      {"sh: line 1: /opt/cuda/bin/ptxas: No such file or directory",
       "the CUDA toolkit is not whole", model::OutcomeKind::environment},
      {"In file included from <command-line>:\n/x/include/crt/host_config.h(151): error: #error "
       "directive: -- unsupported clang version! clang version must be less than 20",
       "this nvcc does not take this host compiler", model::OutcomeKind::environment},
      {"/usr/bin/ld: cannot find -lcudart_static: No such file or directory",
       "the CUDA toolkit has no static runtime library", model::OutcomeKind::environment},
      {"nvcc fatal   : Unsupported gpu architecture 'compute_100a'",
       "this nvcc builds for no such architecture", model::OutcomeKind::build_failed},
      {"ptxas fatal   : Unresolved extern function '_Z6helperf'",
       "device code calls a function that no file of the unit defines",
       model::OutcomeKind::build_failed},
      {"/usr/bin/ld: final link failed: No space left on device",
       "the compiler found no space left on the device", model::OutcomeKind::environment},
  };
  for (const auto& each : cases) {
    CudaBench bench;
    Machine machine(bench);
    machine.script("nvcc",
                   std::string(k_version) + "cat >&2 <<'END'\n" + each.words + "\nEND\nexit 1");
    const auto result = bench.build(k_good);
    ASSERT_TRUE(result.error) << each.words;
    EXPECT_EQ(result.error->message, each.message) << each.words;
    EXPECT_EQ(result.outcome.kind, each.outcome) << each.words;
    EXPECT_FALSE(result.error->next.empty()) << each.words;
  }
}

TEST(CudaSurroundings, WordsOfASourceAreNoFaultOfTheMachine) {
  const char* rows[] = {
      "solution/k.cu:3:2: error: #error \"unsupported GNU version\"",
      "solution/k.cu:3:2: error: see crt/host_config.h: unsupported clang version",
      "solution/k.cu(3): error: static assertion failed with \"sh: 1: cicc: not found\"",
      "solution/k.cu:3:1: warning: sh: 1: ptxas: not found",
      "    static_assert(false, \"/usr/bin/ld: cannot find -lcudart_static\");",
      "sh: 1: my-ptxas: not found",
      "/usr/bin/ld: solution/k.cu:3: undefined reference to `cannot find -lcudadevrt'",
  };
  for (const char* row : rows) {
    CudaBench bench;
    Machine machine(bench);
    machine.script("nvcc", std::string(k_version) + "cat >&2 <<'END'\n" + row + "\nEND\nexit 1");
    const auto result = bench.build(k_good);
    EXPECT_EQ(result.outcome.kind, model::OutcomeKind::build_failed) << row;
  }
}

TEST(CudaSurroundings, AnNvccThatHangsIsATimeout) {
  CudaBench bench;
  Machine machine(bench);
  machine.script("nvcc", std::string(k_version) + "sleep 1000");
  bench.contract.limits.build_seconds = 0.3;
  EXPECT_EQ(bench.build(k_good).outcome.kind, model::OutcomeKind::timeout);
}

TEST(CudaSurroundings, AnNvccThatWritesNothingIsTheMachinesFault) {
  CudaBench bench;
  Machine machine(bench);
  machine.script("nvcc", std::string(k_version) + "exit 0");
  const auto result = bench.build(k_good);
  EXPECT_EQ(result.outcome.kind, model::OutcomeKind::environment);
  fs::create_directories(bench.root() / "scratch");
  const auto probe = lanes::find_lane(model::Lane::cuda)
                         .value()
                         ->probe("", bench.around, bench.root() / "scratch");
  EXPECT_FALSE(probe.works);
  EXPECT_NE(probe.summary.find("wrote no library"), std::string::npos) << probe.summary;
}

} // namespace
} // namespace ako::test
