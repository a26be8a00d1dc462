// Numbers as profilers print them: with thousands separators, in any locale, in any unit.
#pragma once

#include "base/error.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace ako::profiles {

/// Which character ends the whole part. `unknown`: nothing seen that tells.
enum class DecimalMark { unknown, point, comma };

/// What one printed number says about the file's format.
enum class NumberShape {
  not_a_number,
  plain,     ///< fits both formats: 5120
  point,     ///< only with a decimal point: 1,205.00  1.5  1,215,000
  comma,     ///< only with a decimal comma: 1.205,50  9,00
  ambiguous, ///< reads as two different numbers: 1,205  1.205
};
NumberShape shape_of(std::string_view text);

/// Collects what the numbers of one file say.
class NumberFormat {
public:
  void see(std::string_view text);
  bool mixed() const { return m_point && m_comma; }
  bool has_ambiguous() const { return m_ambiguous; }
  DecimalMark mark() const;

private:
  bool m_point = false, m_comma = false, m_ambiguous = false;
};

/// The value under the given mark; none when it is no number. With DecimalMark::unknown only plain
/// numbers are read.
std::optional<double> parse_number(std::string_view text, DecimalMark mark);

/// A unit reduced to its base: value in base units = printed value x scale.
struct Unit {
  double scale = 1;
  std::string base; ///< "ns", "byte", "byte/s", "hz", "%", "inst/cycle", ... or empty
};
/// None for a unit that is not known: a value in it is never guessed.
std::optional<Unit> parse_unit(std::string_view text);

} // namespace ako::profiles
