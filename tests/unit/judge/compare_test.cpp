// Close comparison: what must pass passes, what must fail fails, and the report says where.
#include "build.hpp"

#include <limits>

namespace {

using namespace ako;
using model::Dtype;
using test::CloseCase;
using test::Values;

const double k_inf = std::numeric_limits<double>::infinity(), k_nan = std::nan("");

/// One odd element among honest ones.
judge::CompareResult one(Dtype dtype, double expected, double got,
                         void (*edit)(judge::Tolerance&) = nullptr) {
  CloseCase c(dtype, {4, 64});
  if (edit) edit(c.tolerance);
  Values values = test::normal_values(256);
  for (auto& v : values) v = inputs::decode(dtype, inputs::encode(dtype, v));
  Values other = values;
  values[100] = expected;
  other[100] = got;
  return c.compare(other, values);
}

TEST(NonFinite, TheTable) { // flashinfer-ai/flashinfer-bench#429
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16, Dtype::float16, Dtype::float64}) {
    EXPECT_TRUE(one(dtype, -k_inf, -k_inf).pass);
    EXPECT_FALSE(one(dtype, -k_inf, k_inf).pass);
    EXPECT_FALSE(one(dtype, k_inf, 1.0).pass);
    EXPECT_FALSE(one(dtype, 1.0, k_inf).pass);
    EXPECT_FALSE(one(dtype, 1.0, k_nan).pass);
    EXPECT_TRUE(one(dtype, -0.0, 0.0).pass);
    EXPECT_TRUE(one(dtype, 0.0, -0.0).pass);
    for (const double got : {1.0, k_nan}) {
      const auto undeclared = one(dtype, k_nan, got);
      EXPECT_FALSE(undeclared.pass);
      EXPECT_TRUE(undeclared.reference_at_fault);
      const auto declared =
          one(dtype, k_nan, got, [](judge::Tolerance& t) { t.nan_meaningful = true; });
      EXPECT_EQ(declared.pass, std::isnan(got));
      EXPECT_FALSE(declared.reference_at_fault);
    }
  }
}

TEST(NonFinite, FatalUnderAnyMatchedRatio) {
  const auto lax = [](judge::Tolerance& t) { t.matched_ratio = 0.5; };
  EXPECT_TRUE(one(Dtype::float32, 1.0, 9.0, lax).pass); // one finite mismatch of 256 is forgiven
  EXPECT_FALSE(one(Dtype::float32, 1.0, k_nan, lax).pass);
  EXPECT_FALSE(one(Dtype::float32, k_inf, 1.0, lax).pass);
  const auto result = one(Dtype::float32, 1.0, k_nan, lax);
  EXPECT_EQ(result.worst.element, 100);
  EXPECT_EQ(result.worst.index, (std::vector<std::int64_t>{1, 36}));
  EXPECT_EQ(result.nonfinite.got_nan, 1);
}

TEST(NonFinite, SubnormalsMayBeFlushedOnlyWhereDeclared) {
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    const auto strict = one(dtype, 1e-39, 0.0);
    EXPECT_FALSE(strict.pass);
    EXPECT_NE(strict.reason.find("flush_subnormals"), std::string::npos) << strict.reason;
    const auto declared =
        one(dtype, 1e-39, 0.0, [](judge::Tolerance& t) { t.flush_subnormals = true; });
    EXPECT_TRUE(declared.pass) << declared.reason;
    EXPECT_EQ(declared.flushed, 1);
    EXPECT_TRUE(one(dtype, 1e-60, 0.0).pass); // rounds to zero in that type
    EXPECT_TRUE(one(dtype, 1e-39, 1e-39).pass);
  }
}

TEST(NonFinite, WhatTheTypeCannotHoldMayOverflowOrSaturate) {
  EXPECT_TRUE(one(Dtype::float16, 70000, k_inf).pass);
  EXPECT_TRUE(one(Dtype::float16, 70000, 65504).pass);
  EXPECT_FALSE(one(Dtype::float16, 70000, -k_inf).pass);
  EXPECT_FALSE(one(Dtype::float16, 70000, k_nan).pass);
  EXPECT_FALSE(one(Dtype::float16, 65000, k_inf).pass);
  EXPECT_TRUE(one(Dtype::float8_e4m3fn, 1000, 448).pass);
  EXPECT_TRUE(one(Dtype::float8_e4m3fn, 1000, k_nan).pass);
  EXPECT_FALSE(one(Dtype::float8_e4m3fn, 1000, 1).pass);
}

TEST(Close, CorrectRoundingPassesInEveryFloatingType) {
  for (const Dtype dtype :
       {Dtype::float64, Dtype::float32, Dtype::float16, Dtype::bfloat16, Dtype::float8_e4m3fn,
        Dtype::float8_e5m2, Dtype::float4_e2m1fn, Dtype::float8_e8m0fnu}) {
    CloseCase c(dtype, {40, 1000}, 1000);
    Values values = test::normal_values(40000);
    if (dtype == Dtype::float8_e8m0fnu)
      for (auto& v : values) v = std::abs(v) + 1e-6;
    const auto result = c.compare(values, values);
    EXPECT_TRUE(result.pass) << to_string(dtype) << ": " << result.reason;
    EXPECT_EQ(result.mismatches, 0);
    EXPECT_EQ(result.flips, 0);
    EXPECT_LE(result.max_quanta, 0.5001) << to_string(dtype);
  }
}

