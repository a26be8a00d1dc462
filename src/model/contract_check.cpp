#include "model/contract_read.hpp"
#include "model/resolve_parts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace ako::model {

using base::Status;

namespace {

/// Tensors, scalars and axes share one space of names: all become arguments.
Status check_unique_names(const Reading& reading, const std::vector<Section>& tensors,
                          const std::vector<Section>& scalars) {
  std::map<std::string, std::string> taken;
  for (const Axis& axis : reading.contract.axes) taken[axis.name] = "an axis";
  const auto claim = [&](const Section& section, const std::string& name,
                         const char* what) -> Status {
    const auto [other, free] = taken.emplace(name, what);
    if (free) return {};
    return section.error("name", fmt::format("the name '{}' is taken by {}", name, other->second),
                         "a name that no tensor, scalar or axis has");
  };
  for (std::size_t i = 0; i < tensors.size(); ++i)
    AKO_TRY_STATUS(claim(tensors[i], reading.contract.tensors[i].name, "a tensor"));
  for (std::size_t i = 0; i < scalars.size(); ++i)
    AKO_TRY_STATUS(claim(scalars[i], reading.contract.scalars[i].name, "a scalar"));
  return {};
}

Status check_args(const Reading& reading, const Section& kernel) {
  const Contract& contract = reading.contract;
  if (contract.kernel.args.empty()) return {};
  std::vector<std::string> known;
  for (const Tensor& each : contract.tensors) known.push_back(each.name);
  for (const Scalar& each : contract.scalars) known.push_back(each.name);
  for (const Axis& each : contract.axes)
    if (each.kind != Axis::Kind::dtype) known.push_back(each.name);
  // An entry of the CuTe DSL is handed the stream as a number; Triton's launches find theirs.
  for (const Lane lane : {Lane::cuda, Lane::cutlass, Lane::cute_dsl})
    if (contract.kernel.lane == lane) known.emplace_back("stream");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < contract.kernel.args.size(); ++i) {
    const std::string& name = contract.kernel.args[i];
    const TomlNode& node = kernel.node("args")->items[i];
    if (std::find(known.begin(), known.end(), name) == known.end())
      return kernel.error_at(node, "args", fmt::format("'{}' is no argument", name), join(known),
                             did_you_mean(name, known));
    if (!seen.insert(name).second)
      return kernel.error_at(node, "args", fmt::format("'{}' stands there twice", name),
                             "each name once");
  }
  for (const Tensor& each : contract.tensors)
    if ((each.role == TensorRole::out || each.role == TensorRole::inout) &&
        !seen.contains(each.name))
      return kernel.error("args",
                          fmt::format("the entry never gets '{}', which it must write", each.name),
                          "every out and inout tensor", fmt::format("add \"{}\"", each.name));
  return {};
}

Status check_properties(const Reading& reading, const std::vector<Section>& tensors) {
  std::vector<std::string> known;
  for (const Tensor& each : reading.contract.tensors) known.push_back(each.name);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& text = reading.contract.tensors[i].property;
    if (text.empty()) continue;
    AKO_TRY(const auto clauses, parse_property(text));
    for (const PropertySpec& clause : clauses)
      for (const std::string& name : clause.tensors)
        if (std::find(known.begin(), known.end(), name) == known.end())
          return tensors[i].error("property",
                                  fmt::format("the property names no tensor '{}'", name),
                                  join(known), did_you_mean(name, known));
  }
  return {};
}

Status check_roles(const Reading& reading, const Section& kernel) {
  const auto has = [&](TensorRole role) {
    return std::any_of(reading.contract.tensors.begin(), reading.contract.tensors.end(),
                       [&](const Tensor& each) { return each.role == role; });
  };
  if (!has(TensorRole::out) && !has(TensorRole::inout)) {
    const TomlMember* member = reading.root.member("tensor");
    const Section section(reading.file, "tensor", member->value, member->place, "tensor");
    return section.error("", "no tensor is written: nothing could be judged",
                         "at least one tensor of role out or inout");
  }
  if (reading.contract.kernel.in_place && !has(TensorRole::inout))
    return kernel.error("in_place", "in_place needs a tensor of role inout", "false",
                        "give the tensor that is overwritten role = \"inout\"");
  return {};
}

