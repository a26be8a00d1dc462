#include "model/expression.hpp"

#include "model/letters.hpp"

#include <algorithm>
#include <charconv>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;

enum class Code { push, load, negate, add, subtract, multiply, divide, modulo, min, max, ceildiv };

// A postfix program instead of a tree: evaluation needs no recursion, however long the text is.
struct Expression::Op {
  Code code;
  std::int64_t value = 0; ///< push
  std::string name;       ///< load
};

namespace {

constexpr std::size_t k_most_text = 4096;
constexpr int k_most_nesting = 64;

struct Function {
  std::string_view name;
  Code code;
};
constexpr Function k_functions[] = {
    {"min", Code::min}, {"max", Code::max}, {"ceildiv", Code::ceildiv}};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

const Function* function_named(std::string_view name) {
  for (const Function& each : k_functions)
    if (each.name == name) return &each;
  return nullptr;
}

class Parser {
public:
  explicit Parser(std::string_view text) : m_text(text) {}

  Status parse() {
    AKO_TRY_STATUS(expr());
    skip();
    if (m_at != m_text.size()) return error("unexpected text", "an operator, or the end");
    return {};
  }

  std::vector<Expression::Op> program;
  std::set<std::string> names;
  std::string canonical;

private:
  tl::unexpected<base::Error> error(std::string message, std::string allowed) {
    std::string found = "the end";
    if (m_at < m_text.size()) {
      // Up to a token's worth of what stands there, whole UTF-8 characters only.
      std::size_t end = std::min(m_at + 12, m_text.size());
      while (end > m_at + 1 && end < m_text.size() && (m_text[end] & 0xC0) == 0x80) --end;
      found = "'" + std::string(m_text.substr(m_at, end - m_at)) + "'";
    }
    return fail(ErrorKind::invalid, std::move(message),
                {.where = "column " + std::to_string(m_at + 1),
                 .found = std::move(found),
                 .allowed = std::move(allowed),
                 .next = {}});
  }

  void skip() {
    while (m_at < m_text.size() && is_space(m_text[m_at])) ++m_at;
  }

  bool take(char c) {
    skip();
    if (m_at == m_text.size() || m_text[m_at] != c) return false;
    ++m_at;
    canonical += c;
    return true;
  }

  Status deeper() {
    if (++m_depth <= k_most_nesting) return {};
    return error("nested too deeply", std::to_string(k_most_nesting) + " levels");
  }

  void emit(Code code) { program.push_back({code, 0, {}}); }

  Status expr() {
    AKO_TRY_STATUS(term());
    for (;;) {
      Code code = Code::add;
      if (take('-')) code = Code::subtract;
      else if (!take('+')) return {};
      AKO_TRY_STATUS(term());
      emit(code);
    }
  }

  Status term() {
    AKO_TRY_STATUS(factor());
    for (;;) {
      Code code = Code::multiply;
      if (take('/')) code = Code::divide;
      else if (take('%')) code = Code::modulo;
      else if (!take('*')) return {};
      AKO_TRY_STATUS(factor());
      emit(code);
    }
  }

  Status factor() {
    AKO_TRY_STATUS(deeper());
    if (take('-')) {
      AKO_TRY_STATUS(factor());
      emit(Code::negate);
    } else if (take('(')) {
      AKO_TRY_STATUS(expr());
      if (!take(')')) return error("the parenthesis is not closed", "')'");
    } else if (m_at < m_text.size() && is_digit(m_text[m_at])) {
      AKO_TRY_STATUS(integer());
    } else if (m_at < m_text.size() && is_letter(m_text[m_at])) {
      AKO_TRY_STATUS(word());
    } else {
      return error("a value is missing", "an integer, an axis, '(', '-', min, max or ceildiv");
    }
    --m_depth;
    return {};
  }

  Status integer() {
    std::int64_t value = 0;
    const char* first = m_text.data() + m_at;
    const char* last = m_text.data() + m_text.size();
    const auto [end, code] = std::from_chars(first, last, value);
    if (code != std::errc{})
      return error("the integer does not fit 64 bits", "at most 9223372036854775807");
    if (end != last && is_letter(*end))
      return error("a number runs into a name", "an operator between them");
    m_at += static_cast<std::size_t>(end - first);
    canonical += std::to_string(value);
    program.push_back({Code::push, value, {}});
    return {};
  }

