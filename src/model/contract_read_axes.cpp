#include "model/axis_values.hpp"
#include "model/contract_read.hpp"

#include <fmt/format.h>

namespace ako::model {

using base::Status;

namespace {

constexpr const char* k_forms =
    "{ var = true }, { const = N }, { expr = \"...\" } or { dtype = [...] }";

Status read_var(const Section& section, Axis& axis) {
  axis.kind = Axis::Kind::var;
  bool var = true;
  AKO_TRY_STATUS(section.read("var", var));
  if (!var) return section.error("var", "'var' can only be true", k_forms);
  AKO_TRY_STATUS(section.read("min", axis.min, {1, INT64_MAX}));
  AKO_TRY_STATUS(section.read("max", axis.max, {1, INT64_MAX}));
  AKO_TRY_STATUS(section.read("multiple_of", axis.multiple_of, {1, INT64_MAX}));
  if (section.has("tile")) {
    std::int64_t tile = 1;
    AKO_TRY_STATUS(section.read("tile", tile, {1, INT64_MAX}));
    axis.tile = tile;
  }
  if (axis.max < axis.min)
    return section.error("max", "'max' is below 'min'", fmt::format("at least {}", axis.min));
  if (!lawful_at_least(axis, axis.min))
    return section.error("multiple_of", "no value is lawful",
                         fmt::format("a divisor of something from {} to {}", axis.min, axis.max));
  return {};
}

Status read_dtypes(const Section& section, Axis& axis) {
  axis.kind = Axis::Kind::dtype;
  const TomlNode& node = *section.node("dtype");
  std::vector<const TomlNode*> items;
  if (node.kind == TomlNode::Kind::array)
    for (const TomlNode& item : node.items) items.push_back(&item);
  else items.push_back(&node);
  std::vector<std::string> known;
  for (const Dtype each : all_dtypes()) known.emplace_back(to_string(each));
  if (items.empty()) return section.error("dtype", "a dtype axis needs a dtype", join(known));
  for (const TomlNode* item : items) {
    const auto dtype = item->kind == TomlNode::Kind::string ? dtype_from(item->text) : std::nullopt;
    if (!dtype)
      return section.error_at(*item, "dtype", "unknown dtype " + describe(*item), join(known),
                              did_you_mean(item->text, known));
    for (const Dtype other : axis.dtypes) {
      if (other == *dtype)
        return section.error_at(*item, "dtype", "a dtype stands there twice", "each once");
      // Fills and comparisons go by the class: one axis cannot want both.
      if (class_of(other) != class_of(*dtype) ||
          (other == Dtype::float8_e8m0fnu) != (*dtype == Dtype::float8_e8m0fnu))
        return section.error_at(*item, "dtype", "the dtypes of one axis are of different classes",
                                fmt::format("dtypes like {}", to_string(other)));
    }
    axis.dtypes.push_back(*dtype);
  }
  return {};
}

Status read_axis(const Section& section, Axis& axis) {
  AKO_TRY_STATUS(section.known_keys_only());
  int forms = 0;
  for (const char* form : {"var", "const", "expr", "dtype"}) forms += section.has(form) ? 1 : 0;
  if (forms != 1)
    return section.error("", fmt::format("an axis has exactly one form, this has {}", forms),
                         k_forms);
  if (section.has("var")) return read_var(section, axis);
  for (const char* key : {"min", "max", "multiple_of", "tile"})
    if (section.has(key))
      return section.error(key, fmt::format("'{}' belongs to var axes alone", key),
                           "leave it out, or make the axis { var = true }");
  if (section.has("dtype")) return read_dtypes(section, axis);
  if (section.has("const")) {
    axis.kind = Axis::Kind::constant;
    return section.read("const", axis.value, {0, INT64_MAX});
  }
  axis.kind = Axis::Kind::expr;
  return section.read("expr", axis.expression);
}

Status check_axis_name(const Section& section, const std::string& name) {
  const bool taken = name == "tag" || name == "axes" || name == "weight";
  if (is_identifier(name) && !taken && !Expression::is_reserved(name)) return {};
  return section.error("", fmt::format("'{}' cannot name an axis", name),
                       "an identifier; not min, max, ceildiv, tag, axes or weight");
}

} // namespace

Status read_axes(const Reading& reading) {
  AKO_TRY(const Section table, table_section(reading, "axes"));
  for (const TomlMember& member : table.table().members) {
    const Section section(reading.file, "axes." + member.key, member.value, member.place, "axes");
    AKO_TRY_STATUS(check_axis_name(section, member.key));
    if (member.value.kind != TomlNode::Kind::table)
      return section.error_at(member.value, "", "an axis is a table", k_forms);
    AKO_TRY_STATUS(check_count(section, reading.contract.axes.size() + 1, 64, "axes"));
    Axis axis;
    axis.name = member.key;
    AKO_TRY_STATUS(read_axis(section, axis));
    reading.contract.axes.push_back(std::move(axis));
  }
  return {};
}

} // namespace ako::model
