// The one-line contract of `ako compare`: what it expands to, and where it is refused.
#include "loop/contract_line.hpp"

#include "model/contract_toml.hpp"
#include "model/resolved.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using testing::HasSubstr;

const LineFiles k_files{"solution/new.cpp", "judge/ref.cpp", "old/old.cpp", "float64"};

model::Contract contract_of(const std::string& line) {
  auto text = expand_contract_line(line, k_files);
  EXPECT_TRUE(text) << text.error().text();
  if (!text) return {};
  auto contract = model::parse_contract(text->toml, "task.toml");
  EXPECT_TRUE(contract) << contract.error().text() << "\n" << text->toml;
  return contract ? *contract : model::Contract{};
}

TEST(ContractLine, AWholeLine) {
  const auto contract =
      contract_of("fast::rmsnorm(x: bfloat16[M,H], w: static bfloat16[H], y: out bfloat16[M,H], M, "
                  "H, eps: float32=1e-5) @ M=1 H=4096; M=512 H=4096");
  EXPECT_EQ(contract.kernel.name, "rmsnorm");
  EXPECT_EQ(contract.kernel.entry.file, "solution/new.cpp");
  EXPECT_EQ(contract.kernel.entry.symbol, "fast::rmsnorm");
  EXPECT_THAT(contract.kernel.args, testing::ElementsAre("x", "w", "y", "M", "H", "eps"));
  ASSERT_EQ(contract.tensors.size(), 3u);
  EXPECT_EQ(contract.tensors[0].role, model::TensorRole::in);
  EXPECT_EQ(contract.tensors[1].lifetime, model::Lifetime::static_);
  EXPECT_EQ(contract.tensors[2].role, model::TensorRole::out);
  EXPECT_EQ(contract.tensors[2].dtype, model::Dtype::bfloat16);
  ASSERT_EQ(contract.scalars.size(), 1u);
  EXPECT_EQ(contract.scalars[0].value, 1e-5);
  ASSERT_EQ(contract.shapes.size(), 2u);
  EXPECT_EQ(contract.shapes[1].axes.at("M"), 512);
  EXPECT_EQ(contract.shapes[1].axes.at("H"), 4096);
  EXPECT_EQ(contract.reference.entry.file, "judge/ref.cpp");
  EXPECT_EQ(contract.reference.precision, model::ErrorPrecision::float64);
  ASSERT_EQ(contract.baselines.size(), 1u);
  EXPECT_EQ(contract.baselines[0].entry.file, "old/old.cpp");
}

TEST(ContractLine, ExtentsAreExpressionsAndTheirNamesBecomeAxes) {
  const auto contract =
      contract_of("q(b: int8[N, ceildiv(K, 32)], y: inout float32[max(N,2)])@N=8 K=100");
  EXPECT_EQ(contract.axes.size(), 2u);
  auto shapes = model::resolve_all(contract);
  ASSERT_TRUE(shapes) << shapes.error().text();
  EXPECT_THAT(shapes->at(0).tensors[0].shape, testing::ElementsAre(8, 4));
  EXPECT_EQ(contract.tensors[1].role, model::TensorRole::inout);
}

TEST(ContractLine, AScalarTensorHasNoExtents) {
  EXPECT_TRUE(contract_of("f(x: float32[N], y: out float32[], N) @ N=4").tensors[1].shape.empty());
}

struct Refused {
  const char* line;
  const char* where;   ///< column, from 1
  const char* allowed; ///< part of what the message allows
};

const Refused k_refused[] = {
    {"", "column 1", "the kernel's name"},
    {"f", "column 2", "("},
    {"f(x: float32[N]", "column 16", ")"},
    {"f(x: floot32[N]) @ N=1", "column 6", "a dtype"},
    {"f(x: out, N) @ N=1", "column 9", "a dtype"},
    {"f(x: float32, N) @ N=1", "column 13", "\"[\" and extents"},
    {"f(x: float32[N], N)", "column 20", "@"},
    {"f(x: float32[N], N) @", "column 22", "an axis"},
    {"f(x: float32[N], N) @ N", "column 24", "="},
    {"f(x: float32[N], N) @ N=1;", "column 27", "an axis"},
    {"f(x: float32[N], N) @ N=many", "column 25", "an integer"},
    {"f(x: float32[N], N) @ N=1 junk", "column 31", "="},
    {"f(x: float32[N], e: float32=, N) @ N=1", "column 29", "a number"},
    {"f(x: float32[N], e: float32=fast, N) @ N=1", "column 29", "a number"},
    {"f(x: float32[N) @ N=1", "column 22", "]"},
    {"f() @ N=1", "column 3", "an argument"},
};

