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

/// Compiles kernel, dispatch and `calls`, and runs it with the switch.
std::string run_native(const model::Contract& contract, const model::PortSpec& port,
                       const std::string& calls, const std::string& environment,
                       const std::string& flags = {}) {
  auto dir = base::TemporaryDir::make("ako-dispatch-").value();
  DispatchSource source{"halve", "iteration 3", "halve.cpp", argument_names(contract)};
  auto text = native_dispatch(contract, port, proven_of(contract, {}), source);
  EXPECT_TRUE(text) << text.error().text();
  test::put(
      dir.path() / "kernel/halve.cpp",
      "namespace eng { void halve(const float*, float* y, float, int, int) { y[0] = 2; } }\n");
  test::put(dir.path() / "halve_dispatch.hpp", text.value_or(""));
  test::put(dir.path() / "main.cpp", R"(#include <cstdio>
namespace eng { void halve(const float*, float* y, float, int, int) { y[0] = 1; } }
#include "halve_dispatch.hpp"
alignas(64) float x[2048], y[2048];
int eng_call(const float* x, float* out, float alpha, int m, int h) {
  ako_port::halve_or(eng::halve)(x, out, alpha, m, h);
  return static_cast<int>(out[0]);
}
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

TEST(Dispatch, AnAxisThatNoArgumentTellsIsRefused) {
  const auto hidden = contract(replaced(k_contract, "\"alpha\", \"M\", \"H\"", "\"alpha\", \"H\""));
  const auto text = native_dispatch(hidden, spec(), proven_of(hidden, {}),
                                    {"halve", "i", "halve.cpp", argument_names(hidden)});
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

TEST(Dispatch, PythonTestsWhatTensorsSayOfThemselves) {
  std::string text = k_contract;
  text =
      replaced(text, "entry = { file = \"solution/halve.cpp\", symbol = \"eng::halve\" }",
               "lane = \"triton\"\nentry = { file = \"solution/halve.py\", symbol = \"halve\" }");
  text = replaced(text, "args = [\"x\", \"y\", \"alpha\", \"M\", \"H\"]",
                  "args = [\"x\", \"y\", \"alpha\"]");
  text = replaced(text, "entry = { file = \"input/ref.cpp\", symbol = \"eng::halve\" }",
                  "entry = { file = \"input/ref.py\", symbol = \"halve\" }");
  text = replaced(replaced(text, "float32", "bfloat16"), "float32", "bfloat16");
  const auto python = contract(text);
  const auto source = python_dispatch(python, spec(), proven_of(python, {}),
                                      {"halve", "iteration 3", "halve.py", argument_names(python)});
  ASSERT_TRUE(source) << source.error().text();
  auto dir = base::TemporaryDir::make("ako-dispatch-").value();
  test::put(dir.path() / "ako/halve_dispatch.py", *source);
  test::put(dir.path() / "ako/kernel/halve.py", "def halve(x, y, alpha):\n    return 'new'\n");
  test::put(dir.path() / "main.py", k_python);
  EXPECT_EQ(test::shell(dir.path(), "env -u ENGINE_HALVE python3 -B main.py"),
            "new new old old old old old old old old old\n");
  EXPECT_EQ(test::shell(dir.path(), "ENGINE_HALVE=old python3 -B main.py"),
            "old old old old old old old old old old old\n");
}

} // namespace
} // namespace ako::loop
