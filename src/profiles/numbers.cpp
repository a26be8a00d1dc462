#include "profiles/numbers.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <unordered_map>

namespace ako::profiles {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

/// The parts of a printed number: sign, digits with marks, exponent.
struct Parts {
  std::string_view mantissa, exponent;
  bool negative = false;
};

std::optional<Parts> parts_of(std::string_view text) {
  Parts parts;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  std::size_t e = text.find_first_of("eE");
  parts.mantissa = text.substr(0, e);
  if (e != std::string_view::npos) {
    parts.exponent = text.substr(e + 1);
    std::string_view digits = parts.exponent;
    if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
    if (digits.empty() || digits.size() > 4) return std::nullopt;
    for (char c : digits)
      if (!digit(c)) return std::nullopt;
  }
  if (parts.mantissa.empty() || parts.mantissa.size() > 60 || !digit(parts.mantissa[0])) {
    // ".5" is a number too, but no profiler prints it.
    return std::nullopt;
  }
  for (char c : parts.mantissa)
    if (!digit(c) && c != '.' && c != ',') return std::nullopt;
  if (!digit(parts.mantissa.back())) return std::nullopt;
  return parts;
}

/// True when `grouped` is 1 to 3 digits without leading zero and then groups of exactly three
/// behind `separator`.
bool is_grouped(std::string_view grouped, char separator) {
  std::size_t first = grouped.find(separator);
  if (first == std::string_view::npos || first == 0 || first > 3 || grouped[0] == '0') return false;
  for (std::size_t at = first; at < grouped.size(); at += 4) {
    if (grouped[at] != separator || grouped.size() - at < 4) return false;
    for (int i = 1; i <= 3; ++i)
      if (!digit(grouped[at + static_cast<std::size_t>(i)])) return false;
  }
  return true;
}

bool all_digits(std::string_view text) {
  for (char c : text)
    if (!digit(c)) return false;
  return !text.empty();
}

/// Can the mantissa be read with `decimal` as the decimal mark and `group` between thousands?
/// Nobody groups the thousands of a number with an exponent.
bool readable(std::string_view mantissa, char decimal, char group, bool may_group) {
  std::size_t mark = mantissa.find(decimal);
  std::string_view whole = mantissa.substr(0, mark);
  if (mark != std::string_view::npos && !all_digits(mantissa.substr(mark + 1))) return false;
  return all_digits(whole) || (may_group && is_grouped(whole, group));
}

} // namespace

NumberShape shape_of(std::string_view text) {
  auto parts = parts_of(text);
  if (!parts) return NumberShape::not_a_number;
  if (parts->mantissa.find_first_of(".,") == std::string_view::npos) return NumberShape::plain;
  const bool may_group = parts->exponent.empty();
  bool point = readable(parts->mantissa, '.', ',', may_group),
       comma = readable(parts->mantissa, ',', '.', may_group);
  if (point && comma) return NumberShape::ambiguous;
  return point ? NumberShape::point : comma ? NumberShape::comma : NumberShape::not_a_number;
}

void NumberFormat::see(std::string_view text) {
  switch (shape_of(text)) {
  case NumberShape::point: m_point = true; break;
  case NumberShape::comma: m_comma = true; break;
  case NumberShape::ambiguous: m_ambiguous = true; break;
  default: break;
  }
}

DecimalMark NumberFormat::mark() const {
  if (m_point == m_comma) return DecimalMark::unknown;
  return m_point ? DecimalMark::point : DecimalMark::comma;
}

std::optional<double> parse_number(std::string_view text, DecimalMark mark) {
  // The common case costs one pass: digits, a point, no separator.
  if (mark == DecimalMark::point && text.find(',') == std::string_view::npos) {
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value))
      return value;
    return std::nullopt;
  }
  auto parts = parts_of(text);
  if (!parts) return std::nullopt;
  bool marked = parts->mantissa.find_first_of(".,") != std::string_view::npos;
  if (marked) {
    if (mark == DecimalMark::unknown) return std::nullopt;
    char decimal = mark == DecimalMark::point ? '.' : ',',
         group = mark == DecimalMark::point ? ',' : '.';
    if (!readable(parts->mantissa, decimal, group, parts->exponent.empty())) return std::nullopt;
  }
  std::array<char, 80> plain{};
  std::size_t size = 0;
  if (parts->negative) plain[size++] = '-';
  for (char c : parts->mantissa) {
    if (digit(c)) plain[size++] = c;
    else if (c == (mark == DecimalMark::comma ? ',' : '.')) plain[size++] = '.';
  }
  if (!parts->exponent.empty()) {
    plain[size++] = 'e';
    for (char c : parts->exponent)
      if (c != '+') plain[size++] = c;
  }
  double value = 0;
  auto [end, error] = std::from_chars(plain.data(), plain.data() + size, value);
  if (error != std::errc() || end != plain.data() + size || !std::isfinite(value))
    return std::nullopt;
  return value;
}

