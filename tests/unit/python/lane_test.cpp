// Which interpreter is taken, and what bundling says of sources that cannot be.
#include "bench_of_builds.hpp"
#include "lanes/registry.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace ako {
namespace {

using model::OutcomeKind;
using test::BuildBench;
using testing::HasSubstr;

constexpr const char* k_good = "def run(x, y, n, eps):\n    pass\n";

BuildBench python_bench() {
  BuildBench bench;
  bench.lane = bench.contract.kernel.lane = model::Lane::triton;
  bench.contract.kernel.entry = {"solution/k.py", "run"};
  bench.contract.kernel.flags.clear();
  for (const char* name : {"AKO_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"})
    bench.around.environment.erase(name);
  return bench;
}

/// A program that answers as an interpreter of that version does.
std::string script(const BuildBench& bench, const std::string& name, const std::string& body) {
  const auto path = bench.root() / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\n" << body;
  chmod(path.c_str(), 0755);
  return path.string();
}

const lanes::LaneDriver& driver() { return **lanes::find_lane(model::Lane::triton); }

TEST(PythonLane, TheInterpreterIsTheUsers) {
  auto bench = python_bench();
  const auto usual = driver().find_tool(bench.contract, bench.around);
  ASSERT_TRUE(usual) << usual.error().text();
  EXPECT_EQ(usual->chosen_by, "PATH");
  EXPECT_THAT(usual->version, HasSubstr("Python 3."));
  const std::string wrapper = script(bench, "venv/bin/python", "exec " + usual->path + " \"$@\"\n");
  bench.around.environment["VIRTUAL_ENV"] = (bench.root() / "venv").string();
  const auto in_venv = driver().find_tool(bench.contract, bench.around);
  ASSERT_TRUE(in_venv);
  EXPECT_EQ(in_venv->path, wrapper);
  EXPECT_EQ(in_venv->chosen_by, "VIRTUAL_ENV");
  bench.around.environment["AKO_PYTHON"] = usual->path;
  EXPECT_EQ(driver().find_tool(bench.contract, bench.around)->chosen_by, "AKO_PYTHON");
  bench.contract.kernel.compiler = wrapper;
  EXPECT_EQ(driver().find_tool(bench.contract, bench.around)->chosen_by, "kernel.compiler");
}

TEST(PythonLane, AnInterpreterThatCannotBeIsNamed) {
  auto bench = python_bench();
  const auto words = [&](const std::string& path) {
    bench.contract.kernel.compiler = path;
    const auto tool = driver().find_tool(bench.contract, bench.around);
    if (tool) return std::string("it was taken");
    EXPECT_EQ(tool.error().kind, base::ErrorKind::environment);
    EXPECT_FALSE(tool.error().next.empty());
    return tool.error().text();
  };
  EXPECT_THAT(words("/nowhere/python3"), HasSubstr("/nowhere/python3"));
  EXPECT_THAT(words(script(bench, "broken", "echo no; exit 3\n")), HasSubstr("exit 3"));
  EXPECT_THAT(words(script(bench, "old",
                           "echo '{\"version\": \"3.8.1\", \"implementation\": \"CPython\", "
                           "\"supported\": false}'\n")),
              HasSubstr("3.8.1"));
  bench.contract.kernel.compiler.clear();
  bench.around.environment["PATH"] = (bench.root() / "empty").string();
  const auto none = driver().find_tool(bench.contract, bench.around);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("no Python interpreter"));
}

TEST(PythonLane, WhatCannotBeIsSaidAsCompilersDo) {
  auto bench = python_bench();
  const auto error = [&](const std::string& text) {
    const auto result = bench.build(text);
    if (result.artifact) return std::string("it was built");
    EXPECT_EQ(result.outcome.kind, OutcomeKind::build_failed);
    return result.error->text();
  };
  EXPECT_EQ(error(k_good), "it was built");
  EXPECT_THAT(error("def run(x, y, n, eps:\n    pass\n"), HasSubstr("solution/k.py:1:8"));
  EXPECT_THAT(error("def other(x, y, n, eps):\n    pass\n"),
              testing::AllOf(HasSubstr("no 'run'"), HasSubstr("other")));
  EXPECT_THAT(error("def run(x, y):\n    pass\n"), HasSubstr("(x, y, N, eps)"));
  EXPECT_THAT(error(std::string("import no_such_module\n") + k_good),
              testing::AllOf(HasSubstr("no_such_module"), HasSubstr("solution/k.py:1:1")));
  EXPECT_EQ(error(std::string("try:\n    import no_such_module\nexcept ImportError:\n    pass\n") +
                  k_good),
            "it was built");
  EXPECT_THAT(error(std::string("import triton_like as triton\n") +
                    "@triton.jit\ndef run(x, y, n, eps):\n    pass\n"),
              HasSubstr("no module named"));
}

TEST(PythonLane, AMissingFrameworkIsTheMachines) {
  auto bench = python_bench();
  bench.around.environment["PYTHONNOUSERSITE"] = "1";
  const auto result = bench.build(std::string("import torch\n") + k_good);
  if (result.artifact) GTEST_SKIP() << "this interpreter has torch";
  EXPECT_EQ(result.outcome.kind, OutcomeKind::environment);
  EXPECT_EQ(result.error->kind, base::ErrorKind::environment);
  EXPECT_THAT(result.error->text(), HasSubstr("no torch"));
  EXPECT_THAT(result.error->next, HasSubstr("AKO_PYTHON"));
}

