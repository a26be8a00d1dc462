// Integer expressions over axes:
//   expr   = term {("+" | "-") term}
//   term   = factor {("*" | "/" | "%") factor}
//   factor = integer | name | "-" factor | "(" expr ")"
//          | ("min" | "max" | "ceildiv") "(" expr "," expr ")"
// "/", "%" and "ceildiv" take non-negative values and a positive divisor. Anything else, division
// by zero and 64-bit overflow are errors.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ako::model {

using AxisValues = std::map<std::string, std::int64_t>;

class Expression {
public:
  /// Text of at most 4096 characters, nesting of at most 64. Error::where carries the column (from
  /// 1).
  static base::Expected<Expression> parse(std::string_view text);
  base::Expected<std::int64_t> evaluate(const AxisValues& axes) const;
  const std::set<std::string>& names() const { return m_names; } ///< axes it mentions
  /// Its tokens without white space; parse(text()) is the same expression.
  const std::string& text() const { return m_text; }
  bool operator==(const Expression& other) const { return m_text == other.m_text; }

  /// Words that cannot name an axis.
  static bool is_reserved(std::string_view name);

  struct Op; ///< one step of the postfix program; defined beside the parser

private:
  std::shared_ptr<const std::vector<Op>> m_program;
  std::set<std::string> m_names;
  std::string m_text;
};

} // namespace ako::model