TEST(Close, WhatIsComparedInPartsIsFoundAsInOne) {
  const std::int64_t lines = 1536, columns = 2048; // three parts
  CloseCase c(Dtype::float32, {lines, columns}, 16);
  const Values values = test::normal_values(static_cast<std::size_t>(lines * columns));
  Values bad = values;
  const auto at = [&](std::int64_t line, std::int64_t column) -> double& {
    return bad[static_cast<std::size_t>(line * columns + column)];
  };
  at(200, 7) += 0.5;
  at(1000, 70) += 100;
  at(1400, 9) += 1;
  auto result = c.compare(bad, values);
  EXPECT_FALSE(result.pass);
  EXPECT_EQ(result.mismatches, 3);
  EXPECT_EQ(result.first.index, (std::vector<std::int64_t>{200, 7}));
  EXPECT_EQ(result.worst.index, (std::vector<std::int64_t>{1000, 70}));
  EXPECT_EQ(result.worst_row.index, (std::vector<std::int64_t>{1000, 0}));
  EXPECT_EQ(result.worst_tile.index, (std::vector<std::int64_t>{960, 64}));
  EXPECT_EQ(result.worst_tile.elements, 64 * 64);
  EXPECT_NEAR(result.max_abs, 100, 1e-4);
  at(1500, 3) = k_nan; // not finite comes before large
  result = c.compare(bad, values);
  EXPECT_EQ(result.worst.index, (std::vector<std::int64_t>{1500, 3}));
  EXPECT_EQ(result.nonfinite.got_nan, 1);
  EXPECT_EQ(result.first.index, (std::vector<std::int64_t>{200, 7}));
  // A scale that only the whole shows.
  bad = values;
  for (double& value : bad) value *= 1.01;
  c.tolerance.rtol = 0.1;
  EXPECT_NE(c.compare(bad, values).reason.find("scaled by 1.01"), std::string::npos);
}

TEST(Close, GrossDamageFailsInEveryFloatingType) {
  for (const Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::float16, Dtype::bfloat16,
                            Dtype::float8_e4m3fn, Dtype::float8_e5m2, Dtype::float4_e2m1fn}) {
    CloseCase c(dtype, {40, 1000}, 1000);
    c.tolerance.slope_limit = c.tolerance.bias_limit = 0; // by the elements alone
    const Values values = test::normal_values(40000), others = test::normal_values(40000, 2);
    for (const double factor : {0.0, 0.72, -1.0}) {
      Values bad = values;
      for (auto& v : bad) v *= factor;
      EXPECT_FALSE(c.compare(bad, values).pass) << to_string(dtype) << ' ' << factor;
    }
    EXPECT_FALSE(c.compare(others, values).pass) << to_string(dtype);
  }
}

TEST(Close, ASmallScaleShowsInTheSlope) {
  for (const Dtype dtype : {Dtype::bfloat16, Dtype::float8_e4m3fn, Dtype::float8_e5m2,
                            Dtype::float4_e2m1fn, Dtype::float16, Dtype::float32}) {
    CloseCase c(dtype, {40, 1000}, 1000);
    const Values values = test::normal_values(40000);
    for (const double factor : {1.01, 0.99}) {
      Values scaled = values;
      for (auto& v : scaled) v *= factor;
      const auto result = c.compare(scaled, values);
      EXPECT_FALSE(result.pass) << to_string(dtype) << ' ' << factor << " slope " << result.slope
                                << " flips " << result.flips;
    }
  }
}

TEST(Close, TruncationShowsInTheBias) {
  for (const Dtype dtype :
       {Dtype::bfloat16, Dtype::float16, Dtype::float8_e4m3fn, Dtype::float8_e5m2}) {
    CloseCase c(dtype, {10, 300}, 1000);
    const Values values = test::normal_values(3000);
    test::Bytes bytes(static_cast<std::size_t>(c.y().bytes));
    for (std::int64_t i = 0; i < 3000; ++i) {
      inputs::store_code(dtype, bytes, i,
                         inputs::encode_truncated(dtype, values[static_cast<std::size_t>(i)]));
    }
    const auto result = c.compare(bytes, values);
    EXPECT_FALSE(result.pass) << to_string(dtype) << ' ' << result.bias_quanta;
    if (model::bits_of(dtype) == 16) {
      EXPECT_NEAR(result.bias_quanta, -0.5, 0.05);
    }
  }
}

