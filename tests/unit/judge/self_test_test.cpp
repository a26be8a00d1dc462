// A contract that can judge, and contracts that cannot: each named by the probe or mutant that
// would get through.
#include "build.hpp"
#include "judge/probes.hpp"

#include <algorithm>
#include <utility>

namespace {

using namespace ako;
using inputs::Recipe;
using judge::InputChange;
using judge::OracleAnswer;
using judge::OracleCase;
using model::Dtype;
using test::Values;

/// A task of two inputs and one output whose reference is a function on doubles.
struct Task {
  using Kernel = Values (*)(const Values& a, const Values& b, const model::ResolvedShape& shape);
  model::Contract contract;
  model::ResolvedShape shape;
  Kernel kernel;
  bool float32_sum_reversed = false;
  bool native = false; ///< the reference writes the output's own type
  int calls = 0;

  Task(Dtype dtype, std::vector<std::int64_t> a, std::vector<std::int64_t> b,
       std::vector<std::int64_t> out, Kernel k, std::int64_t accumulate)
      : kernel(k) {
    model::Tensor x, y, z;
    x.name = "a";
    y.name = "b";
    z.name = "out";
    x.dtype = y.dtype = z.dtype = dtype;
    z.role = model::TensorRole::out;
    contract.tensors = {x, y, z};
    contract.reference.precision = model::ErrorPrecision::float64;
    contract.tolerance.accumulate = "K";
    shape.tag = "small";
    shape.accumulate = accumulate;
    shape.tensors = {test::tensor_of(dtype, a), test::tensor_of(dtype, b),
                     test::tensor_of(dtype, out)};
    for (std::size_t t = 0; t < 3; ++t) shape.tensors[t].name = contract.tensors[t].name;
    shape.tensors[2].role = model::TensorRole::out;
  }

  base::Expected<OracleAnswer> answer(const OracleCase& asked) {
    ++calls;
    OracleAnswer out;
    for (std::uint32_t t = 0; t < 2; ++t) {
      test::Bytes bytes(static_cast<std::size_t>(shape.tensors[t].bytes));
      AKO_TRY_STATUS(inputs::fill(bytes, shape.tensors[t], contract.tensors[t].fill, asked.recipe,
                                  {asked.seed, t, 0, 0}));
      out.tensors.push_back(std::move(bytes));
    }
    std::vector<std::span<std::byte>> views(out.tensors.begin(), out.tensors.end());
    views.emplace_back();
    judge::change_inputs(asked.change, shape, views);
    Values operand[2];
    for (std::size_t t = 0; t < 2; ++t) {
      operand[t].resize(static_cast<std::size_t>(shape.tensors[t].elements));
      inputs::decode_range(shape.tensors[t].dtype, out.tensors[t], 0, operand[t]);
    }
    const Values values = kernel(operand[0], operand[1], shape);
    const Dtype written = native ? shape.tensors[2].dtype : Dtype::float64;
    test::Bytes answer(values.size() * static_cast<std::size_t>(model::bits_of(written)) / 8);
    inputs::encode_range(written, values, answer, 0);
    out.tensors.push_back(std::move(answer));
    return out;
  }

  judge::SelfTestReport report() {
    judge::SelfTest test;
    test.contract = &contract;
    test.shapes = {shape};
    test.seed = 11;
    test.oracle = [this](const OracleCase& asked) { return answer(asked); };
    auto result = judge::self_test(test);
    EXPECT_TRUE(result) << result.error().text();
    return result ? *result : judge::SelfTestReport{};
  }
};

Values matmul(const Values& a, const Values& b, const model::ResolvedShape& shape) {
  const auto m = static_cast<std::size_t>(shape.tensors[0].shape[0]);
  const auto k = static_cast<std::size_t>(shape.tensors[0].shape[1]);
  const auto n = static_cast<std::size_t>(shape.tensors[1].shape[1]);
  Values c(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t x = 0; x < k; ++x)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + x] * b[x * n + j];
  return c;
}

/// y = (x - mean) / deviation over rows: close to the identity on N(0, 1).
Values layer_norm(const Values& a, const Values&, const model::ResolvedShape& shape) {
  const auto n = static_cast<std::size_t>(shape.tensors[0].shape[1]);
  Values y = a;
  for (std::size_t row = 0; row < y.size(); row += n) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < n; ++i) mean += y[row + i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      square += (y[row + i] - mean) * (y[row + i] - mean) / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) y[row + i] = (y[row + i] - mean) / std::sqrt(square + 1e-5);
  }
  return y;
}

Values softmax(const Values& a, const Values&, const model::ResolvedShape& shape) {
  const auto n = static_cast<std::size_t>(shape.tensors[0].shape[1]);
  Values y = a;
  for (std::size_t row = 0; row < y.size(); row += n) {
    double top = -1e300, sum = 0;
    for (std::size_t i = 0; i < n; ++i) top = std::max(top, y[row + i]);
    for (std::size_t i = 0; i < n; ++i) sum += y[row + i] = std::exp(y[row + i] - top);
    for (std::size_t i = 0; i < n; ++i) y[row + i] /= sum;
  }
  return y;
}

