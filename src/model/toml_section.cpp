#include "model/toml_section.hpp"

#include <climits>
#include <cmath>
#include <fmt/format.h>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;

namespace {

/// Where nothing better is known than what is allowed.
std::string or_look_up(std::string next) {
  return next.empty() ? "correct it there; docs/task-toml.md describes every key" : next;
}

} // namespace

Section::Section(std::string_view file, std::string path, const TomlNode& table, Place place,
                 std::string_view spec)
    : m_file(file), m_path(std::move(path)), m_table(&table), m_place(place),
      m_spec(&section_spec(spec)) {}

const TomlNode* Section::node(std::string_view key) const {
  AKO_CHECK(m_spec->has(key),
            "readers ask only for keys that the tables know: " + std::string(key));
  return m_table->find(key);
}

std::string Section::where(std::string_view key, Place place) const {
  std::string path = m_path;
  if (!key.empty()) path += (path.empty() ? "" : ".") + std::string(key);
  return at(m_file, place) + (path.empty() ? "" : ": " + path);
}

tl::unexpected<base::Error> Section::error_at(const TomlNode& node, std::string_view key,
                                              std::string message, std::string allowed,
                                              std::string next) const {
  return fail(ErrorKind::invalid, std::move(message),
              {.where = where(key, node.place),
               .found = describe(node),
               .allowed = std::move(allowed),
               .next = or_look_up(std::move(next))});
}

tl::unexpected<base::Error> Section::error(std::string_view key, std::string message,
                                           std::string allowed, std::string next) const {
  if (const TomlNode* value = m_table->find(key))
    return error_at(*value, key, std::move(message), std::move(allowed), std::move(next));
  return fail(ErrorKind::invalid, std::move(message),
              {.where = where(key, m_place),
               .found = key.empty() ? "" : "nothing",
               .allowed = std::move(allowed),
               .next = or_look_up(std::move(next))});
}

tl::unexpected<base::Error> Section::wrong_type(const TomlNode& node, std::string_view key,
                                                std::string allowed) const {
  return error_at(node, key, fmt::format("'{}' has the wrong type", key), std::move(allowed));
}

Status Section::known_keys_only(const std::vector<std::string>& also) const {
  for (const TomlMember& member : m_table->members) {
    if (m_spec->has(member.key)) continue;
    std::vector<std::string> known;
    for (const KeySpec& each : m_spec->keys) known.emplace_back(each.key);
    bool extra = false;
    for (const std::string& each : also) {
      known.push_back(each);
      extra = extra || each == member.key;
    }
    if (extra) continue;
    TomlNode name;
    name.kind = TomlNode::Kind::string;
    name.text = member.key;
    name.place = member.place;
    const std::string shown = describe(name);
    return fail(ErrorKind::invalid, "unknown key " + shown,
                {.where = where(member.key, member.place),
                 .found = shown,
                 .allowed = join(known),
                 .next = or_look_up(did_you_mean(member.key, known))});
  }
  return {};
}

Status Section::require(std::string_view key) const {
  if (has(key)) return {};
  const KeySpec& spec = m_spec->key(key);
  return error(key, fmt::format("'{}' is missing", key), spec.type,
               fmt::format("add {}: {}", key, spec.meaning));
}