namespace {

const std::unordered_map<std::string_view, Unit>& simple_units() {
  static const std::unordered_map<std::string_view, Unit> units = [] {
    std::unordered_map<std::string_view, Unit> all = {{"", {1, ""}},
                                                      {"%", {1, "%"}},
                                                      {"ns", {1, "ns"}},
                                                      {"nsecond", {1, "ns"}},
                                                      {"us", {1e3, "ns"}},
                                                      {"usecond", {1e3, "ns"}},
                                                      {"\xc2\xb5s", {1e3, "ns"}},
                                                      {"\xce\xbcs", {1e3, "ns"}},
                                                      {"ms", {1e6, "ns"}},
                                                      {"msecond", {1e6, "ns"}},
                                                      {"s", {1e9, "ns"}},
                                                      {"sec", {1e9, "ns"}},
                                                      {"second", {1e9, "ns"}},
                                                      {"nanosecond", {1, "ns"}},
                                                      {"microsecond", {1e3, "ns"}},
                                                      {"millisecond", {1e6, "ns"}},
                                                      {"byte", {1, "byte"}},
                                                      {"bytes", {1, "byte"}},
                                                      {"B", {1, "byte"}},
                                                      {"Kbyte", {1e3, "byte"}},
                                                      {"kbyte", {1e3, "byte"}},
                                                      {"KB", {1e3, "byte"}},
                                                      {"kB", {1e3, "byte"}},
                                                      {"Mbyte", {1e6, "byte"}},
                                                      {"MB", {1e6, "byte"}},
                                                      {"Gbyte", {1e9, "byte"}},
                                                      {"GB", {1e9, "byte"}},
                                                      {"Tbyte", {1e12, "byte"}},
                                                      {"TB", {1e12, "byte"}},
                                                      {"Pbyte", {1e15, "byte"}},
                                                      {"KiB", {1024, "byte"}},
                                                      {"MiB", {1048576.0, "byte"}},
                                                      {"GiB", {1073741824.0, "byte"}},
                                                      {"bit", {0.125, "byte"}},
                                                      {"hz", {1, "hz"}},
                                                      {"Hz", {1, "hz"}},
                                                      {"Khz", {1e3, "hz"}},
                                                      {"kHz", {1e3, "hz"}},
                                                      {"Mhz", {1e6, "hz"}},
                                                      {"MHz", {1e6, "hz"}},
                                                      {"Ghz", {1e9, "hz"}},
                                                      {"GHz", {1e9, "hz"}},
                                                      {"W", {1, "W"}},
                                                      {"degC", {1, "degC"}},
                                                      {"(!)", {1, ""}}};
    for (const char* counted :
         {"inst",        "warp",    "cycle", "block",  "thread",    "sector", "request",
          "register",    "cluster", "SM",    "pass",   "wavefront", "branch", "tag",
          "instruction", "op",      "flop",  "sample", "line",      "lane",   "packet",
          "transaction", "wave",    "grid",  "launch", "access",    "way",    "device",
          "context",     "queue",   "event", "count",  "barrier",   "stall"})
      all[counted] = {1, counted};
    all["branches"] = {1, "branch"}, all["sectors"] = {1, "sector"}, all["cycles"] = {1, "cycle"};
    all["warps"] = {1, "warp"}, all["threads"] = {1, "thread"}, all["requests"] = {1, "request"};
    all["instructions"] = {1, "inst"}, all["blocks"] = {1, "block"},
    all["registers"] = {1, "register"};
    return all;
  }();
  return units;
}

} // namespace

std::optional<Unit> parse_unit(std::string_view text) {
  const auto& units = simple_units();
  if (auto found = units.find(text); found != units.end()) return found->second;
  std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto top = units.find(text.substr(0, slash)), bottom = units.find(text.substr(slash + 1));
  if (top == units.end() || bottom == units.end() || slash == 0) return std::nullopt;
  if (bottom->second.base == "ns") {
    // Rates are per second, and cycles per second are hertz.
    Unit unit{top->second.scale / (bottom->second.scale * 1e-9), top->second.base + "/s"};
    if (unit.base == "cycle/s") unit.base = "hz";
    return unit;
  }
  return Unit{top->second.scale / bottom->second.scale,
              top->second.base + "/" + bottom->second.base};
}

} // namespace ako::profiles
