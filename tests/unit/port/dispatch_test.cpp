// Dispatches are compiled and run: the new kernel exactly where it was proven and wanted.
#include "../workspace/scratch_repo.hpp"
#include "loop/port/dispatch.hpp"
#include "model/contract_toml.hpp"
#include "model/resolved.hpp"

#include <gtest/gtest.h>

namespace ako::loop {
namespace {

constexpr const char* k_contract = R"(format = 1
[kernel]
entry = { file = "solution/halve.cpp", symbol = "eng::halve" }
args = ["x", "y", "alpha", "M", "H"]
[axes]
M = { var = true, min = 1, max = 4096, tile = 16 }
H = { const = 8 }
[[tensor]]
name = "x"
role = "in"
dtype = "float32"
shape = ["M", "H"]
align = 16
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["M", "H"]
align = 16
[[scalar]]
name = "alpha"
value = 0.5
[[shape]]
M = 16
[[shape]]
M = 64
[reference]
entry = { file = "input/ref.cpp", symbol = "eng::halve" }
)";

model::Contract contract(const std::string& text = k_contract) {
  auto parsed = model::parse_contract(text, "task.toml");
  EXPECT_TRUE(parsed) << parsed.error().text();
  return parsed.value();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

model::PortSpec spec(model::PortSpec::Switch kind = model::PortSpec::Switch::environment) {
  model::PortSpec out;
  out.switch_name = "ENGINE_HALVE";
  out.switch_kind = kind;
  return out;
}

TEST(Proven, RangesComeFromWhatWasMeasuredAndMultiplesFromWhatWasJudged) {
  const auto measured = contract();
  EXPECT_EQ(text_of(proven_of(measured, {})), "16 <= M <= 64, M % 16 == 0");
  // Edge shapes: 1, 15, 16, 17 and a prime multiple: between 16 and 64 any row count was judged.
  const auto edges = model::edge_shapes(measured, 1 << 20);
  EXPECT_EQ(text_of(proven_of(measured, edges)), "16 <= M <= 64");
  const auto one = contract(replaced(k_contract, "[[shape]]\nM = 64\n", ""));
  EXPECT_EQ(text_of(proven_of(one, {})), "M == 16");
}

/// A runtime whose current device and what it is come from the environment.
constexpr const char* k_fake_runtime = R"(#pragma once
#include <cstdlib>
enum cudaError_t { cudaSuccess, cudaErrorUnknown };
enum cudaDeviceAttr { cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor };
inline int fake_of(const char* name) { const char* text = std::getenv(name); return text ? std::atoi(text) : -1; }
inline cudaError_t cudaGetDevice(int* device) { *device = 0; return fake_of("FAKE_MAJOR") < 0 ? cudaErrorUnknown : cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int) {
  *value = fake_of(what == cudaDevAttrComputeCapabilityMajor ? "FAKE_MAJOR" : "FAKE_MINOR");
  return cudaSuccess;
}
)";

/// Compiles kernel, dispatch and `calls`, and runs it with the switch.
std::string run_native(const model::Contract& contract, const model::PortSpec& port,
                       const std::string& calls, const std::string& environment,
                       const std::string& flags = {}, const std::string& architecture = {}) {
  auto dir = base::TemporaryDir::make("ako-dispatch-").value();
  DispatchSource source{"halve", "iteration 3", "halve.cpp", argument_names(contract),
                        architecture};
  auto text = native_dispatch(contract, port, proven_of(contract, {}), source);
  EXPECT_TRUE(text) << text.error().text();
  test::put(dir.path() / "kernel/halve.cpp",
            "#ifdef WITH_STREAM\n#define STREAM , void*\n#else\n#define STREAM\n#endif\n"
            "namespace eng { void halve(const float*, float* y, float, int, int STREAM) { y[0] = "
            "2; } }\n");
  test::put(dir.path() / "halve_dispatch.hpp", text.value_or(""));
  test::put(dir.path() / "fake/cuda_runtime.h", k_fake_runtime);
  test::put(dir.path() / "main.cpp", R"(#include <cstdio>
#ifdef WITH_STREAM
namespace eng { void halve(const float*, float* y, float, int, int, void*) { y[0] = 1; } }
#else
namespace eng { void halve(const float*, float* y, float, int, int) { y[0] = 1; } }
#endif
#include "halve_dispatch.hpp"
alignas(64) float x[2048], y[2048];
#ifdef WITH_STREAM
int eng_stream(const float* x, float* out, float alpha, int m, int h, void* stream) {
  ako_port::halve_or(eng::halve)(x, out, alpha, m, h, stream);
  return static_cast<int>(out[0]);
}
#else
int eng_call(const float* x, float* out, float alpha, int m, int h) {
  ako_port::halve_or(eng::halve)(x, out, alpha, m, h);
  return static_cast<int>(out[0]);
}
#endif
int main() { )" + calls + " std::puts(\"\"); }\n");
  return test::shell(dir.path(), "g++ -std=c++17 -Wall -Wextra -Werror " + flags +
                                     " main.cpp -o main && " + environment + " ./main");
}

const std::string k_calls = R"(const int m[] = {16, 32, 64, 15, 17, 80};
  for (int each : m) std::printf("%d", eng_call(x, y, 0.5f, each, 8));
  std::printf(" %d%d%d", eng_call(x, y, 0.25f, 16, 8), eng_call(x, y, 0.5f, 16, 9), eng_call(x + 1, y, 0.5f, 16, 8));)";

TEST(Dispatch, TheNewKernelRunsExactlyWhereItWasProven) {
  EXPECT_EQ(run_native(contract(), spec(), k_calls, "env -u ENGINE_HALVE"), "222111 111\n");
}

TEST(Dispatch, AnOperandThatIsLeftOutTakesTheOldPath) {
  const std::string calls =
      R"(std::printf("%d%d", eng_call(x, y, 0.5f, 16, 8), eng_call(nullptr, y, 0.5f, 16, 8));)";
  EXPECT_EQ(run_native(contract(), spec(), calls, "env -u ENGINE_HALVE"), "21\n");
}

TEST(Dispatch, TheSwitchKeepsTheOldPath) {
  EXPECT_EQ(run_native(contract(), spec(), k_calls, "ENGINE_HALVE=old"), "111111 111\n");
  auto off = spec();
  off.otherwise = model::PortSpec::Path::old_path;
  EXPECT_EQ(run_native(contract(), off, k_calls, "env -u ENGINE_HALVE"), "111111 111\n");
  EXPECT_EQ(run_native(contract(), off, k_calls, "ENGINE_HALVE=new"), "222111 111\n");
}

TEST(Dispatch, TheSwitchMayBeAMacro) {
  const auto macro = spec(model::PortSpec::Switch::macro);
  EXPECT_EQ(run_native(contract(), macro, k_calls, ""), "222111 111\n");
  EXPECT_EQ(run_native(contract(), macro, k_calls, "", "-DENGINE_HALVE=0"), "111111 111\n");
}

TEST(Proven, BetweenShapesIsProvenWhereEveryCornerWasMeasured) {
  std::string text = replaced(k_contract, "H = { const = 8 }", "H = { var = true, max = 64 }");
  const std::string shapes = "[[shape]]\nM = 16\n[[shape]]\nM = 64\n";
  const auto with = [&](const std::string& more) {
    return text_of(proven_of(contract(replaced(text, shapes, more)), {}));
  };
  const std::string two = "[[shape]]\nM = 16\nH = 8\n[[shape]]\nM = 64\nH = 32\n";
  EXPECT_EQ(with(two), "(M == 16; H == 8) or (M == 64; H == 32)");
  // One size of the model at several batch sizes, another at one.
  EXPECT_EQ(with(two + "[[shape]]\nM = 48\nH = 8\n"),
            "(16 <= M <= 48, M % 16 == 0; H == 8) or (M == 64; H == 32)");
  EXPECT_EQ(with(two + "[[shape]]\nM = 16\nH = 32\n[[shape]]\nM = 64\nH = 8\n"),
            "16 <= M <= 64, M % 16 == 0; 8 <= H <= 32, H % 8 == 0");
}

TEST(Dispatch, ACornerThatWasNotMeasuredTakesTheOldPath) {
  std::string text = replaced(k_contract, "H = { const = 8 }", "H = { var = true, max = 64 }");
  text =
      replaced(text, "[[shape]]\nM = 16\n[[shape]]\nM = 64\n",
               "[[shape]]\nM = 16\nH = 8\n[[shape]]\nM = 64\nH = 8\n[[shape]]\nM = 64\nH = 32\n");
  const std::string calls =
      R"(const int at[][2] = {{16, 8}, {32, 8}, {64, 8}, {64, 16}, {64, 32}, {16, 32}, {32, 16}};
  for (auto& each : at) std::printf("%d", eng_call(x, y, 0.5f, each[0], each[1]));
)";
  EXPECT_EQ(run_native(contract(text), spec(), calls, "env -u ENGINE_HALVE"), "2222211\n");
}

