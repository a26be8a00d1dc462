// Expressions: examples, errors with their columns, and agreement with an evaluator of its own.
#include "model/expression.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

namespace ako::model {
namespace {

std::int64_t value(std::string_view text, const AxisValues& axes = {}) {
  const auto parsed = Expression::parse(text);
  EXPECT_TRUE(parsed) << parsed.error().text();
  if (!parsed) return -1;
  const auto out = parsed->evaluate(axes);
  EXPECT_TRUE(out) << out.error().text();
  return out ? *out : -1;
}

TEST(Expressions, Examples) {
  EXPECT_EQ(value("1 + 2*3"), 7);
  EXPECT_EQ(value("(1+2)*3"), 9);
  EXPECT_EQ(value("10-3-2"), 5);
  EXPECT_EQ(value("100/7/2"), 7);
  EXPECT_EQ(value("17 % 5"), 2);
  EXPECT_EQ(value("--3"), 3);
  EXPECT_EQ(value("-M+5", {{"M", 3}}), 2);
  EXPECT_EQ(value("ceildiv(M, 32)", {{"M", 33}}), 2);
  EXPECT_EQ(value("ceildiv(64,32)"), 2);
  EXPECT_EQ(value("min(max(1,2),3)"), 2);
  EXPECT_EQ(value("9223372036854775807"), INT64_MAX);
}

TEST(Expressions, TextIsTokensAndNamesAreAxes) {
  const auto parsed = Expression::parse("  min( M ,\t007 ) *  H_2 ");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->text(), "min(M,7)*H_2");
  EXPECT_EQ(parsed->names(), (std::set<std::string>{"H_2", "M"}));
  EXPECT_EQ(*parsed, *Expression::parse("min(M,7)*H_2"));
}

struct Wrong {
  const char *text, *where, *message;
};

TEST(Expressions, ErrorsCarryTheColumn) {
  const Wrong rows[] = {
      {"", "column 1", "a value is missing"},
      {"M +", "column 4", "a value is missing"},
      {"M N", "column 3", "unexpected text"},
      {"(M", "column 3", "the parenthesis is not closed"},
      {"M)", "column 2", "unexpected text"},
      {"min(M)", "column 6", "min takes two arguments"},
      {"ceildiv", "column 8", "ceildiv takes two arguments"},
      {"3M", "column 1", "a number runs into a name"},
      {"9223372036854775808", "column 1", "the integer does not fit 64 bits"},
      {"1.5", "column 2", "unexpected text"},
      {"\xC3\xBC", "column 1", "a value is missing"},
  };
  for (const Wrong& row : rows) {
    const auto parsed = Expression::parse(row.text);
    ASSERT_FALSE(parsed) << row.text;
    EXPECT_EQ(parsed.error().where, row.where) << row.text;
    EXPECT_EQ(parsed.error().message, row.message) << row.text;
  }
}

TEST(Expressions, BoundsOfLengthAndNesting) {
  EXPECT_TRUE(Expression::parse(std::string(63, '(') + "1" + std::string(63, ')')));
  EXPECT_FALSE(Expression::parse(std::string(64, '(') + "1" + std::string(64, ')')));
  EXPECT_FALSE(Expression::parse(std::string(4095, '-') + "1"));
  std::string longest = "1";
  while (longest.size() + 2 <= 4096) longest += "+1";
  EXPECT_EQ(value(longest), 2048);
  EXPECT_FALSE(Expression::parse(longest + "  "));
}

TEST(Expressions, EvaluationErrors) {
  const auto message = [](const char* text, const AxisValues& axes = {}) {
    const auto out = Expression::parse(text)->evaluate(axes);
    return out ? std::string("none") : out.error().message;
  };
  EXPECT_EQ(message("1/0"), "the expression divides by zero");
  EXPECT_EQ(message("1%0"), "the expression divides by zero");
  EXPECT_EQ(message("(0-5)/2"), "the expression divides negative values");
  EXPECT_EQ(message("5/(0-2)"), "the expression divides negative values");
  EXPECT_EQ(message("9223372036854775807+1"), "the expression overflows 64 bits");
  EXPECT_EQ(message("-(0-9223372036854775807-1)"), "the expression overflows 64 bits");
  EXPECT_EQ(message("M*M", {{"M", INT64_MAX}}), "the expression overflows 64 bits");
  EXPECT_EQ(message("N"), "the expression names an axis without a value");
  EXPECT_EQ(message("(0-9223372036854775807-1)/(0-1)"), "the expression divides negative values");
}

// -- against an evaluator that shares nothing with it ---------------------------------------------

__extension__ typedef __int128 Wide; ///< holds every product of two 64-bit values

struct Drawn {
  std::string text;
  std::optional<Wide> value; ///< nothing: must be an error
};

constexpr Wide k_low = INT64_MIN, k_high = INT64_MAX;

std::optional<Wide> in_range(Wide v) {
  if (v < k_low || v > k_high) return std::nullopt;
  return v;
}

std::optional<Wide> combine(int op, std::optional<Wide> a, std::optional<Wide> b) {
  if (!a || !b) return std::nullopt;
  switch (op) {
  case 0: return in_range(*a + *b);
  case 1: return in_range(*a - *b);
  case 2: return in_range(*a * *b);
  case 6: return *a < *b ? *a : *b;
  case 7: return *a > *b ? *a : *b;
  default: break;
  }
  if (*a < 0 || *b <= 0) return std::nullopt;
  if (op == 3) return *a / *b;
  if (op == 4) return *a % *b;
  return (*a + *b - 1) / *b;
}

/// Fully parenthesised where precedence could matter, so that the drawn tree is the parsed one.
Drawn draw(int depth, std::int64_t m) {
  const int kind = depth == 0 ? *rc::gen::inRange(0, 2) : *rc::gen::inRange(0, 11);
  if (kind == 0) return {"M", m};
  if (kind == 1) {
    const auto literal = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 40),
                                         rc::gen::inRange<std::int64_t>(0, INT64_MAX));
    return {std::to_string(literal), literal};
  }
  const Drawn a = draw(depth - 1, m);
  if (kind == 2) return {"-(" + a.text + ")", a.value ? in_range(-*a.value) : std::nullopt};
  const Drawn b = draw(depth - 1, m);
  const int op = kind - 3;
  const auto out = combine(op, a.value, b.value);
  if (op <= 4) {
    const char* names[] = {" + ", "-", " *", "/ ", "%"};
    return {"(" + a.text + ")" + names[op] + "(" + b.text + ")", out};
  }
  const char* functions[] = {"ceildiv", "min", "max"};
  return {std::string(functions[op - 5]) + "(" + a.text + ", " + b.text + ")", out};
}

RC_GTEST_PROP(ExpressionProperty, AgreesWithWideArithmetic, ()) {
  const auto m = *rc::gen::inRange<std::int64_t>(0, 1000);
  const Drawn drawn = draw(*rc::gen::inRange(0, 5), m);
  const auto parsed = Expression::parse(drawn.text);
  RC_ASSERT(parsed.has_value());
  const auto out = parsed->evaluate({{"M", m}});
  RC_ASSERT(out.has_value() == drawn.value.has_value());
  if (out) RC_ASSERT(static_cast<Wide>(*out) == *drawn.value);
}

RC_GTEST_PROP(ExpressionProperty, TextReadsBackAsItself, ()) {
  const Drawn drawn = draw(*rc::gen::inRange(0, 5), 3);
  const auto parsed = Expression::parse(drawn.text);
  RC_ASSERT(parsed.has_value());
  const auto again = Expression::parse(parsed->text());
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->text() == parsed->text());
  const auto a = parsed->evaluate({{"M", 3}}), b = again->evaluate({{"M", 3}});
  RC_ASSERT(a.has_value() == b.has_value());
  if (a) RC_ASSERT(*a == *b);
}

} // namespace
} // namespace ako::model