Values constant(const Values& a, const Values&, const model::ResolvedShape&) {
  return Values(a.size(), 0.0); // gelu(x W + b) with W = b = 0
}

Values copy(const Values& a, const Values&, const model::ResolvedShape&) { return a; }

Values bad_log(const Values& a, const Values&, const model::ResolvedShape&) {
  Values y = a;
  for (auto& v : y) v = std::log(v);
  return y;
}

std::string faults(const judge::SelfTestReport& report) {
  std::string text;
  for (const auto& fault : report.faults) text += fault.text + "\n";
  return text;
}

bool has(const std::vector<Recipe>& recipes, Recipe recipe) {
  return std::find(recipes.begin(), recipes.end(), recipe) != recipes.end();
}

TEST(SelfTest, AGemmCanJudgeInEveryType) {
  for (const Dtype dtype :
       {Dtype::float32, Dtype::bfloat16, Dtype::float16, Dtype::float8_e4m3fn}) {
    Task task(dtype, {48, 200}, {200, 48}, {48, 48}, matmul, 200);
    const auto report = task.report();
    EXPECT_TRUE(report.faults.empty()) << to_string(dtype) << '\n' << faults(report);
    EXPECT_EQ(report.judged.front(), Recipe::plain);
    EXPECT_FALSE(judge::outcome_of(report));
    int refused = 0;
    for (const auto& line : report.lines)
      refused += line.result == judge::SelfTestLine::Result::failed_as_it_must;
    EXPECT_GE(refused, 10) << to_string(dtype);
  }
}

TEST(SelfTest, TheRecipesBuiltForAMutantJoinAlsoWherePlainInputsShowIt) {
  Task task(Dtype::bfloat16, {48, 200}, {200, 48}, {48, 48}, matmul, 200);
  const auto report = task.report();
  ASSERT_TRUE(report.faults.empty()) << faults(report);
  for (const auto& line : report.lines)
    if (line.name == "mutant:short_sum") {
      EXPECT_EQ(line.recipe, Recipe::plain);
    }
  for (const Recipe recipe : {Recipe::tail_mass, Recipe::asymmetric, Recipe::ties}) {
    EXPECT_TRUE(has(report.judged, recipe)) << inputs::to_string(recipe);
    EXPECT_TRUE(has(report.extra, recipe)) << inputs::to_string(recipe);
  }
}

TEST(SelfTest, TheIdentityAsANormIsShownByScaledInputsWhichJoin) {
  Task task(Dtype::float32, {64, 256}, {64, 256}, {64, 256}, layer_norm, 256);
  task.contract.tolerance.atol = 1.0; // hides the identity on N(0, 1) rows of 256
  task.contract.tolerance.rtol = 0.0;
  const auto report = task.report();
  EXPECT_TRUE(has(report.judged, Recipe::scaled_shifted));
  for (const auto& line : report.lines) {
    if (line.name != "probe:copy_of_input") continue;
    EXPECT_EQ(line.result, judge::SelfTestLine::Result::failed_as_it_must);
    EXPECT_EQ(line.recipe, Recipe::scaled_shifted);
  }
}

TEST(SelfTest, ZerosForAWideSoftmaxAreATaskError) { // ScalingIntelligence/KernelBench#165
  Task task(Dtype::float32, {2, 40000}, {1, 1}, {2, 40000}, softmax, 40000);
  task.contract.tolerance.atol = 1e-2;
  task.contract.tolerance.rtol = 1e-2;
  const auto outcome = judge::outcome_of(task.report());
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, model::OutcomeKind::task_error);
  EXPECT_EQ(outcome->fault, model::Fault::task);
  EXPECT_NE(outcome->reason.find("probe:zeros"), std::string::npos) << outcome->reason;
  EXPECT_NE(outcome->reason.find("small"), std::string::npos);

  Task honest(Dtype::float32, {2, 40000}, {1, 1}, {2, 40000}, softmax, 40000); // derived
  const auto report = honest.report();
  EXPECT_TRUE(report.faults.empty()) << faults(report);
}

TEST(SelfTest, AConstantAnswerIsATaskErrorACopyIsNot) {
  Task zero(Dtype::float32, {16, 64}, {1, 1}, {16, 64}, constant, 64);
  EXPECT_NE(faults(zero.report()).find("probe:zeros"), std::string::npos);
  EXPECT_NE(faults(zero.report()).find("probe:other_seed"), std::string::npos);
  Task same(Dtype::float32, {16, 64}, {1, 1}, {16, 64}, copy, 1);
  const auto report = same.report();
  EXPECT_TRUE(report.faults.empty()) << faults(report);
}

TEST(SelfTest, AnAbsoluteToleranceThatNothingFailsIsATaskError) { // ROCm/rocm-libraries#10988
  Task task(Dtype::float8_e4m3fn, {48, 64}, {64, 48}, {48, 48}, matmul, 64);
  for (auto& tensor : task.contract.tensors) tensor.fill.stddev = 0.3;
  task.contract.tolerance.atol = 16;
  task.contract.tolerance.rtol = 0;
  Task wide = task;
  for (auto& tensor : wide.contract.tensors) tensor.dtype = Dtype::bfloat16;
  for (std::size_t t = 0; t < 3; ++t) {
    auto& tensor = wide.shape.tensors[t];
    tensor.dtype = Dtype::bfloat16;
    tensor.bytes *= 2;
  }
  const std::string text = faults(wide.report());
  for (const char* name : {"mutant:scaled_0.72", "mutant:last_element"})
    EXPECT_NE(text.find(name), std::string::npos) << name << '\n' << text;
}