TEST(ContractLine, WhatCannotBeReadIsRefusedAtItsColumn) {
  for (const Refused& one : k_refused) {
    SCOPED_TRACE(one.line);
    auto text = expand_contract_line(one.line, k_files);
    if (text) {
      ADD_FAILURE() << "accepted:\n" << text->toml;
      continue;
    }
    EXPECT_EQ(text.error().kind, base::ErrorKind::usage);
    EXPECT_EQ(text.error().where, std::string("--contract, ") + one.where);
    EXPECT_THAT(text.error().allowed, HasSubstr(one.allowed));
    EXPECT_THAT(text.error().next, HasSubstr("ako compare --help"));
  }
}

// Lines that can be read and are no lawful contract: told at their column, never in the words of
// the task.toml that stands in for them.
const Refused k_unlawful[] = {
    {"f(x: float32[N], y: out float32[N], N) @ N=0", "--contract, column 42", "at least 1"},
    {"f(x: float32[N], y: out float32[N], N) @ N=4 M=3", "--contract, column 46", "N"},
    {"f(x: float32[N], N) @ N=4", "--contract, column 3", "out or inout"},
    {"f(x: float32[N], y: out float32[N], N) @ N=4; N=4", "--contract, column 47", ""},
    {"f(x: float32[N], x: out float32[N], N) @ N=4", "--contract, column 18", "no tensor"},
    {"f(x: float32[N+], y: out float32[N], N) @ N=4", "--contract, column 14", ""},
    {"f(x: float32[N], y: out float32[N], N, e: float16=1) @ N=4", "--contract, column 40",
     "float32"},
};

TEST(ContractLine, WhatIsReadAndNotLawfulIsToldAtItsColumnToo) {
  for (const Refused& one : k_unlawful) {
    SCOPED_TRACE(one.line);
    auto text = expand_contract_line(one.line, k_files);
    ASSERT_TRUE(text) << text.error().text();
    auto contract = model::parse_contract(text->toml, "/tmp/x/task.toml");
    if (contract) {
      ADD_FAILURE() << "accepted:\n" << text->toml;
      continue;
    }
    const base::Error told = text->told(contract.error(), "/tmp/x/task.toml");
    EXPECT_EQ(told.kind, base::ErrorKind::usage);
    EXPECT_EQ(told.where, one.where) << told.text() << "\n" << text->toml;
    EXPECT_THAT(told.allowed, HasSubstr(one.allowed));
    for (const std::string& part : {told.message, told.found, told.allowed, told.next}) {
      EXPECT_FALSE(part.empty()) << told.text();
      EXPECT_THAT(part, testing::Not(HasSubstr("task.toml"))) << told.text();
    }
  }
}

TEST(ContractLine, NamesOfFilesAreTakenAsTheyAre) {
  const LineFiles files{"solution/a \"b\".cpp", "judge/c\\d.cpp", "old/e\\\".cpp", "float64"};
  auto text = expand_contract_line("f(x: float32[N], y: out float32[N], N) @ N=4", files);
  ASSERT_TRUE(text);
  auto contract = model::parse_contract(text->toml, "/tmp/x/task.toml");
  ASSERT_TRUE(contract) << contract.error().text();
  EXPECT_EQ(contract->kernel.entry.file, files.entry_file);
  EXPECT_EQ(contract->reference.entry.file, files.reference_file);
  EXPECT_EQ(contract->baselines[0].entry.file, files.baseline_file);
}

TEST(ContractLine, AFileThatIsNotOfItsLaneIsCalledWhatTheUserCallsIt) {
  LineFiles files = k_files;
  files.lane = model::Lane::cutlass;
  auto text = expand_contract_line("f(x: float32[N], y: out float32[N], N) @ N=4", files);
  ASSERT_TRUE(text);
  auto contract = model::parse_contract(text->toml, "/tmp/x/task.toml");
  ASSERT_FALSE(contract);
  const base::Error told = text->told(contract.error(), "/tmp/x/task.toml");
  EXPECT_EQ(told.where, "the new file");
  EXPECT_THAT(told.found, HasSubstr("new.cpp"));
  EXPECT_THAT(told.text(), testing::Not(HasSubstr("solution/")));
}

} // namespace
} // namespace ako::loop
