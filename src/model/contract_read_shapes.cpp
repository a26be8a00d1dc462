#include "model/axis_values.hpp"
#include "model/contract_read.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::model {

using base::Status;

namespace {

constexpr std::size_t k_longest_tag = 64;

std::vector<std::string> free_axes(const Contract& contract) {
  std::vector<std::string> out;
  for (const Axis& axis : contract.axes)
    if (axis.kind == Axis::Kind::var || axis.kind == Axis::Kind::dtype) out.push_back(axis.name);
  return out;
}

Status read_axis_value(const Section& section, const Axis& axis, const TomlMember& member,
                       ShapeCase& shape) {
  const TomlNode& node = member.value;
  if (shape.axes.contains(axis.name) || shape.dtypes.contains(axis.name))
    return section.error_at(node, axis.name, "the axis has its value twice", "one value");
  if (axis.kind == Axis::Kind::dtype) {
    std::vector<std::string> known;
    for (const Dtype each : axis.dtypes) known.emplace_back(to_string(each));
    const auto dtype = node.kind == TomlNode::Kind::string ? dtype_from(node.text) : std::nullopt;
    if (!dtype || std::find(axis.dtypes.begin(), axis.dtypes.end(), *dtype) == axis.dtypes.end())
      return section.error_at(node, axis.name,
                              fmt::format("no dtype that axis '{}' allows", axis.name), join(known),
                              did_you_mean(node.text, known));
    shape.dtypes[axis.name] = *dtype;
    return {};
  }
  if (axis.kind != Axis::Kind::var)
    return section.error_at(node, axis.name,
                            fmt::format("axis '{}' has its value from [axes]", axis.name),
                            "leave it out, or make the axis { var = true }");
  if (node.kind != TomlNode::Kind::integer)
    return section.error_at(node, axis.name, "the value of an axis is an integer",
                            lawful_text(axis));
  if (!is_lawful(axis, node.integer))
    return section.error_at(node, axis.name, fmt::format("unlawful value of axis '{}'", axis.name),
                            lawful_text(axis));
  shape.axes[axis.name] = node.integer;
  return {};
}

Status read_axis_values(const Reading& reading, const Section& section, const TomlNode& table,
                        std::string_view path, ShapeCase& shape) {
  const Section inner(reading.file, std::string(path), table, table.place, "shape");
  for (const TomlMember& member : table.members) {
    if (&table == &section.table() && section_spec("shape").has(member.key)) continue;
    const Axis* axis = find_axis(reading.contract, member.key);
    if (!axis) {
      std::vector<std::string> known = free_axes(reading.contract);
      if (&table == &section.table())
        for (const KeySpec& each : section_spec("shape").keys) known.emplace_back(each.key);
      return base::fail(base::ErrorKind::invalid,
                        fmt::format("unknown key '{}': no axis has this name", member.key),
                        {.where = inner.where(member.key, member.place),
                         .found = member.key,
                         .allowed = join(known),
                         .next = did_you_mean(member.key, known)});
    }
    AKO_TRY_STATUS(read_axis_value(inner, *axis, member, shape));
  }
  return {};
}

/// Every axis of a shape has a value; a dtype axis of one dtype needs no mention.
Status complete(const Reading& reading, const Section& section, ShapeCase& shape) {
  for (const Axis& axis : reading.contract.axes) {
    if (axis.kind == Axis::Kind::dtype && !shape.dtypes.contains(axis.name)) {
      if (axis.dtypes.size() == 1) {
        shape.dtypes[axis.name] = axis.dtypes.front();
        continue;
      }
      return section.error("", fmt::format("axis '{}' has no dtype in this shape", axis.name),
                           "one of its dtypes", fmt::format("add {} = \"...\"", axis.name));
    }
    if (axis.kind == Axis::Kind::var && !shape.axes.contains(axis.name))
      return section.error("", fmt::format("axis '{}' has no value in this shape", axis.name),
                           lawful_text(axis), fmt::format("add {} = ...", axis.name));
  }
  return {};
}

std::string default_tag(const Contract& contract, const ShapeCase& shape) {
  std::string out;
  for (const Axis& axis : contract.axes) {
    std::string value;
    if (axis.kind == Axis::Kind::var) value = std::to_string(shape.axes.at(axis.name));
    else if (axis.kind == Axis::Kind::dtype && axis.dtypes.size() > 1)
      value = to_string(shape.dtypes.at(axis.name));
    else continue;
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", axis.name, value);
  }
  if (out.size() > k_longest_tag) return fmt::format("case{}", contract.shapes.size() + 1);
  return out.empty() ? "only" : out;
}

Status check_tag(const Section& section, const std::string& tag) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.=,+-").find(c) != std::string_view::npos;
  };
  if (section.has("tag") &&
      (tag.size() > k_longest_tag || !std::all_of(tag.begin(), tag.end(), plain)))
    return section.error("tag", "the tag holds other characters, or too many",
                         "letters, digits and _ . = , + -, at most 64");
  return {};
}

Status check_unlike(const Reading& reading, const Section& section, const ShapeCase& shape) {
  for (const ShapeCase& other : reading.contract.shapes) {
    if (other.tag == shape.tag)
      return section.error("tag", fmt::format("two shapes have the tag '{}'", shape.tag),
                           "a tag of its own");
    if (other.axes == shape.axes && other.dtypes == shape.dtypes)
      return section.error(
          "", fmt::format("shapes '{}' and '{}' overlap: they are one case", other.tag, shape.tag),
          "axis values of its own", "merge them and add their weights");
  }
  return {};
}

} // namespace

Status read_shapes(const Reading& reading) {
  AKO_TRY(const auto list, sections(reading.file, reading.root, "shape"));
  for (const Section& section : list) {
    ShapeCase shape;
    AKO_TRY_STATUS(check_count(section, reading.contract.shapes.size() + 1, 1024, "shapes"));
    AKO_TRY_STATUS(read_axis_values(reading, section, section.table(), section.path(), shape));
    if (const TomlNode* axes = section.node("axes")) {
      if (axes->kind != TomlNode::Kind::table)
        return section.error("axes", "'axes' has the wrong type", "{ M = 1, ... }");
      AKO_TRY_STATUS(read_axis_values(reading, section, *axes, section.path() + ".axes", shape));
    }
    AKO_TRY_STATUS(section.read("tag", shape.tag));
    AKO_TRY_STATUS(check_tag(section, shape.tag));
    AKO_TRY_STATUS(
        section.read("weight", shape.weight, {[](double v) { return v > 0; }, "a number above 0"}));
    AKO_TRY_STATUS(complete(reading, section, shape));
    if (shape.tag.empty()) shape.tag = default_tag(reading.contract, shape);
    AKO_TRY_STATUS(check_unlike(reading, section, shape));
    reading.contract.shapes.push_back(std::move(shape));
  }
  return {};
}

} // namespace ako::model