TEST(SelfTest, APurelyRelativeToleranceRefusesHonestSums) { // HazyResearch/HipKittens#64
  Task task(Dtype::bfloat16, {64, 8192}, {8192, 16}, {64, 16}, matmul, 8192);
  task.contract.tolerance.atol = 0;
  task.contract.tolerance.rtol = 1e-4; // elements that cancel: the sum's noise does not shrink
  const std::string text = faults(task.report());
  EXPECT_NE(text.find("an honest answer to \"out\" at small would fail"), std::string::npos)
      << text;
}

TEST(SelfTest, AReferenceThatIsNotFiniteOrNotRepeatableIsATaskError) {
  Task log(Dtype::float32, {16, 64}, {1, 1}, {16, 64}, bad_log, 1);
  EXPECT_NE(faults(log.report()).find("the reference gives NaN"), std::string::npos);
  static int turn = 0;
  Task moody(
      Dtype::float32, {16, 64}, {1, 1}, {16, 64},
      [](const Values& a, const Values&, const model::ResolvedShape&) {
        Values y = a;
        y[3] += ++turn;
        return y;
      },
      1);
  EXPECT_NE(faults(moody.report()).find("another answer"), std::string::npos);
}

TEST(ChangeInputs, SwapsDataButNeverOffsets) {
  auto shape =
      test::shape_of(test::tensor_of(Dtype::int32, {8}), test::tensor_of(Dtype::int32, {8}));
  shape.tensors[1].role = model::TensorRole::in;
  test::Bytes a(32, std::byte{1}), b(32, std::byte{2});
  std::vector<std::span<std::byte>> views = {a, b};
  EXPECT_FALSE(judge::change_inputs(InputChange::swapped, shape, views));
  shape.tensors[0] = shape.tensors[1] = test::tensor_of(Dtype::float32, {8});
  EXPECT_TRUE(judge::change_inputs(InputChange::swapped, shape, views));
  EXPECT_EQ(a[0], std::byte{2});
  EXPECT_TRUE(judge::change_inputs(InputChange::short_sum, shape, views));
  EXPECT_EQ(a[31], std::byte{0});
  EXPECT_EQ(a[27], std::byte{2});
}

/// The two largest of each row, the first of equal ones.
Values two_largest(const Values& a, const Values&, const model::ResolvedShape& shape) {
  const auto n = static_cast<std::size_t>(shape.tensors[0].shape[1]);
  Values out;
  for (std::size_t row = 0; row < a.size(); row += n) {
    std::size_t first = 0, second = 1;
    if (a[row + 1] > a[row]) std::swap(first, second);
    for (std::size_t i = 2; i < n; ++i) {
      if (a[row + i] > a[row + first]) second = std::exchange(first, i);
      else if (a[row + i] > a[row + second]) second = i;
    }
    out.push_back(static_cast<double>(first));
    out.push_back(static_cast<double>(second));
  }
  return out;
}

TEST(SelfTest, TiesOfASetAreWarnedOf) {
  const auto warnings = [](double high) {
    Task task(Dtype::int32, {64, 40}, {64, 40}, {64, 2}, two_largest, 1);
    task.contract.tensors[2].compare = model::Compare::set;
    task.contract.reference.precision = model::ErrorPrecision::native;
    task.native = true;
    for (std::size_t t = 0; t < 2; ++t) {
      task.contract.tensors[t].fill.kind = model::Fill::uniform;
      task.contract.tensors[t].fill.low = 0;
      task.contract.tensors[t].fill.high = high;
    }
    return task.report().warnings;
  };
  const auto tied = warnings(50);
  ASSERT_EQ(tied.size(), 1u);
  EXPECT_NE(tied[0].find("picks:a"), std::string::npos) << tied[0];
  EXPECT_TRUE(warnings(2e9).empty()) << warnings(2e9)[0];
}

TEST(SelfTest, InputsThatNeverChangeAreWarnedOf) {
  const auto warnings = [](double low) {
    Task task(Dtype::float32, {16, 32}, {32, 8}, {16, 8}, matmul, 32);
    for (std::size_t t = 0; t < 2; ++t) {
      task.contract.tensors[t].fill.kind = model::Fill::uniform;
      task.contract.tensors[t].fill.low = t == 0 ? low : 1;
      task.contract.tensors[t].fill.high = 1;
    }
    return task.report().warnings;
  };
  const auto constant_inputs = warnings(1);
  ASSERT_EQ(constant_inputs.size(), 1u);
  EXPECT_NE(constant_inputs[0].find("no input changes"), std::string::npos);
  EXPECT_TRUE(warnings(-1).empty()); // one of them drawn is enough
}

} // namespace
