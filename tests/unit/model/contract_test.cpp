// Lawful contracts: defaults, the echo, text encodings, and the files a contract names.
#include "base/fs.hpp"
#include "error_cases.hpp"
#include "model/contract_toml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace ako::model {
namespace {

namespace fs = std::filesystem;

Contract parsed(const std::string& text) {
  auto contract = parse_contract(text, "task.toml");
  EXPECT_TRUE(contract) << contract.error().text();
  return contract ? *contract : Contract{};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t spot = text.find(from);
  EXPECT_NE(spot, std::string::npos) << from;
  return text.replace(spot, from.size(), to);
}

const char* const k_small = R"(format = 1
[kernel]
entry = { file = "solution/k.cpp", symbol = "ns::scale<float>" }
[[tensor]]
name = "x"
role = "inout"
dtype = "float32"
shape = [4]
[[shape]]
[reference]
entry = { file = "input/r.cpp", symbol = "scale" }
)";

TEST(Contracts, DefaultsOfTheSmallestOne) {
  const Contract contract = parsed(k_small);
  EXPECT_EQ(contract.kernel.name, "scale");
  EXPECT_EQ(contract.kernel.lane, Lane::cpu);
  EXPECT_EQ(contract.accept.min_gain, 0.02);
  EXPECT_EQ(contract.accept.alpha, 0.001);
  EXPECT_EQ(contract.accept.cache, CacheState::cold);
  EXPECT_EQ(contract.limits.placements, 20);
  ASSERT_EQ(contract.tensors.size(), 1u);
  EXPECT_EQ(contract.tensors[0].align, 64);
  EXPECT_EQ(contract.tensors[0].fill.kind, Fill::normal);
  EXPECT_EQ(contract.tensors[0].compare, Compare::close);
  EXPECT_EQ(contract.shapes.at(0).tag, "only");
  EXPECT_EQ(contract.hash.size(), 64u);
}

TEST(Contracts, AGpuLaneAcceptsSmallerGains) {
  std::string text = replaced(k_small, "[kernel]\n", "[kernel]\nlane = \"cuda\"\n");
  text = replaced(text, "k.cpp", "k.cu");
  text = replaced(text, "r.cpp", "r.cu");
  EXPECT_EQ(parsed(text).accept.min_gain, 0.005);
  text += "[accept]\nmin_gain = 0.1\n";
  EXPECT_EQ(parsed(text).accept.min_gain, 0.1);
}

TEST(Contracts, IntegersAreFilledUniformlyAndComparedExactly) {
  const Contract contract = parsed(replaced(k_small, "\"float32\"", "\"uint8\""));
  const Tensor& tensor = contract.tensors.at(0);
  EXPECT_EQ(tensor.fill.kind, Fill::uniform);
  EXPECT_EQ(tensor.fill.low, 0);
  EXPECT_EQ(tensor.fill.high, 255);
  EXPECT_EQ(tensor.compare, Compare::exact);
}

TEST(Contracts, AxesKeepTheOrderOfTheFile) {
  const Contract contract = parsed(cases::k_good);
  ASSERT_EQ(contract.axes.size(), 4u);
  EXPECT_EQ(contract.axes[0].name, "M");
  EXPECT_EQ(contract.axes[1].name, "H");
  EXPECT_EQ(contract.axes[2].name, "B");
  EXPECT_EQ(contract.axes[3].name, "T");
}