Status Section::read(std::string_view key, std::string& into) const {
  const TomlNode* value = node(key);
  if (!value) return {};
  if (value->kind != TomlNode::Kind::string) return wrong_type(*value, key, "a string");
  if (value->text.empty()) return error(key, fmt::format("'{}' is empty", key), "some text");
  for (const char c : value->text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return error(key, fmt::format("'{}' holds a control character", key), "one line of text");
  into = value->text;
  return {};
}

Status Section::read(std::string_view key, bool& into) const {
  const TomlNode* value = node(key);
  if (!value) return {};
  if (value->kind != TomlNode::Kind::boolean) return wrong_type(*value, key, "true, false");
  into = value->boolean;
  return {};
}

Status Section::read(std::string_view key, std::int64_t& into, IntegerRule rule) const {
  const TomlNode* value = node(key);
  if (!value) return {};
  const std::string allowed = rule.high == INT64_MAX
                                  ? fmt::format("an integer of at least {}", rule.low)
                                  : fmt::format("an integer from {} to {}", rule.low, rule.high);
  if (value->kind != TomlNode::Kind::integer) return wrong_type(*value, key, allowed);
  if (value->integer < rule.low || value->integer > rule.high)
    return error(key, fmt::format("'{}' is out of range", key), allowed);
  into = value->integer;
  return {};
}

Status Section::read(std::string_view key, int& into, IntegerRule rule) const {
  std::int64_t wide = into;
  AKO_TRY_STATUS(read(
      key, wide,
      {std::max<std::int64_t>(rule.low, INT_MIN), std::min<std::int64_t>(rule.high, INT_MAX)}));
  into = static_cast<int>(wide);
  return {};
}

Status Section::read(std::string_view key, double& into, NumberRule rule) const {
  const TomlNode* value = node(key);
  if (!value) return {};
  double number = 0;
  if (value->kind == TomlNode::Kind::integer) number = static_cast<double>(value->integer);
  else if (value->kind == TomlNode::Kind::floating) number = value->floating;
  else return wrong_type(*value, key, rule.allowed);
  if (!std::isfinite(number))
    return error(key, fmt::format("'{}' is not a finite number", key), rule.allowed);
  if (!rule.holds(number))
    return error(key, fmt::format("'{}' is out of range", key), rule.allowed);
  into = number;
  return {};
}

Status Section::read(std::string_view key, std::optional<double>& into, NumberRule rule) const {
  if (!has(key)) return {};
  double value = 0;
  AKO_TRY_STATUS(read(key, value, rule));
  into = value;
  return {};
}

Status Section::read(std::string_view key, std::vector<std::string>& into) const {
  const TomlNode* value = node(key);
  if (!value) return {};
  if (value->kind != TomlNode::Kind::array) return wrong_type(*value, key, "a list of strings");
  into.clear();
  for (const TomlNode& item : value->items) {
    if (item.kind != TomlNode::Kind::string) return wrong_type(item, key, "a list of strings");
    if (item.text.empty())
      return error_at(item, key, fmt::format("an entry of '{}' is empty", key), "some text");
    if (item.text.find('\0') != std::string::npos)
      return error_at(item, key, fmt::format("an entry of '{}' holds a NUL", key), "text");
    into.push_back(item.text);
  }
  return {};
}

Expected<Expression> Section::expression(std::string_view key, const TomlNode& node) const {
  std::string text;
  if (node.kind == TomlNode::Kind::integer) text = std::to_string(node.integer);
  else if (node.kind == TomlNode::Kind::string) text = node.text;
  else return wrong_type(node, key, "an integer, or an expression over axes in quotes");
  auto parsed = Expression::parse(text);
  if (!parsed)
    return error_at(node, key,
                    fmt::format("not an expression: {} at {} (there: {})", parsed.error().message,
                                parsed.error().where, parsed.error().found),
                    parsed.error().allowed);
  return std::move(*parsed);
}

Status Section::read(std::string_view key, std::optional<Expression>& into) const {
  const TomlNode* value = node(key);
  if (!value) return {};
  AKO_TRY(into, expression(key, *value));
  return {};
}

Status Section::read(std::string_view key, std::vector<Expression>& into) const {
  const TomlNode* value = node(key);
  if (!value) return {};
  if (value->kind != TomlNode::Kind::array)
    return wrong_type(*value, key, "a list of integers and expressions");
  into.clear();
  for (const TomlNode& item : value->items) {
    AKO_TRY(Expression each, expression(key, item));
    into.push_back(std::move(each));
  }
  return {};
}

Expected<std::vector<Section>> sections(std::string_view file, const TomlNode& root,
                                        std::string_view key) {
  std::vector<Section> out;
  const TomlMember* member = root.member(key);
  if (!member) return out;
  const auto not_a_list = [&](const TomlNode& node) {
    return fail(ErrorKind::invalid, fmt::format("'{}' must be a list of tables", key),
                {.where = fmt::format("{}: {}", at(file, member->place), key),
                 .found = describe(node),
                 .allowed = fmt::format("[[{}]]", key),
                 .next = fmt::format("write [[{}]] above each of them", key)});
  };
  if (member->value.kind != TomlNode::Kind::array) return not_a_list(member->value);
  for (const TomlNode& item : member->value.items) {
    if (item.kind != TomlNode::Kind::table) return not_a_list(item);
    Section section(file, fmt::format("{}#{}", key, out.size() + 1), item, item.place, key);
    out.push_back(std::move(section));
  }
  return out;
}

} // namespace ako::model