TEST(Dispatch, OnADeviceOfAnotherKindTheOldPathStands) {
  auto device = contract();
  device.kernel.lane = model::Lane::cuda;
  const std::string calls = R"(std::printf("%d", eng_stream(x, y, 0.5f, 16, 8, nullptr));)";
  const auto on = [&](const std::string& environment) {
    return run_native(device, spec(), calls, environment, "-Ifake -DWITH_STREAM", "sm_90a");
  };
  EXPECT_EQ(on("FAKE_MAJOR=9 FAKE_MINOR=0"), "2\n");
  EXPECT_EQ(on("FAKE_MAJOR=10 FAKE_MINOR=0"), "1\n");
  EXPECT_EQ(on("FAKE_MAJOR=9 FAKE_MINOR=1"), "1\n");
  EXPECT_EQ(on("env -u FAKE_MAJOR"), "1\n");
}

TEST(Dispatch, WhatFollowsFromTheSizesIsTestedWhereItIsHandedOver) {
  const auto followed = contract(replaced(k_contract, "H = { const = 8 }",
                                          "G = { const = 4 }\nHALF = { expr = \"ceildiv(M, 2)\" "
                                          "}\nH = { expr = \"min(HALF + G, 16) / 2\" }"));
  const std::string calls =
      R"(const int at[][2] = {{16, 6}, {16, 8}, {32, 8}, {32, 6}, {64, 8}, {64, 18}};
  for (auto& each : at) std::printf("%d", eng_call(x, y, 0.5f, each[0], each[1]));
)";
  EXPECT_EQ(run_native(followed, spec(), calls, "env -u ENGINE_HALVE"), "212121\n");
  const auto scalar = contract(
      replaced(k_contract, "name = \"alpha\"\nvalue = 0.5", "name = \"alpha\"\nexpr = \"M / 32\""));
  const std::string with_scalar =
      R"(std::printf("%d%d%d", eng_call(x, y, 1, 32, 8), eng_call(x, y, 1, 64, 8), eng_call(x, y, 2, 64, 8));)";
  EXPECT_EQ(run_native(scalar, spec(), with_scalar, "env -u ENGINE_HALVE"), "212\n");
}

