// Integer expressions over axes:  expr = term {("+"|"-") term};  term = factor {("*"|"/"|"%")
// factor}; factor = integer | name | "-" factor | "(" expr ")" | ("min"|"max"|"ceildiv") "(" expr
// "," expr ")"
// "/" is exact floor division of non-negative values. Division by zero and 64-bit overflow are
// errors.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace ako::model {

using AxisValues = std::map<std::string, std::int64_t>;

class Expression {
public:
  /// Text of at most 4096 characters, nesting of at most 64. Error::where carries the column (from
  /// 1).
  static base::Expected<Expression> parse(std::string_view text);
  base::Expected<std::int64_t> evaluate(const AxisValues& axes) const;
  const std::set<std::string>& names() const; ///< axes it mentions
  const std::string& text() const;

  struct Node;

private:
  std::shared_ptr<const Node> m_root;
  std::set<std::string> m_names;
  std::string m_text;
};

} // namespace ako::model
