// Contracts at a shape: sizes, strides, costs, edge shapes and hidden shapes.
#include "error_cases.hpp"
#include "model/contract_toml.hpp"
#include "model/resolved.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ako::model {
namespace {

Contract resolvable() {
  auto contract = parse_contract(cases::k_good, "task.toml");
  EXPECT_TRUE(contract) << contract.error().text();
  return *contract;
}

TEST(Resolve, SizesAtAShape) {
  const auto shapes = resolve_all(resolvable());
  ASSERT_TRUE(shapes) << shapes.error().text();
  const ResolvedShape& shape = shapes->at(1);
  EXPECT_EQ(shape.tag, "prefill");
  EXPECT_EQ(shape.axes, (AxisValues{{"M", 512}, {"H", 64}, {"B", 2}}));
  const ResolvedTensor& x = shape.tensors.at(0);
  EXPECT_EQ(x.dtype, Dtype::float16);
  EXPECT_EQ(x.strides, (std::vector<std::int64_t>{64, 1}));
  EXPECT_EQ(x.bytes, 512 * 64 * 2);
  EXPECT_TRUE(x.contiguous);
  EXPECT_EQ(shape.tensors.at(1).fill_limit, 64);
  EXPECT_EQ(shape.flops, 2.0 * 512 * 64);
  EXPECT_EQ(shape.bytes, 512.0 * 64 * 2 + 512 * 4 + 512 * 2 * 4);
  EXPECT_EQ(shape.scalars, std::vector<double>{1e-6});
}

TEST(Resolve, StridesGapsAndColumns) {
  Contract contract = resolvable();
  Tensor& y = contract.tensors.at(2);
  y.strides = {*Expression::parse("B+3"), *Expression::parse("1")};
  auto shape = resolve(contract, contract.shapes[0]);
  ASSERT_TRUE(shape) << shape.error().text();
  EXPECT_EQ(shape->tensors[2].span_elements, 7 * 5 + 2);
  EXPECT_EQ(shape->tensors[2].elements, 16);
  EXPECT_FALSE(shape->tensors[2].contiguous);
  y.strides.clear();
  y.layout = "column_major";
  shape = resolve(contract, contract.shapes[0]);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->tensors[2].strides, (std::vector<std::int64_t>{1, 8}));
  EXPECT_FALSE(shape->tensors[2].contiguous);
}

TEST(Resolve, OutputsThatTouchDoNotOverlapAndThoseThatShareAnElementDo) {
  Contract contract = resolvable();
  Tensor& y = contract.tensors.at(2);
  y.shape = {*Expression::parse("2"), *Expression::parse("3")};
  y.strides = {*Expression::parse("3"), *Expression::parse("1")};
  EXPECT_TRUE(resolve(contract, contract.shapes[0]));
  y.strides[0] = *Expression::parse("2"); // (1, 0) lies on (0, 2)
  const auto shape = resolve(contract, contract.shapes[0]);
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().message, "the strides make elements overlap");
}

TEST(Resolve, AnInputMayBeBroadcast) {
  Contract contract = resolvable();
  contract.tensors[0].strides = {*Expression::parse("0"), *Expression::parse("1")};
  const auto shape = resolve(contract, contract.shapes[1]);
  ASSERT_TRUE(shape) << shape.error().text();
  EXPECT_EQ(shape->tensors[0].bytes, 64 * 2);
}

TEST(Resolve, ErrorsNameShapeAndPart) {
  Contract contract = resolvable();
  ShapeCase shape = contract.shapes[0];
  shape.axes["M"] = 9;
  EXPECT_EQ(resolve(contract, shape).error().where, "shape 'decode', axis M");
  shape.axes.clear();
  EXPECT_EQ(resolve(contract, shape).error().message, "the axis has no value in this shape");
  contract.tensors[0].shape = {*Expression::parse("H-64")};
  EXPECT_EQ(resolve(contract, contract.shapes[0]).error().where,
            "shape 'decode', tensor 'x' shape");
}

TEST(Resolve, CyclicAxesEnd) {
  Contract contract = resolvable();
  contract.axes[2].expression = *Expression::parse("B+1");
  EXPECT_EQ(resolve(contract, contract.shapes[0]).error().where, "shape 'decode', axis B");
}

