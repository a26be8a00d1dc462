#include "report/text/words.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::report {

namespace {

/// Bytes of the UTF-8 character that starts here; a byte that begins none counts alone: what
/// stands behind it is no part of it.
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0xc0    ? 1
                           : first >= 0xf8 ? 1
                           : first >= 0xf0 ? 4
                           : first >= 0xe0 ? 3
                                           : 2;
  if (size > text.size()) return 1;
  const auto behind = text.substr(1, size - 1);
  const bool whole = std::all_of(behind.begin(), behind.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
  });
  return whole ? size : 1;
}

bool control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Controls, C1 (U+0080..U+009F) among them, bytes that are no character, and the marks that
/// reorder text on a terminal.
bool unprintable(std::string_view one) {
  if (one.size() == 1) return control(one[0]) || static_cast<unsigned char>(one[0]) >= 0x80;
  if (one.size() == 2) return one[0] == '\xc2' && static_cast<unsigned char>(one[1]) < 0xa0;
  return one >= "\xe2\x80\xaa" && one <= "\xe2\x80\xae" && one.size() == 3;
}

} // namespace

std::string duration(double ns) {
  if (!std::isfinite(ns)) return "-";
  if (std::fabs(ns) < 1e3) return fmt::format("{:.3g} ns", ns);
  if (std::fabs(ns) < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
  if (std::fabs(ns) < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
  return fmt::format("{:.4g} s", ns / 1e9);
}

std::string percent(double value) {
  return std::isfinite(value) ? fmt::format("{:+.2f} %", 100 * value) : "-";
}
std::string percent(const std::optional<double>& value) { return value ? percent(*value) : "-"; }

std::string gain(double value, const model::Interval& interval) {
  if (!std::isfinite(value)) return "-";
  // What lies a thousand times away is no bound.
  constexpr double k_most = 1000;
  if (!(std::fabs(interval.low) < k_most) || !(std::fabs(interval.high) < k_most))
    return percent(value);
  return fmt::format("{:+.2f} % [{:+.2f}, {:+.2f}]", 100 * value, 100 * interval.low,
                     100 * interval.high);
}

std::string prediction_outcome(const std::optional<double>& predicted,
                               const model::Verdict& verdict) {
  if (!predicted) return {};
  if (verdict.shapes.empty() || !std::isfinite(verdict.gain)) return "not measured";
  const model::Interval& interval = verdict.interval;
  if (interval.low > *predicted) return "yes, and more: " + gain(verdict.gain, interval);
  if (interval.high >= *predicted) return "yes: " + gain(verdict.gain, interval);
  if (interval.low > 0) return "in part, it fell short: " + gain(verdict.gain, interval);
  return "no: " + gain(verdict.gain, interval);
}

std::string short_hash(std::string_view hash) { return std::string(hash.substr(0, 12)); }

std::string html(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    case '\'': out += "&#39;"; break;
    default: out += control(c) && c != '\n' && c != '\t' ? ' ' : c;
    }
  return out;
}

std::string md_line(std::string_view text) {
  std::string out;
  for (const char c : plain_line(text)) {
    // An entity cannot be read as markup, as a tag or as one of ako's own markers.
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (std::string_view("\\`*_[]|#~$").find(c) != std::string_view::npos) (out += '\\') += c;
    else out += c;
  }
  return out;
}

std::string printable(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const std::string_view one = line.substr(0, character(line));
    line.remove_prefix(one.size());
    if (one == "\r") continue; // of a CRLF
    if (unprintable(one)) out += '?';
    else out += one;
  }
  return out;
}

std::string plain_line(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t columns = 0;
  bool gap = false;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, character(text));
    text.remove_prefix(one.size());
    if (unprintable(one)) {
      gap = !out.empty();
      continue;
    }
    if (width && columns + 1 + (gap ? 1 : 0) > width - 1 &&
        (!text.empty() || columns + 1 > width)) {
      out += "\xe2\x80\xa6";
      return out;
    }
    if (gap) {
      out += ' ';
      ++columns;
    }
    gap = false;
    out += one;
    ++columns;
  }
  return out;
}

} // namespace ako::report
