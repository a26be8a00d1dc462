#include "model/resolved.hpp"

#include "model/axis_values.hpp"
#include "model/enum_names.hpp"
#include "model/resolve_parts.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;
using base::Status;

namespace {

Status place_var(const Axis& axis, const ShapeCase& shape, AxisValues& out) {
  const auto value = shape.axes.find(axis.name);
  if (value == shape.axes.end())
    return wrong_value(axis.name, "the axis has no value in this shape", "nothing",
                       lawful_text(axis));
  if (!is_lawful(axis, value->second))
    return wrong_value(axis.name, "unlawful value of the axis", std::to_string(value->second),
                       lawful_text(axis));
  out[axis.name] = value->second;
  return {};
}

/// Computes expr axes whose axes are known until nothing more can be computed.
Status place_expressions(const Contract& contract, AxisValues& out) {
  for (bool progress = true; progress;) {
    progress = false;
    for (const Axis& axis : contract.axes) {
      if (axis.kind != Axis::Kind::expr || out.contains(axis.name)) continue;
      const auto& names = axis.expression->names();
      if (!std::all_of(names.begin(), names.end(),
                       [&](const std::string& name) { return out.contains(name); }))
        continue;
      auto value = axis.expression->evaluate(out);
      if (!value)
        return wrong_value(axis.name, value.error().message,
                           axis.expression->text() + (value.error().found.empty() ? "" : ": ") +
                               value.error().found,
                           value.error().allowed);
      out[axis.name] = *value;
      progress = true;
    }
  }
  for (const Axis& axis : contract.axes)
    if (axis.kind == Axis::Kind::expr && !out.contains(axis.name))
      return wrong_value(axis.name,
                         "the expr axis depends on itself, or on an axis that is not there",
                         axis.expression->text(), "an expression over other axes");
  return {};
}

/// All axes that an expression rests on, directly or through expr axes.
void axes_behind(const Contract& contract, const Expression& expression,
                 std::set<std::string>& out) {
  for (const std::string& name : expression.names()) {
    const Axis* axis = find_axis(contract, name);
    if (!axis || !out.insert(name).second) continue;
    if (axis->kind == Axis::Kind::expr) axes_behind(contract, *axis->expression, out);
  }
}

/// The product of the axes that inputs have and outputs have not: what a contraction sums over.
/// Axes that indices point into are looked up, not summed.
std::int64_t contracted_length(const Contract& contract, const AxisValues& axes) {
  std::set<std::string> in, gone;
  for (const Tensor& tensor : contract.tensors) {
    const bool read = tensor.role == TensorRole::in;
    for (const Expression& size : tensor.shape) axes_behind(contract, size, read ? in : gone);
    if (tensor.fill.limit.empty()) continue;
    if (const auto limit = Expression::parse(tensor.fill.limit))
      axes_behind(contract, *limit, gone);
  }
  std::int64_t length = 1;
  for (const std::string& name : in) {
    const bool counts = find_axis(contract, name)->kind != Axis::Kind::expr && !gone.contains(name);
    if (counts && __builtin_mul_overflow(length, std::max<std::int64_t>(axes.at(name), 1), &length))
      return INT64_MAX;
  }
  return length;
}

Expected<double> work(const char* key, const std::string& text, const AxisValues& axes) {
  AKO_TRY(const Expression expression, Expression::parse(text));
  const auto value = expression.evaluate(axes);
  if (!value) return wrong_value(key, value.error().message, text, value.error().allowed);
  if (*value < 0)
    return wrong_value(key, "the amount of work is negative", fmt::format("{} = {}", text, *value),
                       "at least 0");
  return static_cast<double>(*value);
}

} // namespace

Expected<AxisValues> resolve_axes(const Contract& contract, const ShapeCase& shape) {
  AxisValues out;
  for (const Axis& axis : contract.axes) {
    if (axis.kind == Axis::Kind::var) AKO_TRY_STATUS(place_var(axis, shape, out));
    if (axis.kind == Axis::Kind::constant) out[axis.name] = axis.value;
  }
  AKO_TRY_STATUS(place_expressions(contract, out));
  return out;
}