const char* const k_every_key = R"toml(format = 1
[kernel]
name = "all"
lane = "cuda"
entry = { file = "solution/ü k.cu", symbol = "k" }
sources = ["solution/a.cuh", "solution/data.inc"]
include_dirs = ["solution"]
flags = ["-DX=\"a b\""]
compiler = "nvcc"
architectures = ["sm_90a"]
workload = "latency"
call_sites = ["model.py:12"]
prepare = "prep"
plan = "plan"
args = ["o", "w", "s", "flag", "n", "M"]
in_place = true
deterministic = true
batch_invariant = true
capturable = true
library_calls = "forbidden"
precision = "fixed"
[axes]
M = { var = true, min = 2, max = 64, multiple_of = 2, tile = 8 }
T = { dtype = ["float8_e4m3fn", "float8_e5m2"] }
C = { const = 3 }
E = { expr = "max(M, C) % 7 + 1" }
[[tensor]]
name = "o"
role = "inout"
dtype = "T"
shape = ["M", "C"]
layout = "column_major"
align = 128
cache = "warm"
address = "fresh"
fill = { kind = "normal", mean = 0.1, stddev = 0.3 }
compare = "property"
property = "product:w,i=o; row_sum:-1.5;sorted"
nan_meaningful = true
flush_subnormals = true
[[tensor]]
name = "w"
role = "workspace"
dtype = "uint8"
shape = ["M*C", "E"]
workspace = "zeroed once"
lifetime = "fresh"
[[tensor]]
name = "i"
role = "in"
dtype = "int16"
shape = []
lifetime = "static"
fill = { kind = "offsets", limit = "M" }
[[tensor]]
name = "c"
role = "in"
dtype = "float32"
shape = ["M"]
strides = [0]
fill = { kind = "custom", file = "input/f.cpp", symbol = "f" }
[[tensor]]
name = "p"
role = "in"
dtype = "int64"
shape = ["M", "M"]
fill = "permutation"
[[scalar]]
name = "s"
dtype = "float64"
value = 0.1
[[scalar]]
name = "flag"
dtype = "bool"
value = true
[[scalar]]
name = "n"
dtype = "uint32"
expr = "M*C"
[[shape]]
axes = { M = 4, T = "float8_e5m2" }
weight = 0.5
[[shape]]
M = 8
T = "float8_e4m3fn"
[reference]
lane = "cpu"
entry = { file = "input/r.cpp", symbol = "ref" }
flags = ["-O1"]
precision = "float64"
[[baseline]]
name = "lib"
lane = "triton"
entry = { file = "input/b.py", symbol = "mod.run" }
sources = ["input/c.py"]
flags = ["x"]
kind = "library"
[tolerance]
atol = 0.0
rtol = 1e-300
matched_ratio = 1
max_error_cap = 3
ratio_to_baseline = 1.25
accumulate = "M*C"
[cost]
flops = "2*M"
bytes = 17
[accept]
clock = "graph"
cache = "warm"
min_gain = 0
max_regression = 0.3
alpha = 0.25
second_opinion = false
[[tunable]]
name = "t"
values = [1, 2.0, "a\"b", true]
constraint = "t < 3"
[[gate]]
name = "g"
command = "run 'x'"
read = "ms: ([0-9]+)"
must = "< 3"
[limits]
build_seconds = 1.5
call_seconds = 2
load_seconds = 3
evaluation_seconds = 4
memory_bytes = 5
output_bytes = 6
placements = 7
pairs = 8
)toml";

TEST(Contracts, TheEchoIsTheSameContract) {
  for (const char* text : {cases::k_good, k_small, k_every_key}) {
    const Contract contract = parsed(text);
    const std::string echo = echo_toml(contract);
    const auto again = parse_contract(echo, "echo");
    ASSERT_TRUE(again) << again.error().text() << "\n" << echo;
    EXPECT_EQ(*again, contract);
    EXPECT_EQ(echo_toml(*again), echo);
    EXPECT_EQ(to_json(*again), to_json(contract));
  }
}

TEST(Contracts, TheEchoKeepsWholeFloatsFloats) {
  const auto again = parse_contract(echo_toml(parsed(k_every_key)), "echo");
  ASSERT_TRUE(again) << again.error().text();
  const std::vector<base::Json>& values = again->tunables.at(0).values;
  EXPECT_TRUE(values.at(0).is_number_integer());
  EXPECT_TRUE(values.at(1).is_number_float()) << "2.0 is another value than 2 to a compiler";
}

TEST(Contracts, CommentsSpacesAndOrderDoNotChangeTheHash) {
  const Contract contract = parsed(cases::k_good);
  std::string text = replaced(cases::k_good, "\"H/32\"", "\" H / 32 \"");
  text = replaced(text, "[limits]", "# how long\n[limits]  # at most");
  text = replaced(text, "tag = \"decode\"\nM = 8", "M = 8\ntag = \"decode\"");
  EXPECT_EQ(parsed(text).hash, contract.hash);
  const std::string gate =
      "[[gate]]\nname = \"later\"\ncommand = \"true\"\nread = \"/x\"\nmust = \">= 1\"\n";
  EXPECT_EQ(parsed(text + gate).hash, contract.hash) << "a gate may be added when all is measured";
  EXPECT_EQ(parsed(text + gate).gates.size(), contract.gates.size() + 1);
  EXPECT_NE(parsed(replaced(text, "M = 8\n", "M = 16\n")).hash, contract.hash);
}