/// "shape" of a resolve error is a key of its own; "fill.limit" lies in a table of the tensor.
tl::unexpected<base::Error> at_part(const Section& section, base::Error error,
                                    const std::string& tag) {
  const std::string key = error.where;
  const TomlNode* node = section.table().find(key.substr(0, key.find('.')));
  error.where = section.where(key, node ? node->place : section.place());
  error.message += fmt::format(" at shape '{}'", tag);
  return tl::unexpected(std::move(error));
}

struct Sections {
  std::vector<Section> tensors, scalars;
  Section cost, tolerance;
};

Status check_shape(const Reading& reading, const Sections& parts, const Section& section,
                   const ShapeCase& shape) {
  ResolvedShape resolved;
  auto axes = resolve_axes(reading.contract, shape);
  if (!axes) {
    base::Error error = axes.error();
    error.message = fmt::format("axis '{}': {}", error.where, error.message);
    error.where = section.where({}, section.place());
    return tl::unexpected(std::move(error));
  }
  resolved.axes = std::move(*axes);
  for (std::size_t i = 0; i < parts.tensors.size(); ++i) {
    auto tensor = resolve_tensor(reading.contract.tensors[i], resolved.axes, shape.dtypes);
    if (!tensor) return at_part(parts.tensors[i], tensor.error(), shape.tag);
    resolved.tensors.push_back(std::move(*tensor));
  }
  for (std::size_t i = 0; i < parts.scalars.size(); ++i)
    if (const auto value = resolve_scalar(reading.contract.scalars[i], resolved.axes); !value)
      return at_part(parts.scalars[i], value.error(), shape.tag);
  if (const Status done = resolve_work(reading.contract, resolved); !done)
    return at_part(done.error().where == "accumulate" ? parts.tolerance : parts.cost, done.error(),
                   shape.tag);
  return {};
}

} // namespace

Status check_contract(const Reading& reading) {
  AKO_TRY(const Section kernel, table_section(reading, "kernel"));
  AKO_TRY(const auto tensors, sections(reading.file, reading.root, "tensor"));
  AKO_TRY(const auto scalars, sections(reading.file, reading.root, "scalar"));
  AKO_TRY_STATUS(check_unique_names(reading, tensors, scalars));
  AKO_TRY_STATUS(check_properties(reading, tensors));
  AKO_TRY_STATUS(check_roles(reading, kernel));
  return check_args(reading, kernel);
}

Status check_axes(const Reading& reading) {
  AKO_TRY(const Section table, table_section(reading, "axes"));
  std::set<std::string> placed;
  std::vector<const Axis*> waiting;
  for (const Axis& axis : reading.contract.axes) {
    if (axis.kind != Axis::Kind::expr) {
      placed.insert(axis.name);
      continue;
    }
    const TomlMember& member = *table.table().member(axis.name);
    const Section section(reading.file, "axes." + axis.name, member.value, member.place, "axes");
    AKO_TRY_STATUS(check_names(reading, section, *section.node("expr"), "expr", *axis.expression));
    waiting.push_back(&axis);
  }
  const auto ready = [&](const Axis* axis) {
    const auto& names = axis->expression->names();
    return std::all_of(names.begin(), names.end(),
                       [&](const std::string& name) { return placed.contains(name); });
  };
  for (auto next = std::find_if(waiting.begin(), waiting.end(), ready); next != waiting.end();
       next = std::find_if(waiting.begin(), waiting.end(), ready)) {
    placed.insert((*next)->name);
    waiting.erase(next);
  }
  if (waiting.empty()) return {};
  const Axis& axis = *waiting.front();
  const TomlMember& member = *table.table().member(axis.name);
  const Section section(reading.file, "axes." + axis.name, member.value, member.place, "axes");
  return section.error("expr", fmt::format("axis '{}' depends on itself", axis.name),
                       "an expression over axes that do not lead back to it");
}

Status check_shapes(const Reading& reading) {
  AKO_TRY(auto tensors, sections(reading.file, reading.root, "tensor"));
  AKO_TRY(auto scalars, sections(reading.file, reading.root, "scalar"));
  AKO_TRY(Section cost, table_section(reading, "cost"));
  AKO_TRY(Section tolerance, table_section(reading, "tolerance"));
  AKO_TRY(const auto shapes, sections(reading.file, reading.root, "shape"));
  const Sections parts{std::move(tensors), std::move(scalars), std::move(cost),
                       std::move(tolerance)};
  for (std::size_t i = 0; i < shapes.size(); ++i)
    AKO_TRY_STATUS(check_shape(reading, parts, shapes[i], reading.contract.shapes[i]));
  return {};
}

} // namespace ako::model