Status resolve_work(const Contract& contract, ResolvedShape& resolved) {
  resolved.flops = 0;
  if (!contract.cost.flops.empty()) {
    AKO_TRY(resolved.flops, work("flops", contract.cost.flops, resolved.axes));
  }
  if (!contract.cost.bytes.empty()) {
    AKO_TRY(resolved.bytes, work("bytes", contract.cost.bytes, resolved.axes));
  } else {
    resolved.bytes = 0;
    for (const ResolvedTensor& tensor : resolved.tensors) {
      if (tensor.role == TensorRole::workspace) continue;
      // A broadcast input (stride 0) is no more than its span.
      const std::int64_t count = std::min(tensor.elements, tensor.span_elements);
      const auto once = static_cast<double>(bytes_of(tensor.dtype, count));
      resolved.bytes += tensor.role == TensorRole::inout ? 2 * once : once;
    }
  }
  if (contract.tolerance.accumulate.empty()) {
    resolved.accumulate = contracted_length(contract, resolved.axes);
    return {};
  }
  AKO_TRY(const Expression length, Expression::parse(contract.tolerance.accumulate));
  const auto value = length.evaluate(resolved.axes);
  if (!value)
    return wrong_value("accumulate", value.error().message, length.text(), value.error().allowed);
  if (*value < 1)
    return wrong_value("accumulate", "the length of the longest sum is below 1",
                       fmt::format("{} = {}", length.text(), *value), "at least 1");
  resolved.accumulate = *value;
  return {};
}

Expected<ResolvedShape> resolve(const Contract& contract, const ShapeCase& shape) {
  ResolvedShape out;
  out.tag = shape.tag;
  out.dtypes = shape.dtypes;
  out.weight = shape.weight;
  const auto located = [&](base::Error error, std::string part) {
    error.where = fmt::format("shape '{}', {}{}", shape.tag, part, error.where);
    return tl::unexpected(std::move(error));
  };
  auto axes = resolve_axes(contract, shape);
  if (!axes) return located(axes.error(), "axis ");
  out.axes = std::move(*axes);
  for (const Tensor& tensor : contract.tensors) {
    auto resolved = resolve_tensor(tensor, out.axes, out.dtypes);
    if (!resolved) return located(resolved.error(), fmt::format("tensor '{}' ", tensor.name));
    out.tensors.push_back(std::move(*resolved));
  }
  for (const Scalar& scalar : contract.scalars) {
    const auto value = resolve_scalar(scalar, out.axes);
    if (!value) return located(value.error(), fmt::format("scalar '{}' ", scalar.name));
    out.scalars.push_back(*value);
  }
  if (const Status done = resolve_work(contract, out); !done) return located(done.error(), "");
  return out;
}

Expected<std::vector<ResolvedShape>> resolve_all(const Contract& contract) {
  std::vector<ResolvedShape> out;
  for (const ShapeCase& shape : contract.shapes) {
    AKO_TRY(ResolvedShape each, resolve(contract, shape));
    out.push_back(std::move(each));
  }
  return out;
}

Json to_json(const ResolvedShape& shape) {
  Json axes = Json::object(), dtypes = Json::object(), tensors = Json::array();
  for (const auto& [name, value] : shape.axes) axes[name] = value;
  for (const auto& [name, value] : shape.dtypes) dtypes[name] = to_string(value);
  for (const ResolvedTensor& each : shape.tensors)
    tensors.push_back({{"name", each.name},
                       {"role", to_string(each.role)},
                       {"dtype", to_string(each.dtype)},
                       {"shape", each.shape},
                       {"strides", each.strides},
                       {"elements", each.elements},
                       {"span_elements", each.span_elements},
                       {"bytes", each.bytes},
                       {"align", each.align},
                       {"fill_limit", each.fill_limit},
                       {"contiguous", each.contiguous}});
  Json scalars = Json::array();
  for (const double each : shape.scalars) scalars.push_back(base::number_or_null(each));
  return Json{{"tag", shape.tag},
              {"axes", std::move(axes)},
              {"dtypes", std::move(dtypes)},
              {"weight", base::number_or_null(shape.weight)},
              {"tensors", std::move(tensors)},
              {"scalars", std::move(scalars)},
              {"flops", base::number_or_null(shape.flops)},
              {"bytes", base::number_or_null(shape.bytes)},
              {"accumulate", shape.accumulate}};
}

} // namespace ako::model