TEST(Contracts, LineEndsByteOrderMarkAndUmlauts) {
  std::string text = cases::k_good;
  for (std::size_t i = 0; (i = text.find('\n', i)) != std::string::npos; i += 2)
    text.replace(i, 1, "\r\n");
  EXPECT_EQ(parsed(text).hash, parsed(cases::k_good).hash);
  EXPECT_EQ(parsed("\xEF\xBB\xBF" + text).hash, parsed(cases::k_good).hash);
  EXPECT_EQ(parsed(replaced(text, "solution/k.cpp", "lösung/mein kern.cpp")).kernel.entry.file,
            "lösung/mein kern.cpp");
}

TEST(Contracts, WhatIsNoTextIsRefused) {
  for (const char* empty : {"", "  \n\t\r\n", "\xEF\xBB\xBF"})
    EXPECT_EQ(parse_contract(empty, "t").error().message, "the contract is empty");
  EXPECT_EQ(parse_contract(replaced(cases::k_good, "decode", "dec\xFFode"), "t").error().message,
            "this is not UTF-8");
  EXPECT_EQ(parse_contract(std::string("format = 1\0", 11), "t").error().message,
            "a control character");
  const std::string large = std::string(cases::k_good) + std::string(1 << 20, '#');
  EXPECT_EQ(parse_contract(large, "t").error().message, "the file is too large for a contract");
  const auto key = parse_contract("format = 1\n[=x]\n", "t").error();
  EXPECT_EQ(key.message, "this is not TOML");
  EXPECT_EQ(key.where, "t:2:2");
  std::string deep = "a";
  for (int i = 0; i < 200000; ++i) deep += ".a";
  const auto error = parse_contract("format = 1\n" + deep + " = 1\n", "t").error();
  EXPECT_EQ(error.message, "too many dots in one line");
  EXPECT_EQ(error.where, "t:2:1");
  EXPECT_FALSE(parse_contract("a = " + std::string(100000, '['), "t"));
}

/// Any finite double of the sign that the key takes.
double drawn(double low) {
  const double value = std::fabs(*rc::gen::arbitrary<double>());
  return std::isfinite(value) && value > 0 ? low + value : low + 0.5;
}

RC_GTEST_PROP(ContractProperty, TheEchoKeepsEveryNumber, ()) {
  auto contract = parse_contract(cases::k_good, "task.toml");
  RC_ASSERT(contract.has_value());
  contract->tolerance.atol = drawn(0);
  contract->tolerance.ratio_to_baseline = drawn(0);
  contract->accept.max_regression = drawn(0);
  contract->shapes[0].weight = drawn(0);
  contract->tensors[0].fill.low = -drawn(0);
  contract->tensors[0].fill.high = drawn(0);
  contract->scalars[0].dtype = Dtype::float64;
  contract->scalars[0].value = -drawn(0);
  contract->axes[0].max = *rc::gen::inRange<std::int64_t>(512, INT64_MAX);
  contract->axes[0].tile = *rc::gen::inRange<std::int64_t>(1, INT64_MAX);
  contract->limits.memory_bytes = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  contract->kernel.flags = *rc::gen::container<std::vector<std::string>>(
      rc::gen::nonEmpty(rc::gen::string<std::string>()));
  for (std::string& flag : contract->kernel.flags)
    for (char& c : flag) // any ASCII but NUL: TOML is UTF-8
      c = static_cast<char>((static_cast<unsigned char>(c) & 0x7f) == 0 ? '"' : c & 0x7f);
  const auto again = parse_contract(echo_toml(*contract), "echo");
  RC_ASSERT(again.has_value());
  contract->hash = again->hash;
  RC_ASSERT(*again == *contract);
}

// -- files ----------------------------------------------------------------------------------------

class Files : public testing::Test {
protected:
  void SetUp() override {
    auto made = base::TemporaryDir::make("ako-model");
    ASSERT_TRUE(made);
    m_dir.emplace(std::move(*made));
    put("task/task.toml", k_small);
    put("task/solution/k.cpp", "void scale();");
    put("task/input/r.cpp", "void scale();");
    put("outside.cpp", "");
  }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << text;
  }
  fs::path root() const { return m_dir->path(); }
  base::Error error() const {
    const auto contract = load_contract(root() / "task");
    EXPECT_FALSE(contract);
    return contract ? base::Error{} : contract.error();
  }
  std::optional<base::TemporaryDir> m_dir;
};

TEST_F(Files, AWholeTaskLoads) {
  const auto contract = load_contract(root() / "task");
  EXPECT_TRUE(contract) << contract.error().text();
}

