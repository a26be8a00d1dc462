// Figures and texts that the record takes from samples and shapes.
#include "loop/not_judged.hpp"
#include "loop/setup.hpp"
#include "model/contract_toml.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using model::Side;

model::ResolvedShape shape(const std::string& tag) {
  model::ResolvedShape out;
  out.tag = tag;
  out.axes = {{"H", 64}, {"M", 2}};
  out.weight = 3;
  model::ResolvedTensor x, y;
  x.name = "x";
  x.dtype = model::Dtype::bfloat16;
  y.name = "y";
  y.dtype = model::Dtype::bfloat16;
  out.tensors = {x, y};
  return out;
}

model::Sample sample(int shape, Side side, double ns, std::uint32_t flags = 0) {
  model::Sample out;
  out.shape = shape;
  out.side = side;
  out.device_ns = ns;
  out.flags = flags;
  return out;
}

TEST(Figures, ArePerShapeOfOneSideAndLeaveDisturbedBlocksOut) {
  model::Samples samples;
  for (double ns : {10.0, 20.0, 30.0}) samples.rows.push_back(sample(1, Side::candidate, ns));
  samples.rows.push_back(sample(1, Side::candidate, 9000, model::sample_flag::disturbed));
  samples.rows.push_back(sample(1, Side::incumbent, 500));
  const auto figure = figures(samples, {shape("a"), shape("b")}, Side::candidate);
  ASSERT_EQ(figure.size(), 2u);
  EXPECT_EQ(figure[0].samples, 0);
  EXPECT_EQ(figure[0].p50_ns, 0);
  EXPECT_EQ(figure[1].tag, "b");
  EXPECT_EQ(figure[1].samples, 3);
  EXPECT_EQ(figure[1].p50_ns, 20);
  EXPECT_EQ(figure[1].mean_ns, 20);
  EXPECT_DOUBLE_EQ(figure[1].p95_ns, 29);
  EXPECT_EQ(figure[1].weight, 3);
  EXPECT_EQ(figure[1].shape, "H=64 M=2");
}

std::vector<std::string> left_out(const std::string& most) {
  auto folder = base::TemporaryDir::make("ako-setup-");
  if (!folder) return {folder.error().text()};
  for (const char* file : {"solution/k.cpp", "input/ref.cpp"})
    if (auto wrote = base::write_file_atomic(folder->path() / file, "void k();\n"); !wrote)
      return {wrote.error().text()};
  std::ofstream(folder->path() / "task.toml") << R"(format = 1
[kernel]
entry = { file = "solution/k.cpp", symbol = "k" }
[axes]
N = { var = true, min = 1, max = )" << most << R"(, tile = 16 }
[reference]
entry = { file = "input/ref.cpp", symbol = "k" }
[[tensor]]
name = "x"
role = "in"
dtype = "float32"
shape = ["N"]
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["N"]
[[shape]]
N = 64
)";
  const auto workdir = workspace::Workdir::at(folder->path());
  const auto contract = model::load_contract(folder->path());
  if (!workdir || !contract) return {workdir ? contract.error().text() : workdir.error().text()};
  const auto shapes = model::resolve_all(*contract);
  auto setup =
      set_up(*workdir, *contract, *shapes, {}, {inputs::Recipe::plain}, Scope::whole, Target{});
  auto lines = std::move(setup.request.unproven);
  // Whether there is a floor hangs on the machine.
  EXPECT_EQ(std::erase_if(
                lines, [](const std::string& line) { return line.ends_with("no floor is known"); }),
            setup.request.ceilings.memory_bytes_per_s > 0 ? 0u : 1u);
  return lines;
}

TEST(SetUp, EdgesAboveTheLimitAndIndicesBeyondThirtyTwoBitsAreNamed) {
  using testing::ElementsAre;
  EXPECT_THAT(left_out("4096"), ElementsAre());
  EXPECT_THAT(left_out("8388608"),
              ElementsAre("edge:N=8388608: 64 MiB, edges above 32 MiB are not judged"));
  EXPECT_THAT(
      left_out("4294967296"),
      ElementsAre("edge:N=4294967296: 32768 MiB, edges above 32 MiB are not judged",
                  "tensors of more than 2^31 elements: the axes allow them, no [[shape]] has one"));
}

TEST(Figures, OneDtypeIsSaidOnceAndSeveralByTensor) {
  auto one = shape("a");
  EXPECT_EQ(dtype_text(one), "bfloat16");
  one.tensors[1].dtype = model::Dtype::float32;
  EXPECT_EQ(dtype_text(one), "x bfloat16, y float32");
}

TEST(NotJudged, AReferenceThatKnowsNoBetterIsSaid) {
  model::Contract contract;
  contract.tensors.resize(1);
  contract.tensors[0].name = "y";
  contract.tensors[0].role = model::TensorRole::out;
  contract.tensors[0].dtype = model::Dtype::float32;
  EXPECT_THAT(not_judged(contract),
              testing::ElementsAre(testing::HasSubstr("reference works in the precision")));
  auto known = contract;
  known.reference.precision = model::ErrorPrecision::float64;
  EXPECT_THAT(not_judged(known), testing::IsEmpty());
  for (const auto dtype : {model::Dtype::float64, model::Dtype::int32}) {
    contract.tensors[0].dtype = dtype;
    EXPECT_THAT(not_judged(contract), testing::IsEmpty());
  }
}

TEST(NotJudged, WhatIsDeclaredAndNotJudgedIsSaidAndNothingElse) {
  model::Contract contract;
  EXPECT_THAT(not_judged(contract), testing::IsEmpty());
  contract.kernel.batch_invariant = contract.kernel.capturable = true;
  contract.kernel.deterministic = true; // is judged
  contract.tensors.resize(2);
  contract.tensors[1].name = "y";
  contract.tensors[1].address = model::AddressRule::fresh;
  contract.tunables = {{"TILE", {16, 32}, ""}};
  const auto said = not_judged(contract);
  using testing::HasSubstr;
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("kernel.batch_invariant"),
                                         HasSubstr("kernel.capturable"), HasSubstr("tensor y"),
                                         HasSubstr("tunable TILE")));
  for (const auto& line : said) EXPECT_THAT(line, HasSubstr("not judged on this lane (cpu)"));
  contract.kernel.lane = model::Lane::cuda;
  contract.accept.clock = model::Clock::graph; // captures every call
  EXPECT_THAT(not_judged(contract), testing::Not(testing::Contains(HasSubstr("capturable"))));
}

} // namespace
} // namespace ako::loop
