// Exact, set and property comparison; stability; precision. Each with a culprit and an honest twin.
#include "build.hpp"
#include "judge/precision.hpp"
#include "judge/stability.hpp"

#include <algorithm>
#include <numeric>

namespace {

using namespace ako;
using model::Compare;
using model::Dtype;
using test::tensor_of;
using test::Values;

enum class Nan { fault, meaningful };

judge::CompareResult compare_values(Dtype dtype, std::vector<std::int64_t> extents, Compare how,
                                    const Values& got, const Values& expected,
                                    Nan nan = Nan::fault) {
  const auto tensor = tensor_of(dtype, std::move(extents));
  const auto a = test::encoded(tensor, dtype, got), b = test::encoded(tensor, dtype, expected);
  judge::CompareRequest request;
  request.got = judge::view(tensor, a);
  request.expected = judge::view(tensor, b);
  request.how = how;
  request.tolerance.nan_meaningful = nan == Nan::meaningful;
  auto result = judge::compare(request);
  EXPECT_TRUE(result) << result.error().text();
  return result ? *result : judge::CompareResult{};
}

TEST(Exact, OneElementOffIsNamedAndZerosAreEqual) {
  EXPECT_TRUE(
      compare_values(Dtype::int32, {2, 3}, Compare::exact, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6})
          .pass);
  const auto off =
      compare_values(Dtype::int32, {2, 3}, Compare::exact, {1, 2, 3, 4, 6, 6}, {1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(off.pass);
  EXPECT_EQ(off.first.index, (std::vector<std::int64_t>{1, 1}));
  EXPECT_TRUE(compare_values(Dtype::float32, {2}, Compare::exact, {-0.0, 1}, {0.0, 1}).pass);
  const double nan = std::nan("");
  EXPECT_FALSE(compare_values(Dtype::float32, {1}, Compare::exact, {nan}, {1}).pass);
  EXPECT_FALSE(compare_values(Dtype::float32, {1}, Compare::exact, {nan}, {1}).reference_at_fault);
  // 64-bit integers that the same double stands for are still different.
  const auto tensor = tensor_of(Dtype::int64, {1});
  test::Bytes a(8), b(8);
  inputs::store_code(Dtype::int64, a, 0, (1ull << 60) + 1);
  inputs::store_code(Dtype::int64, b, 0, 1ull << 60);
  judge::CompareRequest request;
  request.got = judge::view(tensor, a);
  request.expected = judge::view(tensor, b);
  request.how = Compare::exact;
  EXPECT_FALSE(judge::compare(request)->pass);
}

TEST(Exact, AReferenceThatIsNotANumberIsItsOwnFaultUnlessThatMeansSomething) {
  const double nan = std::nan("");
  for (const Compare how : {Compare::exact, Compare::set}) {
    const auto fault = compare_values(Dtype::float32, {2}, how, {1, nan}, {1, nan});
    EXPECT_FALSE(fault.pass);
    EXPECT_TRUE(fault.reference_at_fault);
    EXPECT_NE(fault.reason.find("1 of 2 elements, the first at [1]"), std::string::npos)
        << fault.reason;
    EXPECT_TRUE(
        compare_values(Dtype::float32, {2}, how, {1, -nan}, {1, nan}, Nan::meaningful).pass);
    EXPECT_FALSE(compare_values(Dtype::float32, {2}, how, {1, 7}, {1, nan}, Nan::meaningful).pass);
    EXPECT_FALSE(compare_values(Dtype::float32, {2}, how, {nan, 7}, {1, 7}, Nan::meaningful).pass);
  }
}

TEST(Set, OrderWithinARowIsFreeAcrossRowsItIsNot) {
  const Values expected = {1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(
      compare_values(Dtype::int32, {2, 3}, Compare::set, {3, 1, 2, 6, 5, 4}, expected).pass);
  EXPECT_FALSE(
      compare_values(Dtype::int32, {2, 3}, Compare::set, {4, 1, 2, 3, 5, 6}, expected).pass);
  EXPECT_FALSE(
      compare_values(Dtype::int32, {2, 3}, Compare::set, {1, 1, 3, 4, 5, 6}, expected).pass);
}

/// Property of `got` with one other tensor named t (and optionally u).
base::Expected<judge::CompareResult>
property(const std::string& text, Dtype dtype, std::vector<std::int64_t> shape, const Values& got,
         Dtype other_dtype, std::vector<std::int64_t> other_shape, const Values& other) {
  auto tensor = tensor_of(dtype, std::move(shape)),
       t = tensor_of(other_dtype, std::move(other_shape));
  tensor.name = "y";
  t.name = "t";
  const auto a = test::encoded(tensor, dtype, got), b = test::encoded(t, other_dtype, other);
  judge::CompareRequest request;
  request.got = judge::view(tensor, a);
  request.how = Compare::property;
  request.property = text;
  request.others = {judge::view(t, b)};
  return judge::compare(request);
}

TEST(Property, PermutationAndSorted) {
  const Values source = {3, 1, 2, 9, 8, 7};
  const auto check = [&](const char* text, const Values& got) {
    return property(text, Dtype::float32, {2, 3}, got, Dtype::float32, {2, 3}, source)->pass;
  };
  EXPECT_TRUE(check("permutation_of:t; sorted", {1, 2, 3, 7, 8, 9}));
  EXPECT_FALSE(check("permutation_of:t; sorted", {1, 2, 3, 8, 7, 9}));
  EXPECT_FALSE(check("permutation_of:t", {1, 2, 2, 7, 8, 9}));
  EXPECT_FALSE(check("permutation_of:t", {7, 8, 9, 1, 2, 3}));
  EXPECT_TRUE(check("sorted_descending", {3, 2, 2, 9, 8, 7}));
  EXPECT_FALSE(check("sorted", {1, 2, std::nan(""), 7, 8, 9}));
}

/// Indices `got` into t, where the reference names `expected`.
judge::CompareResult picked(const std::string& text, const Values& got, const Values& expected,
                            const Values& source) {
  auto tensor = tensor_of(Dtype::int32, {2, 2}), t = tensor_of(Dtype::float32, {2, 4});
  tensor.name = "y";
  t.name = "t";
  const auto a = test::encoded(tensor, Dtype::int32, got),
             e = test::encoded(tensor, Dtype::int32, expected),
             b = test::encoded(t, Dtype::float32, source);
  judge::CompareRequest request;
  request.got = judge::view(tensor, a);
  request.expected = judge::view(tensor, e);
  request.how = Compare::property;
  request.property = text;
  request.others = {judge::view(t, b)};
  return judge::compare(request).value();
}

TEST(Property, AnyOfEqualValuesMayBePickedAndNothingElse) {
  const Values source = {5, 7, 5, 1, 0.0, -0.0, -3, -4}, expected = {1, 0, 0, 1};
  EXPECT_TRUE(picked("picks:t", {1, 0, 0, 1}, expected, source).pass);
  EXPECT_TRUE(picked("picks:t", {2, 1, 1, 0}, expected, source).pass); // the other 5, other order
  EXPECT_FALSE(picked("picks:t; sorted", {2, 1, 1, 0}, expected, source).pass);
  const Values wrong[] = {{1, 3, 0, 1}, {1, 1, 0, 1}, {0, 2, 0, 1},  {1, 0, 0, 2},
                          {1, 4, 0, 1}, {1, 0, 0, 0}, {-1, 1, 0, 1}, {0, 1, 2, 3}};
  for (const Values& got : wrong) {
    const auto result = picked("picks:t", got, expected, source);
    EXPECT_FALSE(result.pass) << got[0] << ' ' << got[1];
    EXPECT_FALSE(result.reference_at_fault);
  }
  // compare = "set" knows nothing of what is picked.
  EXPECT_FALSE(compare_values(Dtype::int32, {2, 2}, Compare::set, {2, 1, 0, 1}, expected).pass);
  EXPECT_TRUE(picked("picks:t", {1, 0, 0, 1}, {1, 1, 0, 1}, source).reference_at_fault);
}

TEST(Property, UnknownClausesAndNamesAreErrors) {
  for (const char* text : {"", "sortd", "picks:t", "picks:u", "permutation_of:u", "product:t=t",
                           "row_sum:x", "sampled_from:", "permutation_of t"}) {
    const auto result =
        property(text, Dtype::float32, {3}, {1, 2, 3}, Dtype::float32, {3}, {1, 2, 3});
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().kind, base::ErrorKind::invalid);
  }
}

/// Draws one outcome for each row's distribution.
Values draw(const Values& share, std::int64_t rows, std::int64_t outcomes, unsigned seed,
            std::int64_t row_shift = 0) {
  std::mt19937 random(seed);
  Values picked;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::ptrdiff_t>((row + row_shift) % rows * outcomes);
    std::discrete_distribution<int> one(share.begin() + at, share.begin() + at + outcomes);
    picked.push_back(one(random));
  }
  return picked;
}

TEST(Property, SamplersAreToldFromWhatLooksLikeOne) {
  constexpr std::int64_t k_rows = 4000, k_outcomes = 20;
  Values share(k_rows * k_outcomes);
  std::mt19937 random(5);
  for (auto& p : share) p = std::exp(2 * std::normal_distribution<double>()(random));
  const auto judged = [&](const Values& picked) {
    return property("sampled_from:t", Dtype::int32, {k_rows}, picked, Dtype::float64,
                    {k_rows, k_outcomes}, share)
        ->pass;
  };
  for (unsigned seed = 1; seed <= 20; ++seed)
    EXPECT_TRUE(judged(draw(share, k_rows, k_outcomes, seed)));
  EXPECT_FALSE(judged(draw(share, k_rows, k_outcomes, 1, 7))); // another row's distribution
  Values most_likely, uniform;
  for (std::int64_t row = 0; row < k_rows; ++row) {
    const auto from = share.begin() + row * k_outcomes;
    most_likely.push_back(static_cast<double>(std::max_element(from, from + k_outcomes) - from));
    uniform.push_back(static_cast<double>(random() % k_outcomes));
  }
  EXPECT_FALSE(judged(most_likely)); // spread evenly over indices, yet no sample
  EXPECT_FALSE(judged(uniform));
  EXPECT_FALSE(judged(Values(k_rows, 0)));
  Values outside = draw(share, k_rows, k_outcomes, 1);
  outside[9] = k_outcomes;
  EXPECT_FALSE(judged(outside));
}

TEST(Property, TheTailIsRightWithTwoOutcomesToo) {
  // 1000 fair throws; twice the log likelihood ratio of 580 heads is 25.7, which has p = 4.0e-7
  // with one degree of freedom, that of 578 is 24.4: 7.7e-7. The limit is 5e-7.
  const auto passes = [](int heads) {
    Values picked(1000, 1.0);
    std::fill_n(picked.begin(), heads, 0.0);
    return property("sampled_from:t", Dtype::int32, {1, 1000}, picked, Dtype::float64, {1, 2},
                    {0.5, 0.5})
        ->pass;
  };
  EXPECT_TRUE(passes(578));
  EXPECT_FALSE(passes(580));
}

TEST(Property, ProductsAndRowSumsUnderTheTypesOwnNoise) {
  // c = a b with a lower triangular; stored in float32, checked without a given tolerance.
  constexpr std::int64_t n = 40;
  Values a = test::normal_values(n * n, 3), b = test::normal_values(n * n, 4), c(n * n);
  for (auto* m : {&a, &b})
    for (auto& v : *m) v = static_cast<float>(v);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
  const auto tensor_a = [&] {
    auto t = tensor_of(Dtype::float32, {n, n});
    t.name = "a";
    return t;
  }();
  auto tensor_b = tensor_a, tensor_c = tensor_a;
  tensor_b.name = "b";
  tensor_c.name = "c";
  const auto judged = [&](const Values& left) {
    const auto bytes_a = test::encoded(tensor_a, Dtype::float32, left);
    const auto bytes_b = test::encoded(tensor_b, Dtype::float32, b);
    const auto bytes_c = test::encoded(tensor_c, Dtype::float32, c);
    judge::CompareRequest request;
    request.got = judge::view(tensor_a, bytes_a);
    request.how = Compare::property;
    request.property = "product:a,b=c";
    request.others = {judge::view(tensor_b, bytes_b), judge::view(tensor_c, bytes_c)};
    return judge::compare(request)->pass;
  };
  EXPECT_TRUE(judged(a));
  Values off = a;
  off[77] *= 1.001;
  EXPECT_FALSE(judged(off));

  Values rows(6 * 1000, 1e-3);
  const auto sums = [&](const Values& got) {
    return property("row_sum:1", Dtype::float32, {6, 1000}, got, Dtype::float32, {1}, {0})->pass;
  };
  EXPECT_TRUE(sums(rows));
  rows[5] += 1e-4;
  EXPECT_FALSE(sums(rows));
}

judge::StabilityResult repeats(const std::vector<Values>& runs, Dtype dtype, Compare how) {
  test::CloseCase c(dtype, {8, 128}, 128);
  std::vector<test::Bytes> bytes;
  for (const auto& run : runs) bytes.push_back(test::encoded(c.y(), dtype, run));
  std::vector<std::span<const std::byte>> views(bytes.begin(), bytes.end());
  auto result = judge::classify_repeats(c.y(), views, how, c.tolerance);
  EXPECT_TRUE(result) << result.error().text();
  return *result;
}

TEST(Stability, StableNoiseAndUnstable) {
  const Values first = test::normal_values(1024);
  Values noise = first, wrong = first;
  for (std::size_t i = 0; i < noise.size(); i += 3) noise[i] += 3e-7;
  wrong[900] = 0.5 - wrong[900];
  EXPECT_EQ(repeats({first, first, first}, Dtype::float32, Compare::close).kind,
            judge::Stability::stable);
  const auto reordered = repeats({first, noise, first}, Dtype::float32, Compare::close);
  EXPECT_EQ(reordered.kind, judge::Stability::reorder_noise);
  EXPECT_EQ(reordered.different_runs, 1);
  const auto unstable = repeats({first, first, wrong}, Dtype::float32, Compare::close);
  EXPECT_EQ(unstable.kind, judge::Stability::unstable);
  EXPECT_EQ(unstable.different_elements, 1);
  EXPECT_EQ(repeats({first, noise}, Dtype::float32, Compare::exact).kind,
            judge::Stability::unstable);

  using judge::Determinism;
  EXPECT_TRUE(judge::stability_evidence(reordered, Determinism::undeclared, "s").empty());
  EXPECT_EQ(judge::stability_evidence(reordered, Determinism::declared, "s").size(), 1u);
  EXPECT_TRUE(judge::stability_evidence(unstable, Determinism::undeclared, "s").at(0).decisive);
}

TEST(Stability, AnotherOrderOfASetOrOfAPropertyIsNoiseAndAnotherMemberIsNot) {
  const Values first = test::normal_values(1024);
  Values turned = first, foreign = first;
  std::swap(turned[3], turned[90]);
  foreign[3] = foreign[90];
  EXPECT_EQ(repeats({first, turned}, Dtype::float32, Compare::set).kind,
            judge::Stability::reorder_noise);
  EXPECT_EQ(repeats({first, foreign}, Dtype::float32, Compare::set).kind,
            judge::Stability::unstable);
  EXPECT_EQ(repeats({first, first}, Dtype::float32, Compare::set).kind, judge::Stability::stable);
  const auto tensor = tensor_of(Dtype::float32, {1024});
  const auto a = test::encoded(tensor, Dtype::float32, first),
             b = test::encoded(tensor, Dtype::float32, turned);
  const std::vector<std::span<const std::byte>> runs = {a, b};
  for (const int wrong : {-1, 0, 1}) {
    const auto result =
        judge::classify_repeats(tensor, runs, Compare::property, {},
                                [&](std::size_t run) -> base::Expected<judge::CompareResult> {
                                  judge::CompareResult out;
                                  out.pass = static_cast<int>(run) != wrong;
                                  return out;
                                });
    ASSERT_TRUE(result);
    EXPECT_EQ(result->kind,
              wrong < 0 ? judge::Stability::reorder_noise : judge::Stability::unstable)
        << wrong;
    EXPECT_EQ(result->different_elements, 2);
  }
}

TEST(Stability, WhatLiesBetweenStridesIsNoAnswer) {
  auto tensor = tensor_of(Dtype::float32, {2, 3});
  tensor.strides = {4, 1};
  tensor.contiguous = false;
  tensor.span_elements = 7;
  tensor.bytes = 28;
  const auto a = test::encoded(tensor, Dtype::float32, {1, 2, 3, 77, 4, 5, 6}),
             b = test::encoded(tensor, Dtype::float32, {1, 2, 3, -9, 4, 5, 6}),
             c = test::encoded(tensor, Dtype::float32, {1, 2, 3, 77, 4, 5, 8});
  const auto kind = [&](const test::Bytes& other) {
    const std::vector<std::span<const std::byte>> runs = {a, other};
    return judge::classify_repeats(tensor, runs, Compare::exact, {})->kind;
  };
  EXPECT_EQ(kind(b), judge::Stability::stable);
  EXPECT_EQ(kind(c), judge::Stability::unstable);
}

/// Rounds to float16 as a kernel would that multiplies in a narrower type.
double narrowed(double v) {
  return inputs::decode(Dtype::float16, inputs::encode(Dtype::float16, v));
}

TEST(Precision, NarrowerArithmeticIsTold) { // BytedTsinghua-SIA/CUDA-Agent#16
  constexpr std::int64_t k = 4096;
  const Values a = test::normal_values(64 * k, 1), b = test::normal_values(k, 2);
  Values exact(64), single(64), half(64);
  for (std::size_t i = 0; i < 64; ++i) {
    float sum = 0, narrow = 0;
    for (std::size_t x = 0; x < k; ++x) {
      const double p = static_cast<float>(a[i * k + x]), q = static_cast<float>(b[x]);
      exact[i] += p * q;
      sum += static_cast<float>(p) * static_cast<float>(q);
      narrow += static_cast<float>(narrowed(p) * narrowed(q));
    }
    single[i] = sum;
    half[i] = narrow;
  }
  test::CloseCase c(Dtype::float32, {64}, k);
  const auto baseline = c.compare(single, exact), candidate = c.compare(half, exact);
  EXPECT_TRUE(baseline.pass) << baseline.reason;
  const auto lower = judge::classify_precision(candidate, baseline, Dtype::float32, Dtype::float64);
  EXPECT_EQ(lower.kind, judge::PrecisionClass::lower);
  EXPECT_GT(lower.ratio, 20);
  judge::CompareResult lucky, unlucky; // of four sums, the same but for their order
  lucky.error_rms = 0.4 * 0x1p-24;
  unlucky.error_rms = 1.1 * 0x1p-24;
  EXPECT_EQ(judge::classify_precision(unlucky, lucky, Dtype::float32, Dtype::float64).kind,
            judge::PrecisionClass::same);
  const auto same = judge::classify_precision(baseline, baseline, Dtype::float32, Dtype::float64);
  EXPECT_EQ(same.kind, judge::PrecisionClass::same);
  EXPECT_EQ(judge::classify_precision(baseline, candidate, Dtype::float32, Dtype::float64).kind,
            judge::PrecisionClass::better);
  // A reference in single precision errs like the baseline, and far less than the candidate.
  const auto native = [&](const judge::CompareResult& got) {
    return judge::classify_precision(got, baseline, Dtype::float32, Dtype::float32, k);
  };
  EXPECT_EQ(native(candidate).kind, judge::PrecisionClass::lower);
  EXPECT_EQ(native(baseline).kind, judge::PrecisionClass::same);
  auto other_order = baseline; // as far from a reference that has the baseline's very order
  auto none = baseline;
  none.error_rms = 0;
  EXPECT_EQ(judge::classify_precision(other_order, none, Dtype::float32, Dtype::float32, k).kind,
            judge::PrecisionClass::same);
  EXPECT_EQ(judge::classify_precision(candidate, baseline, Dtype::int32, Dtype::int32).kind,
            judge::PrecisionClass::unknown);
  using model::PrecisionRule;
  EXPECT_FALSE(judge::precision_evidence(lower, PrecisionRule::free, {}, "s").at(0).decisive);
  EXPECT_TRUE(judge::precision_evidence(lower, PrecisionRule::fixed, {}, "s").at(0).decisive);
  EXPECT_TRUE(judge::precision_evidence(lower, PrecisionRule::free, 10.0, "s").at(0).decisive);
  EXPECT_TRUE(judge::precision_evidence(same, PrecisionRule::fixed, 10.0, "s").empty());
}

} // namespace
