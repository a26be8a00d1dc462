#include "model/contract_toml.hpp"

namespace ako::model {

using base::Json;

namespace {

Json entry_json(const EntryRef& entry) {
  return Json{{"file", entry.file}, {"symbol", entry.symbol}};
}

Json optional_number(const std::optional<double>& value) {
  return value ? base::number_or_null(*value) : Json(nullptr);
}

Json texts(const std::vector<Expression>& expressions) {
  Json out = Json::array();
  for (const Expression& each : expressions) out.push_back(each.text());
  return out;
}

Json kernel_json(const Kernel& kernel) {
  return Json{{"name", kernel.name},
              {"lane", to_string(kernel.lane)},
              {"entry", entry_json(kernel.entry)},
              {"sources", kernel.sources},
              {"include_dirs", kernel.include_dirs},
              {"flags", kernel.flags},
              {"compiler", kernel.compiler},
              {"architectures", kernel.architectures},
              {"workload", to_string(kernel.workload)},
              {"call_sites", kernel.call_sites},
              {"prepare", kernel.prepare},
              {"plan", kernel.plan},
              {"args", kernel.args},
              {"in_place", kernel.in_place},
              {"deterministic", kernel.deterministic},
              {"batch_invariant", kernel.batch_invariant},
              {"capturable", kernel.capturable},
              {"library_calls", to_string(kernel.library_calls)},
              {"precision", to_string(kernel.precision)}};
}

Json axis_json(const Axis& axis) {
  switch (axis.kind) {
  case Axis::Kind::constant: return Json{{"const", axis.value}};
  case Axis::Kind::expr: return Json{{"expr", axis.expression->text()}};
  case Axis::Kind::dtype: {
    Json dtypes = Json::array();
    for (const Dtype each : axis.dtypes) dtypes.push_back(to_string(each));
    return Json{{"dtype", std::move(dtypes)}};
  }
  case Axis::Kind::var: break;
  }
  return Json{{"var", true},
              {"min", axis.min},
              {"max", axis.max},
              {"multiple_of", axis.multiple_of},
              {"tile", axis.tile ? Json(*axis.tile) : Json(nullptr)}};
}

Json fill_json(const FillSpec& fill) {
  Json out{{"kind", to_string(fill.kind)}};
  if (fill.kind == Fill::uniform) {
    out["low"] = base::number_or_null(fill.low);
    out["high"] = base::number_or_null(fill.high);
  }
  if (fill.kind == Fill::normal) {
    out["mean"] = base::number_or_null(fill.mean);
    out["stddev"] = base::number_or_null(fill.stddev);
  }
  if (!fill.limit.empty()) out["limit"] = fill.limit;
  if (!fill.file.empty()) out["file"] = fill.file;
  if (!fill.symbol.empty()) out["symbol"] = fill.symbol;
  return out;
}

Json tensor_json(const Tensor& tensor) {
  const bool read = tensor.role == TensorRole::in || tensor.role == TensorRole::inout;
  return Json{{"name", tensor.name},
              {"role", to_string(tensor.role)},
              {"dtype", tensor.dtype ? Json(to_string(*tensor.dtype)) : Json(tensor.dtype_axis)},
              {"shape", texts(tensor.shape)},
              {"strides", texts(tensor.strides)},
              {"layout", tensor.layout},
              {"align", tensor.align},
              {"lifetime", to_string(tensor.lifetime)},
              {"cache", tensor.cache ? Json(to_string(*tensor.cache)) : Json(nullptr)},
              {"address", to_string(tensor.address)},
              {"fill", read ? fill_json(tensor.fill) : Json(nullptr)},
              {"compare", to_string(tensor.compare)},
              {"property", tensor.property},
              {"nan_meaningful", tensor.nan_meaningful},
              {"flush_subnormals", tensor.flush_subnormals},
              {"workspace", to_string(tensor.workspace)}};
}

Json scalar_json(const Scalar& scalar) {
  return Json{{"name", scalar.name},
              {"dtype", to_string(scalar.dtype)},
              {"value", scalar.expression ? Json(nullptr) : base::number_or_null(scalar.value)},
              {"expr", scalar.expression ? Json(scalar.expression->text()) : Json(nullptr)}};
}

Json shape_json(const ShapeCase& shape) {
  Json axes = Json::object();
  for (const auto& [name, value] : shape.axes) axes[name] = value;
  for (const auto& [name, value] : shape.dtypes) axes[name] = to_string(value);
  return Json{{"tag", shape.tag},
              {"axes", std::move(axes)},
              {"weight", base::number_or_null(shape.weight)}};
}

Json baseline_json(const BaselineSpec& baseline) {
  return Json{{"name", baseline.name},
              {"lane", to_string(baseline.lane)},
              {"entry", entry_json(baseline.entry)},
              {"sources", baseline.sources},
              {"flags", baseline.flags},
              {"kind", baseline.kind}};
}

Json judging_json(const Contract& contract) {
  const ToleranceSpec& tolerance = contract.tolerance;
  const Accept& accept = contract.accept;
  return Json{{"tolerance",
               {{"atol", optional_number(tolerance.atol)},
                {"rtol", optional_number(tolerance.rtol)},
                {"matched_ratio", optional_number(tolerance.matched_ratio)},
                {"max_error_cap", optional_number(tolerance.max_error_cap)},
                {"ratio_to_baseline", optional_number(tolerance.ratio_to_baseline)},
                {"accumulate", tolerance.accumulate}}},
              {"cost", {{"flops", contract.cost.flops}, {"bytes", contract.cost.bytes}}},
              {"accept",
               {{"clock", to_string(accept.clock)},
                {"cache", to_string(accept.cache)},
                {"min_gain", base::number_or_null(accept.min_gain)},
                {"max_regression", base::number_or_null(accept.max_regression)},
                {"alpha", base::number_or_null(accept.alpha)},
                {"second_opinion", accept.second_opinion}}}};
}

Json limits_json(const ResourceLimits& limits) {
  return Json{{"build_seconds", base::number_or_null(limits.build_seconds)},
              {"call_seconds", base::number_or_null(limits.call_seconds)},
              {"load_seconds", base::number_or_null(limits.load_seconds)},
              {"evaluation_seconds", base::number_or_null(limits.evaluation_seconds)},
              {"memory_bytes", limits.memory_bytes},
              {"output_bytes", limits.output_bytes},
              {"placements", limits.placements},
              {"pairs", limits.pairs},
              {"threads", limits.threads}};
}

} // namespace

Json to_json(const Contract& contract) {
  Json axes = Json::object(), tensors = Json::array(), scalars = Json::array();
  Json shapes = Json::array(), baselines = Json::array();
  Json tunables = Json::array(), gates = Json::array();
  for (const Axis& each : contract.axes) axes[each.name] = axis_json(each);
  for (const Tensor& each : contract.tensors) tensors.push_back(tensor_json(each));
  for (const Scalar& each : contract.scalars) scalars.push_back(scalar_json(each));
  for (const ShapeCase& each : contract.shapes) shapes.push_back(shape_json(each));
  for (const BaselineSpec& each : contract.baselines) baselines.push_back(baseline_json(each));
  for (const Tunable& each : contract.tunables)
    tunables.push_back(
        {{"name", each.name}, {"values", each.values}, {"constraint", each.constraint}});
  for (const GateSpec& each : contract.gates)
    gates.push_back(
        {{"name", each.name}, {"command", each.command}, {"read", each.read}, {"must", each.must}});
  Json judging = judging_json(contract);
  const ReferenceSpec& reference = contract.reference;
  return Json{{"format", contract.format},
              {"hash", contract.hash},
              {"kernel", kernel_json(contract.kernel)},
              {"axes", std::move(axes)},
              {"tensors", std::move(tensors)},
              {"scalars", std::move(scalars)},
              {"shapes", std::move(shapes)},
              {"reference",
               {{"lane", to_string(reference.lane)},
                {"entry", entry_json(reference.entry)},
                {"flags", reference.flags},
                {"precision", to_string(reference.precision)}}},
              {"baselines", std::move(baselines)},
              {"tolerance", std::move(judging["tolerance"])},
              {"cost", std::move(judging["cost"])},
              {"accept", std::move(judging["accept"])},
              {"tunables", std::move(tunables)},
              {"gates", std::move(gates)},
              {"limits", limits_json(contract.limits)}};
}

} // namespace ako::model