TEST(Resolve, SumsRunOverAxesThatOutputsLack) {
  const char* const matmul = R"(format = 1
[kernel]
entry = { file = "k.cpp", symbol = "k" }
[axes]
M = { const = 4 }
K = { const = 96 }
V = { const = 1000 }
B = { expr = "K/32" }
[[tensor]]
name = "a"
role = "in"
dtype = "float32"
shape = ["M", "K"]
[[tensor]]
name = "s"
role = "in"
dtype = "float32"
shape = ["V", "B"]
[[tensor]]
name = "i"
role = "in"
dtype = "int32"
shape = ["M"]
fill = { kind = "index", limit = "V" }
[[tensor]]
name = "c"
role = "out"
dtype = "float32"
shape = ["M"]
[[shape]]
[reference]
entry = { file = "r.cpp", symbol = "r" }
)";
  const auto contract = parse_contract(matmul, "t");
  ASSERT_TRUE(contract) << contract.error().text();
  // K once although B follows from it too; V is looked up, not summed.
  EXPECT_EQ(resolve(*contract, contract->shapes[0])->accumulate, 96);
}

TEST(EdgeShapes, AreTheLawfulEdges) {
  std::set<std::string> tags;
  const Contract contract = resolvable();
  for (const ShapeCase& shape : edge_shapes(contract, 1 << 30)) {
    EXPECT_TRUE(tags.insert(shape.tag).second) << shape.tag;
    EXPECT_TRUE(resolve(contract, shape)) << shape.tag;
  }
  // The minimum, 8, is the contract's own; the prime multiple is 8 * 37: beyond two tiles.
  EXPECT_EQ(tags, (std::set<std::string>{"edge:M=120", "edge:M=128", "edge:M=136", "edge:M=296",
                                         "edge:M=4096", "edge:T=float16"}));
}

TEST(EdgeShapes, TailsMeetWhereSeveralAxesVary) {
  Contract contract = resolvable();
  const auto met = [&] {
    const auto edges = edge_shapes(contract, 1 << 30);
    return std::count_if(edges.begin(), edges.end(),
                         [](const ShapeCase& each) { return each.tag == "edge:tails"; });
  };
  EXPECT_EQ(met(), 0); // one axis alone has its own tails
  Axis more;
  more.name = "B";
  more.tile = 16;
  more.max = 100;
  contract.axes.push_back(more);
  for (ShapeCase& shape : contract.shapes) shape.axes["B"] = 16;
  ASSERT_EQ(met(), 1);
  for (const ShapeCase& each : edge_shapes(contract, 1 << 30)) {
    if (each.tag != "edge:tails") continue;
    EXPECT_EQ(each.axes.at("B"), 17);
    EXPECT_EQ(each.axes.at("M"), 136);
  }
}

TEST(EdgeShapes, TheLargestIsWhatFits) {
  const Contract contract = resolvable();
  const std::int64_t most = 100000;
  std::int64_t largest = 0;
  for (const ShapeCase& shape : edge_shapes(contract, most)) {
    const auto resolved = resolve(contract, shape);
    ASSERT_TRUE(resolved);
    std::int64_t bytes = 0;
    for (const ResolvedTensor& each : resolved->tensors) bytes += each.bytes;
    EXPECT_LE(bytes, most) << shape.tag;
    largest = std::max(largest, shape.axes.at("M"));
  }
  // A row takes 64*2 + 4 + 2*4 = 140 bytes: 714 rows fit, 712 is the multiple of 8 below.
  EXPECT_EQ(largest, 712);
}

TEST(HiddenShapes, AreLawfulNewAndRepeatable) {
  const Contract contract = resolvable();
  const auto drawn = hidden_shapes(contract, 5, 8, 1 << 30);
  ASSERT_EQ(drawn.size(), 8u);
  std::set<std::pair<AxisValues, std::map<std::string, Dtype>>> taken;
  for (const ShapeCase& each : contract.shapes) taken.insert({each.axes, each.dtypes});
  for (const ShapeCase& each : edge_shapes(contract, 1 << 30))
    taken.insert({each.axes, each.dtypes});
  for (const ShapeCase& each : drawn) {
    EXPECT_TRUE(resolve(contract, each)) << each.tag;
    EXPECT_TRUE(taken.insert({each.axes, each.dtypes}).second) << each.tag << " is not new";
  }
  EXPECT_EQ(hidden_shapes(contract, 5, 8, 1 << 30), drawn);
  EXPECT_NE(hidden_shapes(contract, 6, 8, 1 << 30), drawn);
}

TEST(HiddenShapes, NothingIsDrawnWhereNothingIsFree) {
  Contract contract = resolvable();
  contract.axes[0].min = contract.axes[0].max = 8;
  contract.axes[3].dtypes = {Dtype::bfloat16};
  contract.shapes.resize(1);
  EXPECT_TRUE(hidden_shapes(contract, 1, 3, 1 << 30).empty());
}

} // namespace
} // namespace ako::model