TEST(PythonLane, ModulesOfTheTaskComeAlongAndCount) {
  auto bench = python_bench();
  bench.write("solution/helper.py", "VALUE = 1\n");
  bench.write("lib/far.py", "VALUE = 2\n");
  bench.contract.kernel.include_dirs = {"lib"};
  const std::string text = std::string("import far\nimport helper\n") + k_good;
  const auto first = bench.build(text);
  ASSERT_TRUE(first.artifact) << first.error->text();
  const auto again = bench.build(text);
  EXPECT_TRUE(again.artifact->from_cache);
  bench.write("lib/far.py", "VALUE = 3\n");
  const auto changed = bench.build(text);
  ASSERT_TRUE(changed.artifact);
  EXPECT_FALSE(changed.artifact->from_cache);
  EXPECT_NE(changed.artifact->library_hash, first.artifact->library_hash);
}

TEST(PythonLane, AModuleThatHidesAnInstalledOneIsWarnedOf) {
  auto bench = python_bench();
  bench.write("solution/json/__init__.py", "");
  const auto result = bench.build(k_good);
  ASSERT_TRUE(result.artifact) << result.error->text();
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_EQ(result.messages[0].severity, "warning");
  EXPECT_THAT(result.messages[0].text, HasSubstr("'json' hides"));
}

TEST(PythonLane, EqualFilesAreOneCodeWhateverTheirPlace) {
  auto bench = python_bench();
  const auto first = bench.build(k_good);
  const auto other = bench.build(std::string(k_good) + "# changed\n");
  ASSERT_TRUE(first.artifact && other.artifact);
  EXPECT_NE(first.artifact->resources["code_hash"], other.artifact->resources["code_hash"]);
}

TEST(PythonLane, FlagsMeanNothing) {
  auto bench = python_bench();
  bench.contract.kernel.flags = {"-O3"};
  const auto result = bench.build(k_good);
  ASSERT_FALSE(result.artifact);
  EXPECT_THAT(result.error->text(), HasSubstr("-O3"));
}

/// The cute-dsl lane with the stand-ins for torch and the package.
BuildBench dsl_bench() {
  BuildBench bench = python_bench();
  bench.lane = bench.contract.kernel.lane = model::Lane::cute_dsl;
  bench.around.environment["PYTHONPATH"] = AKO_SOURCE_DIR "/tests/fakes/python";
  return bench;
}

const std::string k_dsl = "import cutlass\nimport cutlass.cute as cute\n";

TEST(CuteDslLane, AJittedFunctionMayBeTheEntryAndAKernelMayNot) {
  auto bench = dsl_bench();
  const auto jitted = bench.build(k_dsl + "@cute.jit\n" + k_good);
  ASSERT_TRUE(jitted.artifact) << jitted.error->text();
  EXPECT_EQ(jitted.artifact->resources["python"]["imports"],
            (base::Json{"torch", "cutlass"})); // the package works on torch's tensors
  const auto kernel = bench.build(k_dsl + "@cute.kernel\n" + k_good);
  ASSERT_FALSE(kernel.artifact);
  EXPECT_THAT(kernel.error->text(), HasSubstr("'run' is a kernel"));
}

TEST(CuteDslLane, TheStreamIsHandedOverWhereItIsNamed) {
  auto bench = dsl_bench();
  bench.contract.kernel.args = {"x", "y", "N", "eps", "stream"};
  const std::string text = k_dsl + "def run(x, y, n, eps, stream):\n    pass\n";
  EXPECT_TRUE(bench.build(text).artifact);
  bench.contract.kernel.args.pop_back();
  EXPECT_THAT(bench.build(text).error->text(), HasSubstr("kernel.args gives their order"));
}

TEST(CuteDslLane, APackageThatIsNotThereIsTheMachinesAndNamed) {
  auto bench = dsl_bench();
  bench.around.environment.erase("PYTHONPATH");
  const auto result = bench.build(k_dsl + k_good);
  if (result.artifact) GTEST_SKIP() << "this interpreter has the package";
  EXPECT_EQ(result.outcome.kind, OutcomeKind::environment);
  EXPECT_THAT(result.error->message, HasSubstr("no nvidia-cutlass-dsl"));
}

TEST(CuteDslLane, ThePlantedSlowDownBringsWhatItIsWrittenIn) {
  auto bench = dsl_bench();
  bench.contract.kernel.flags = {"-DAKO_PLANT_SLOW_DOWN=4"};
  const auto slow = bench.build(k_dsl + k_good);
  ASSERT_TRUE(slow.artifact) << slow.error->text();
  EXPECT_EQ(slow.artifact->resources["python"]["imports"],
            (base::Json{"torch", "triton", "cutlass"}));
}

TEST(CuteDslLane, ImplicitCallsAreToldApartFromTheKernel) {
  const base::Json report = {
      {"python", {{"version", "Python 3.12"}, {"arrays", "torch"}}},
      {"compiled", {{{"kernel", "kernel_swiglu_0"}, {"took_ns", 1500000000}}}},
      {"implicit_calls", 4},
      {"implicit_functions", {"launch"}},
      {"implicit_overhead_ns", 3200000}};
  const std::string text = lanes::resource_text(report);
  EXPECT_THAT(text, HasSubstr("kernel_swiglu_0"));
  EXPECT_THAT(text, HasSubstr("compiled in 1.50 s"));
  EXPECT_THAT(text, HasSubstr("implicit JIT: launch, 4 calls without an executor; 800.0 us"));
  base::Json plain = report;
  plain.erase("implicit_calls");
  EXPECT_THAT(lanes::resource_text(plain), testing::Not(HasSubstr("implicit")));
}

} // namespace
} // namespace ako
