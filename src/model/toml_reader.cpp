#include "model/toml_reader.hpp"

// The only unit that sees toml++; errors come back as values. Its assertions do not hold for every
// text ("[=" breaks one) although the code behind them reports the error: they are neither to end
// the program nor, with NDEBUG and clang, to be taken for granted.
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;

namespace {

constexpr std::size_t k_most_bytes = 1u << 20;
// The parser bounds nested values but not dotted keys; each dot is a table within a table.
constexpr std::ptrdiff_t k_most_dots_in_line = 1000;
constexpr std::size_t k_most_shown = 60;

Place place_of(const toml::source_position& position) {
  return {static_cast<int>(std::max(position.line, 1u)),
          static_cast<int>(std::max(position.column, 1u))};
}

template <class T> std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

bool earlier(const Place& a, const Place& b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

TomlNode convert(const toml::node& node);

void convert_table(const toml::table& table, TomlNode& out) {
  out.kind = TomlNode::Kind::table;
  for (const auto& [key, value] : table)
    out.members.push_back({std::string(key.str()), place_of(key.source().begin), convert(value)});
  std::stable_sort(
      out.members.begin(), out.members.end(),
      [](const TomlMember& a, const TomlMember& b) { return earlier(a.place, b.place); });
}

TomlNode convert(const toml::node& node) {
  TomlNode out;
  out.place = place_of(node.source().begin);
  if (const auto* table = node.as_table()) {
    convert_table(*table, out);
  } else if (const auto* array = node.as_array()) {
    out.kind = TomlNode::Kind::array;
    for (const toml::node& item : *array) out.items.push_back(convert(item));
  } else if (const auto* text = node.as_string()) {
    out.kind = TomlNode::Kind::string;
    out.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = TomlNode::Kind::integer;
    out.integer = integer->get();
  } else if (const auto* floating = node.as_floating_point()) {
    out.kind = TomlNode::Kind::floating;
    out.floating = floating->get();
  } else if (const auto* boolean = node.as_boolean()) {
    out.kind = TomlNode::Kind::boolean;
    out.boolean = boolean->get();
  } else {
    out.kind = TomlNode::Kind::date;
    if (const auto* date = node.as_date()) out.text = printed(date->get());
    else if (const auto* time = node.as_time()) out.text = printed(time->get());
    else if (const auto* both = node.as_date_time()) out.text = printed(both->get());
  }
  return out;
}

/// What the parser would not survive, refused beforehand.
Status check_text(std::string_view text, std::string_view file) {
  if (text.size() > k_most_bytes)
    return fail(ErrorKind::invalid, "the file is too large for a contract",
                {.where = std::string(file),
                 .found = fmt::format("{} bytes", text.size()),
                 .allowed = fmt::format("at most {} bytes", k_most_bytes),
                 .next = {}});
  int line = 1;
  for (std::size_t start = 0; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const auto part = text.substr(start, end - start);
    const auto dots = std::count(part.begin(), part.end(), '.');
    if (dots > k_most_dots_in_line)
      return fail(ErrorKind::invalid, "too many dots in one line",
                  {.where = at(file, {line, 1}),
                   .found = std::to_string(dots),
                   .allowed = fmt::format("at most {}", k_most_dots_in_line),
                   .next = "break the line"});
    start = end + 1;
  }
  return {};
}

std::string shortened(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  if (out.size() <= k_most_shown) return out;
  std::size_t end = k_most_shown;
  while (end > 0 && (out[end] & 0xC0) == 0x80) --end;
  return out.substr(0, end) + "...";
}

} // namespace

const TomlMember* TomlNode::member(std::string_view key) const {
  for (const TomlMember& each : members)
    if (each.key == key) return &each;
  return nullptr;
}

const TomlNode* TomlNode::find(std::string_view key) const {
  const TomlMember* found = member(key);
  return found ? &found->value : nullptr;
}

std::string at(std::string_view file, Place place) {
  return fmt::format("{}:{}:{}", file, place.line, place.column);
}

std::string describe(const TomlNode& node) {
  switch (node.kind) {
  case TomlNode::Kind::table: return "a table";
  case TomlNode::Kind::array: return fmt::format("a list of {}", node.items.size());
  case TomlNode::Kind::string: return "'" + shortened(node.text) + "'";
  case TomlNode::Kind::integer: return std::to_string(node.integer);
  case TomlNode::Kind::floating: return fmt::format("{}", node.floating);
  case TomlNode::Kind::boolean: return node.boolean ? "true" : "false";
  case TomlNode::Kind::date: return "the date " + node.text;
  }
  return {};
}

Expected<TomlNode> read_toml(std::string_view text, std::string_view file) {
  AKO_TRY_STATUS(check_text(text, file));
  const toml::parse_result result = toml::parse(text, file);
  if (result.failed()) {
    const toml::parse_error& error = result.error();
    return fail(ErrorKind::invalid, "this is not TOML",
                {.where = at(file, place_of(error.source().begin)),
                 .found = std::string(error.description()),
                 .allowed = "TOML 1.0 in UTF-8",
                 .next = "mend the line; see docs/task-toml.md for the format"});
  }
  TomlNode out;
  convert_table(result.table(), out);
  return out;
}

} // namespace ako::model