TEST(Dispatch, AnAxisThatNoArgumentTellsIsRefused) {
  const auto hidden = contract(replaced(k_contract, "\"alpha\", \"M\", \"H\"", "\"alpha\", \"H\""));
  const auto text = native_dispatch(hidden, spec(), proven_of(hidden, {}),
                                    {"halve", "i", "halve.cpp", argument_names(hidden), {}});
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().found.find("axis M"), std::string::npos);
}

constexpr const char* k_python = R"(
import sys
sys.path.insert(0, ".")
from ako.halve_dispatch import halve_or
class T:
    def __init__(self, shape, dtype="torch.bfloat16", contiguous=True, at=64):
        self.shape, self.dtype, self.ndim, self.c, self.at = shape, dtype, len(shape), contiguous, at
    def is_contiguous(self): return self.c
    def data_ptr(self): return self.at
def old(x, y, eps): return "old"
f = halve_or(old)
X = lambda m, **k: T((m, 8), **k)
print(f(X(16), X(16), .5), f(X(64), X(64), .5), f(X(80), X(80), .5), f(X(24), X(24), .5), f(X(16), X(32), .5),
      f(X(16, dtype="torch.float16"), X(16), .5), f(X(16, contiguous=False), X(16), .5), f(X(16, at=8), X(16), .5),
      f(X(16), X(16), .25), f(X(16), y=X(16), eps=.5), f(T((16, 9)), X(16), .5))
)";

/// k_contract on a Python lane, with these arguments.
std::string on_python(const std::string& args) {
  std::string text = k_contract;
  text =
      replaced(text, "entry = { file = \"solution/halve.cpp\", symbol = \"eng::halve\" }",
               "lane = \"triton\"\nentry = { file = \"solution/halve.py\", symbol = \"halve\" }");
  text = replaced(text, "args = [\"x\", \"y\", \"alpha\", \"M\", \"H\"]", "args = " + args);
  return replaced(text, "entry = { file = \"input/ref.cpp\", symbol = \"eng::halve\" }",
                  "entry = { file = \"input/ref.py\", symbol = \"halve\" }");
}