TEST_F(Files, NoContract) {
  fs::remove(root() / "task/task.toml");
  EXPECT_EQ(error().kind, base::ErrorKind::invalid);
  EXPECT_EQ(error().message, "there is no contract here");
}

TEST_F(Files, EmptyContract) {
  put("task/task.toml", "");
  EXPECT_EQ(error().message, "the contract is empty");
}

TEST_F(Files, ATwoGigabyteContractIsNotRead) {
  fs::resize_file(root() / "task/task.toml", std::uintmax_t{2} << 30); // sparse
  EXPECT_EQ(error().kind, base::ErrorKind::invalid);
  EXPECT_NE(error().text().find("task.toml"), std::string::npos);
}

TEST_F(Files, AbsentEntry) {
  fs::remove(root() / "task/solution/k.cpp");
  EXPECT_EQ(error().message, "'solution/k.cpp' does not exist");
  EXPECT_NE(error().where.find("kernel.entry.file"), std::string::npos);
  fs::create_directories(root() / "task/solution/k.cpp");
  EXPECT_EQ(error().message, "'solution/k.cpp' is of the wrong kind");
}

TEST_F(Files, ALinkOutOfTheTaskIsRefusedAndOneInsideIsNot) {
  fs::remove(root() / "task/solution/k.cpp");
  fs::create_symlink(root() / "outside.cpp", root() / "task/solution/k.cpp");
  EXPECT_EQ(error().kind, base::ErrorKind::invalid);
  EXPECT_NE(error().where.find("kernel.entry.file"), std::string::npos);
  fs::remove(root() / "task/solution/k.cpp");
  put("task/solution/real.cpp", "");
  fs::create_symlink("real.cpp", root() / "task/solution/k.cpp");
  const auto contract = load_contract(root() / "task");
  EXPECT_TRUE(contract) << contract.error().text();
}

TEST_F(Files, AnErrorNamesLineAndColumnOfThePath) {
  fs::remove(root() / "task/solution/k.cpp");
  EXPECT_THAT(error().where,
              testing::ContainsRegex("task\\.toml:[0-9]+:[0-9]+: kernel.entry.file"));
  EXPECT_FALSE(error().allowed.empty());
  EXPECT_FALSE(error().next.empty());
}

/// The same contract with one path changed.
class Judges : public Files {
protected:
  void change(const std::string& from, const std::string& to) {
    const std::string text = *base::read_file(root() / "task/task.toml");
    ASSERT_NE(text.find(from), std::string::npos);
    put("task/task.toml", replaced(text, from, to));
  }
};

TEST_F(Judges, ACandidateIsNotItsOwnReference) {
  change("input/r.cpp", "solution/k.cpp");
  EXPECT_THAT(error().message, testing::HasSubstr("the reference is the candidate's own file"));
  EXPECT_THAT(error().where, testing::HasSubstr("reference.entry.file"));
  EXPECT_THAT(error().next, testing::HasSubstr("copy it to input/"));
}

TEST_F(Judges, NorIsAnythingElseBelowSolution) {
  put("task/solution/judge.cpp", "");
  change("input/r.cpp", "solution/judge.cpp");
  EXPECT_THAT(error().message, testing::HasSubstr("candidate's own"));
}

TEST_F(Judges, NorThroughALink) {
  fs::remove(root() / "task/input/r.cpp");
  fs::create_symlink("../solution/k.cpp", root() / "task/input/r.cpp");
  EXPECT_THAT(error().message, testing::HasSubstr("candidate's own"));
  fs::remove(root() / "task/input/r.cpp");
  fs::create_hard_link(root() / "task/solution/k.cpp", root() / "task/input/r.cpp");
  EXPECT_THAT(error().message, testing::HasSubstr("candidate's own"));
}

TEST_F(Judges, AKernelThatIsEditedWhereItsReferenceLiesIsRefused) {
  change("solution/k.cpp", "input/r.cpp");
  EXPECT_THAT(error().message, testing::HasSubstr("candidate's own"));
  EXPECT_THAT(error().next, testing::HasSubstr("let [kernel] name a copy"));
}

TEST_F(Files, TheFinishedExamplesLoad) {
  for (const char* name : {"rmsnorm_bf16", "q8_matvec"}) {
    const auto contract = load_contract(fs::path(AKO_SOURCE_DIR) / "examples" / "cpu" / name);
    EXPECT_TRUE(contract) << contract.error().text();
  }
}

} // namespace
} // namespace ako::model