TEST(Close, FewFlipsOfNarrowTypesPassManyDoNot) {
  CloseCase c(Dtype::float8_e4m3fn, {10, 1000}, 64);
  const Values values = test::normal_values(10000);
  const auto flipped = [&](int every) {
    auto bytes = test::encoded(c.y(), c.y().dtype, values);
    for (std::int64_t i = 0; i < 10000; i += every) {
      const auto code = inputs::load_code(c.y().dtype, bytes, i);
      const bool down = (i / every) % 2 && (code & 0x7f) > 0; // either way, so that no slope shows
      inputs::store_code(c.y().dtype, bytes, i, down ? code - 1 : code + 1);
    }
    return c.compare(bytes, values);
  };
  const auto few = flipped(50), many = flipped(10);
  EXPECT_TRUE(few.pass) << few.reason;
  EXPECT_EQ(few.flips, 200);
  EXPECT_FALSE(many.pass);
  EXPECT_EQ(many.flips, 1000);
  auto bytes = test::encoded(c.y(), c.y().dtype, values); // two quanta off is no flip
  bytes[777] = std::byte{0x20};
  const auto far = c.compare(bytes, values);
  EXPECT_FALSE(far.pass);
  EXPECT_EQ(far.first.element, 777);
}

TEST(Close, NamesWorstElementRowAndTile) {
  CloseCase c(Dtype::float32, {3, 200, 300}, 300);
  const Values values = test::normal_values(3 * 200 * 300);
  Values bad = values;
  const std::size_t at = (1 * 200 + 70) * 300 + 130;
  bad[at] += 50;
  bad[5] += 0.5;
  const auto result = c.compare(bad, values);
  EXPECT_FALSE(result.pass);
  EXPECT_EQ(result.mismatches, 2);
  EXPECT_EQ(result.first.element, 5);
  EXPECT_EQ(result.worst.index, (std::vector<std::int64_t>{1, 70, 130}));
  EXPECT_EQ(result.worst_row.index, (std::vector<std::int64_t>{1, 70, 0}));
  EXPECT_EQ(result.worst_tile.index, (std::vector<std::int64_t>{1, 64, 128}));
  EXPECT_EQ(result.worst_tile.elements, 64 * 64);
  EXPECT_NEAR(result.max_abs, 50, 1e-3);
  EXPECT_NE(result.reason.find("[1,70,130]"), std::string::npos) << result.reason;
}

TEST(Close, LongRowsAreReadInChunksWithLittleMemory) {
  CloseCase c(Dtype::bfloat16, {1000003}, 1000);
  const Values values = test::normal_values(1000003);
  Values bad = values;
  bad[1000002] = -bad[1000002] + 3;
  EXPECT_TRUE(c.compare(values, values).pass);
  const auto result = c.compare(bad, values);
  EXPECT_FALSE(result.pass);
  EXPECT_EQ(result.worst.element, 1000002);
  judge::CompareRequest request;
  request.got.tensor = &c.y();
  EXPECT_LE(judge::memory_need(request), 128 << 10);
}

TEST(Close, StridedOutputsAreComparedByTheirElements) {
  CloseCase c(Dtype::float32, {1});
  c.shape.tensors[1] = test::tensor_of(Dtype::float32, {50, 40}, {1, 50}); // column major
  c.shape.tensors[1].role = model::TensorRole::out;
  const Values values = test::normal_values(2000);
  EXPECT_TRUE(c.compare(values, values).pass);
  Values bad = values;
  bad[7 * 50 + 3] += 1; // element [3, 7]
  const auto result = c.compare(bad, values);
  EXPECT_FALSE(result.pass);
  EXPECT_EQ(result.first.index, (std::vector<std::int64_t>{3, 7}));
}

TEST(Close, ACapIsACapUnderMatchedRatio) {
  const auto lax = [](judge::Tolerance& t) {
    t.matched_ratio = 0.9;
    t.max_error_cap = 2.0;
  };
  EXPECT_TRUE(one(Dtype::float32, 1.0, 2.5, lax).pass);
  EXPECT_FALSE(one(Dtype::float32, 1.0, 3.5, lax).pass);
}

TEST(Checker, ItsOwnLackOfMemoryIsItsOwn) {
  const auto tensor = test::tensor_of(Dtype::int32, {1000000});
  const test::Bytes bytes(4000000);
  judge::CompareRequest request;
  request.got = request.expected = judge::view(tensor, bytes);
  request.how = model::Compare::set;
  request.memory_limit = 1 << 20;
  const auto refused = judge::compare(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, base::ErrorKind::environment);
  EXPECT_EQ(refused.error().message, "checker out of memory");
  request.memory_limit = judge::memory_need(request);
  EXPECT_TRUE(judge::compare(request));
}

TEST(Checker, EmptyTensorsAndShortBuffers) {
  const auto empty = test::tensor_of(Dtype::float32, {0, 5});
  judge::CompareRequest request;
  request.got = request.expected = judge::view(empty, {});
  const auto nothing = judge::compare(request);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->pass);
  EXPECT_EQ(nothing->elements, 0);
  const auto tensor = test::tensor_of(Dtype::float32, {5});
  const test::Bytes bytes(19);
  request.got = request.expected = judge::view(tensor, bytes);
  EXPECT_FALSE(judge::compare(request));
}

} // namespace