  Status word() {
    const std::size_t start = m_at;
    std::size_t end = m_at;
    while (end < m_text.size() && (is_letter(m_text[end]) || is_digit(m_text[end]))) ++end;
    const std::string_view name = m_text.substr(start, end - start);
    const Function* function = function_named(name);
    m_at = end;
    canonical += name;
    if (!function) {
      names.emplace(name);
      program.push_back({Code::load, 0, std::string(name)});
      return {};
    }
    if (!take('(')) return error(std::string(name) + " takes two arguments", "'('");
    AKO_TRY_STATUS(expr());
    if (!take(',')) return error(std::string(name) + " takes two arguments", "','");
    AKO_TRY_STATUS(expr());
    if (!take(')')) return error("the parenthesis is not closed", "')'");
    emit(function->code);
    return {};
  }

  std::string_view m_text;
  std::size_t m_at = 0;
  int m_depth = 0;
};

Expected<std::int64_t> overflow(const std::string& text) {
  return fail(ErrorKind::invalid, "the expression overflows 64 bits",
              {.where = text, .found = {}, .allowed = "values below 2^63", .next = {}});
}

Expected<std::int64_t> divide(Code code, std::int64_t a, std::int64_t b, const std::string& text) {
  if (b == 0)
    return fail(ErrorKind::invalid, "the expression divides by zero",
                {.where = text, .found = {}, .allowed = "a divisor of at least 1", .next = {}});
  if (a < 0 || b < 0)
    return fail(ErrorKind::invalid, "the expression divides negative values",
                {.where = text,
                 .found = std::to_string(a) + " by " + std::to_string(b),
                 .allowed = "non-negative values",
                 .next = {}});
  if (code == Code::modulo) return a % b;
  return a / b + (code == Code::ceildiv && a % b != 0 ? 1 : 0);
}

Expected<std::int64_t> apply(Code code, std::int64_t a, std::int64_t b, const std::string& text) {
  std::int64_t out = 0;
  bool overflows = false;
  switch (code) {
  case Code::add: overflows = __builtin_add_overflow(a, b, &out); break;
  case Code::subtract: overflows = __builtin_sub_overflow(a, b, &out); break;
  case Code::multiply: overflows = __builtin_mul_overflow(a, b, &out); break;
  case Code::min: return std::min(a, b);
  case Code::max: return std::max(a, b);
  default: return divide(code, a, b, text);
  }
  if (overflows) return overflow(text);
  return out;
}

} // namespace

bool Expression::is_reserved(std::string_view name) { return function_named(name) != nullptr; }

Expected<Expression> Expression::parse(std::string_view text) {
  if (text.size() > k_most_text)
    return fail(ErrorKind::invalid, "the expression is too long",
                {.where = "column " + std::to_string(k_most_text + 1),
                 .found = std::to_string(text.size()) + " characters",
                 .allowed = "at most " + std::to_string(k_most_text),
                 .next = {}});
  Parser parser(text);
  AKO_TRY_STATUS(parser.parse());
  Expression out;
  out.m_program = std::make_shared<const std::vector<Op>>(std::move(parser.program));
  out.m_names = std::move(parser.names);
  out.m_text = std::move(parser.canonical);
  return out;
}

Expected<std::int64_t> Expression::evaluate(const AxisValues& axes) const {
  AKO_CHECK(m_program, "an Expression comes from parse()");
  std::vector<std::int64_t> stack;
  for (const Op& op : *m_program) {
    if (op.code == Code::push) {
      stack.push_back(op.value);
    } else if (op.code == Code::load) {
      const auto axis = axes.find(op.name);
      if (axis == axes.end())
        return fail(ErrorKind::invalid, "the expression names an axis without a value",
                    {.where = m_text, .found = op.name, .allowed = {}, .next = {}});
      stack.push_back(axis->second);
    } else if (op.code == Code::negate) {
      if (__builtin_sub_overflow(std::int64_t{0}, stack.back(), &stack.back()))
        return overflow(m_text);
    } else {
      const std::int64_t b = stack.back();
      stack.pop_back();
      AKO_TRY(stack.back(), apply(op.code, stack.back(), b, m_text));
    }
  }
  return stack.back();
}

} // namespace ako::model
