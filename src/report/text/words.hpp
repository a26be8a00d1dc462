// Numbers and foreign text as they stand in reports.
#pragma once

#include "model/verdict.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace ako::report {

/// "812 ns", "1.23 us", "45.6 ms"; "-" when not finite.
std::string duration(double ns);
/// "+3.2 %"; "-" when not finite.
std::string percent(double gain);
std::string percent(const std::optional<double>& gain);
/// "+3.2 % [+2.1, +4.3]"
std::string gain(double value, const model::Interval& interval);
/// What became of a predicted gain: "came true", "fell short", ...; empty without a prediction.
std::string prediction_outcome(const std::optional<double>& predicted,
                               const model::Verdict& verdict);
std::string short_hash(std::string_view hash); ///< its first 12 digits

/// Safe inside HTML text and quoted attributes.
std::string html(std::string_view text);
/// Safe inside one cell of a Markdown table or in one line: no markup, no line break, no marker.
std::string md_line(std::string_view text);
/// Unprintable characters become '?', each: columns stay where they are.
std::string printable(std::string_view line);
/// Safe for a terminal: control characters become spaces; at most `width` columns, then an
/// ellipsis (0 = all).
std::string plain_line(std::string_view text, std::size_t width = 0);

} // namespace ako::report