/// What main.py prints beside the dispatch and a kernel that says "new".
std::string run_python(const model::Contract& contract, const std::string& main,
                       const std::string& environment, const std::string& architecture = {}) {
  const auto source =
      python_dispatch(contract, spec(), proven_of(contract, {}),
                      {"halve", "iteration 3", "halve.py", argument_names(contract), architecture});
  EXPECT_TRUE(source) << source.error().text();
  auto dir = base::TemporaryDir::make("ako-dispatch-").value();
  test::put(dir.path() / "ako/halve_dispatch.py", source.value_or(""));
  test::put(dir.path() / "ako/kernel/halve.py", "def halve(*all):\n    return 'new'\n");
  test::put(dir.path() / "main.py", main);
  return test::shell(dir.path(), environment + " python3 -B main.py");
}

TEST(Dispatch, PythonTestsWhatTensorsSayOfThemselves) {
  std::string text = on_python(R"(["x", "y", "alpha"])");
  text = replaced(replaced(text, "float32", "bfloat16"), "float32", "bfloat16");
  const auto python = contract(text);
  EXPECT_EQ(run_python(python, k_python, "env -u ENGINE_HALVE"),
            "new new old old old old old old old old old\n");
  EXPECT_EQ(run_python(python, k_python, "ENGINE_HALVE=old"),
            "old old old old old old old old old old old\n");
}

constexpr const char* k_python_sizes = R"(
import sys
sys.path.insert(0, ".")
from ako.halve_dispatch import halve_or
class T:
    def __init__(self, *shape): self.shape, self.dtype, self.ndim = shape, "torch.float32", len(shape)
    def is_contiguous(self): return True
    def data_ptr(self): return 64
f = halve_or(lambda *a: "old")
print(*(f(T(*shape), T(*shape), .5, h) for shape, h in
        (((16, 8), 8), ((16, 8), 9), ((64, 8), 8), ((64, 2), 2), ((0, 8), 8))))
)";

TEST(Dispatch, PythonTestsSizesThatAreHandedOver) {
  const std::string text = on_python(R"(["x", "y", "alpha", "H"])");
  EXPECT_EQ(run_python(contract(text), k_python_sizes, "env -u ENGINE_HALVE"),
            "new old new old old\n");
  const std::string followed = replaced(text, "H = { const = 8 }", "H = { expr = \"128 / M\" }");
  EXPECT_EQ(run_python(contract(followed), k_python_sizes, "env -u ENGINE_HALVE"),
            "new old old new old\n");
}

constexpr const char* k_python_kinds = R"(
import sys, types
torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(get_device_capability=lambda device: device.kind)
sys.modules["torch"] = torch
sys.path.insert(0, ".")
from ako.halve_dispatch import halve_or
class Device:
    def __init__(self, kind): self.kind, self.type = kind, "cuda" if kind else "cpu"
class T:
    def __init__(self, shape, dtype, kind):
        self.shape, self.dtype, self.ndim, self.device = shape, "torch." + dtype, 2, Device(kind)
    def is_contiguous(self): return True
    def data_ptr(self): return 64
f = halve_or(lambda *a: "old")
X = lambda m, dtype="bfloat16", kind=(9, 0): T((m, 8), dtype, kind)
print(f(X(16), X(16), .5), f(X(64), X(64), .5), f(X(64, "float16"), X(64, "float16"), .5), f(X(64), X(64, "float16"), .5),
      f(X(16, "float16"), X(16, "float16"), .5), f(X(16, kind=(10, 0)), X(16), .5), f(X(16, kind=None), X(16), .5))
)";

TEST(Dispatch, PythonKeepsToTheMeasuredDtypesAndDevices) {
  std::string text = on_python(R"(["x", "y", "alpha"])");
  text = replaced(replaced(text, "\"float32\"", "\"T\""), "\"float32\"", "\"T\"");
  text = replaced(text, "H = { const = 8 }",
                  "H = { const = 8 }\nT = { dtype = [\"bfloat16\", \"float16\"] }");
  text = replaced(text, "[[shape]]\nM = 16\n[[shape]]\nM = 64\n",
                  "[[shape]]\nM = 16\nT = \"bfloat16\"\n[[shape]]\nM = 64\nT = \"bfloat16\"\n"
                  "[[shape]]\nM = 16\nT = \"float16\"\n");
  const auto python = contract(text);
  const auto proven = proven_of(python, {});
  EXPECT_EQ(text_of(proven), "(M == 16; T float16) or (16 <= M <= 64, M % 16 == 0; T bfloat16)");
  EXPECT_EQ(run_python(python, k_python_kinds, "env -u ENGINE_HALVE", "sm_90"),
            "new new old old new old old\n");
}

} // namespace
} // namespace ako::loop
