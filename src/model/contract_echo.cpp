#include "model/contract_toml.hpp"

#include <cmath>
#include <fmt/format.h>

namespace ako::model {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    else out += c;
  }
  return out + "\"";
}

namespace {

/// Shortest text that reads back as the same double, always with a mark of a float.
std::string number(double value) {
  std::string out = fmt::format("{}", value);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string flag(bool value) { return value ? "true" : "false"; }

template <class List, class Show> std::string list(const List& items, Show show) {
  std::string out = "[";
  for (const auto& each : items) out += (out.size() == 1 ? "" : ", ") + show(each);
  return out + "]";
}

std::string strings(const std::vector<std::string>& items) { return list(items, toml_string); }
std::string expressions(const std::vector<Expression>& items) {
  return list(items, [](const Expression& each) { return toml_string(each.text()); });
}

/// Collects "key = value" lines under headings.
class Writer {
public:
  std::string text;

  void heading(std::string_view name) { text += fmt::format("\n{}\n", name); }
  void line(std::string_view key, const std::string& value) {
    text += fmt::format("{} = {}\n", key, value);
  }
  void words(std::string_view key, std::string_view value) { line(key, toml_string(value)); }
  /// Nothing for an empty text: the key has no default to spell out.
  void words_if_any(std::string_view key, std::string_view value) {
    if (!value.empty()) words(key, value);
  }
  void entry(const EntryRef& entry) {
    line("entry", fmt::format("{{ file = {}, symbol = {} }}", toml_string(entry.file),
                              toml_string(entry.symbol)));
  }
};

void write_kernel(Writer& out, const Kernel& kernel) {
  out.heading("[kernel]");
  out.words("name", kernel.name);
  out.words("lane", to_string(kernel.lane));
  out.entry(kernel.entry);
  out.line("sources", strings(kernel.sources));
  out.line("include_dirs", strings(kernel.include_dirs));
  out.line("flags", strings(kernel.flags));
  out.words_if_any("compiler", kernel.compiler);
  out.line("architectures", strings(kernel.architectures));
  out.words("workload", to_string(kernel.workload));
  out.line("call_sites", strings(kernel.call_sites));
  out.words_if_any("prepare", kernel.prepare);
  out.words_if_any("plan", kernel.plan);
  out.line("args", strings(kernel.args));
  out.line("in_place", flag(kernel.in_place));
  out.line("deterministic", flag(kernel.deterministic));
  out.line("batch_invariant", flag(kernel.batch_invariant));
  out.line("capturable", flag(kernel.capturable));
  out.words("library_calls", to_string(kernel.library_calls));
  out.words("precision", to_string(kernel.precision));
}

std::string axis_text(const Axis& axis) {
  switch (axis.kind) {
  case Axis::Kind::constant: return fmt::format("{{ const = {} }}", axis.value);
  case Axis::Kind::expr:
    return fmt::format("{{ expr = {} }}", toml_string(axis.expression->text()));
  case Axis::Kind::dtype:
    return fmt::format("{{ dtype = {} }}",
                       list(axis.dtypes, [](Dtype each) { return toml_string(to_string(each)); }));
  case Axis::Kind::var: break;
  }
  const std::string tile = axis.tile ? fmt::format(", tile = {}", *axis.tile) : "";
  return fmt::format("{{ var = true, min = {}, max = {}, multiple_of = {}{} }}", axis.min, axis.max,
                     axis.multiple_of, tile);
}

std::string fill_text(const FillSpec& fill) {
  std::string out = "{ kind = " + toml_string(to_string(fill.kind));
  switch (fill.kind) {
  case Fill::uniform:
    out += fmt::format(", low = {}, high = {}", number(fill.low), number(fill.high));
    break;
  case Fill::normal:
    out += fmt::format(", mean = {}, stddev = {}", number(fill.mean), number(fill.stddev));
    break;
  case Fill::index:
  case Fill::offsets: out += ", limit = " + toml_string(fill.limit); break;
  case Fill::permutation: break;
  case Fill::recorded: out += ", file = " + toml_string(fill.file); break;
  case Fill::custom:
    out +=
        fmt::format(", file = {}, symbol = {}", toml_string(fill.file), toml_string(fill.symbol));
    break;
  }
  return out + " }";
}

void write_tensor(Writer& out, const Tensor& tensor) {
  out.heading("[[tensor]]");
  out.words("name", tensor.name);
  out.words("role", to_string(tensor.role));
  out.words("dtype", tensor.dtype ? to_string(*tensor.dtype) : tensor.dtype_axis);
  out.line("shape", expressions(tensor.shape));
  if (tensor.layout.empty()) out.line("strides", expressions(tensor.strides));
  else out.words("layout", tensor.layout);
  out.line("align", std::to_string(tensor.align));
  out.words("lifetime", to_string(tensor.lifetime));
  if (tensor.cache) out.words("cache", to_string(*tensor.cache));
  out.words("address", to_string(tensor.address));
  if (tensor.role == TensorRole::in || tensor.role == TensorRole::inout)
    out.line("fill", fill_text(tensor.fill));
  if (tensor.role == TensorRole::out || tensor.role == TensorRole::inout) {
    out.words("compare", to_string(tensor.compare));
    out.words_if_any("property", tensor.property);
    out.line("nan_meaningful", flag(tensor.nan_meaningful));
    out.line("flush_subnormals", flag(tensor.flush_subnormals));
  }
  if (tensor.role == TensorRole::workspace) out.words("workspace", to_string(tensor.workspace));
}

void write_scalar(Writer& out, const Scalar& scalar) {
  out.heading("[[scalar]]");
  out.words("name", scalar.name);
  out.words("dtype", to_string(scalar.dtype));
  if (scalar.expression) out.words("expr", scalar.expression->text());
  else if (class_of(scalar.dtype) == DtypeClass::floating) out.line("value", number(scalar.value));
  else if (scalar.dtype == Dtype::boolean) out.line("value", flag(scalar.value != 0));
  else out.line("value", fmt::format("{:.0f}", scalar.value));
}

void write_shape(Writer& out, const Contract& contract, const ShapeCase& shape) {
  out.heading("[[shape]]");
  out.words("tag", shape.tag);
  for (const Axis& axis : contract.axes) {
    if (axis.kind == Axis::Kind::var) out.line(axis.name, std::to_string(shape.axes.at(axis.name)));
    if (axis.kind == Axis::Kind::dtype) out.words(axis.name, to_string(shape.dtypes.at(axis.name)));
  }
  out.line("weight", number(shape.weight));
}

void write_implementations(Writer& out, const Contract& contract) {
  out.heading("[reference]");
  out.words("lane", to_string(contract.reference.lane));
  out.entry(contract.reference.entry);
  out.line("flags", strings(contract.reference.flags));
  out.words("precision", to_string(contract.reference.precision));
  for (const BaselineSpec& each : contract.baselines) {
    out.heading("[[baseline]]");
    out.words("name", each.name);
    out.words("lane", to_string(each.lane));
    out.entry(each.entry);
    out.line("sources", strings(each.sources));
    out.line("flags", strings(each.flags));
    out.words("kind", each.kind);
  }
}

void write_judging(Writer& out, const Contract& contract) {
  const ToleranceSpec& tolerance = contract.tolerance;
  out.heading("[tolerance]");
  if (tolerance.atol) out.line("atol", number(*tolerance.atol));
  if (tolerance.rtol) out.line("rtol", number(*tolerance.rtol));
  if (tolerance.matched_ratio) out.line("matched_ratio", number(*tolerance.matched_ratio));
  if (tolerance.max_error_cap) out.line("max_error_cap", number(*tolerance.max_error_cap));
  if (tolerance.ratio_to_baseline)
    out.line("ratio_to_baseline", number(*tolerance.ratio_to_baseline));
  out.words_if_any("accumulate", tolerance.accumulate);
  out.heading("[cost]");
  out.words_if_any("flops", contract.cost.flops);
  out.words_if_any("bytes", contract.cost.bytes);
  out.heading("[accept]");
  out.words("clock", to_string(contract.accept.clock));
  out.words("cache", to_string(contract.accept.cache));
  out.line("min_gain", number(contract.accept.min_gain));
  out.line("max_regression", number(contract.accept.max_regression));
  out.line("alpha", number(contract.accept.alpha));
  out.line("second_opinion", flag(contract.accept.second_opinion));
}

std::string value_text(const base::Json& value) {
  if (value.is_string()) return toml_string(value.get<std::string>());
  if (value.is_boolean()) return flag(value.get<bool>());
  if (value.is_number_float()) return number(value.get<double>());
  return value.dump();
}

void write_extras(Writer& out, const Contract& contract) {
  for (const Tunable& each : contract.tunables) {
    out.heading("[[tunable]]");
    out.words("name", each.name);
    out.line("values", list(each.values, value_text));
    out.words_if_any("constraint", each.constraint);
  }
  for (const GateSpec& each : contract.gates) {
    out.heading("[[gate]]");
    out.words("name", each.name);
    out.words("command", each.command);
    out.words("read", each.read);
    out.words("must", each.must);
  }
  const ResourceLimits& limits = contract.limits;
  out.heading("[limits]");
  out.line("build_seconds", number(limits.build_seconds));
  out.line("call_seconds", number(limits.call_seconds));
  out.line("load_seconds", number(limits.load_seconds));
  out.line("evaluation_seconds", number(limits.evaluation_seconds));
  out.line("memory_bytes", std::to_string(limits.memory_bytes));
  out.line("output_bytes", std::to_string(limits.output_bytes));
  out.line("placements", std::to_string(limits.placements));
  out.line("pairs", std::to_string(limits.pairs));
  out.line("threads", std::to_string(limits.threads));
}

} // namespace

std::string echo_toml(const Contract& contract) {
  Writer out;
  out.line("format", std::to_string(contract.format));
  write_kernel(out, contract.kernel);
  out.heading("[axes]");
  for (const Axis& axis : contract.axes) out.line(axis.name, axis_text(axis));
  for (const Tensor& each : contract.tensors) write_tensor(out, each);
  for (const Scalar& each : contract.scalars) write_scalar(out, each);
  for (const ShapeCase& each : contract.shapes) write_shape(out, contract, each);
  write_implementations(out, contract);
  write_judging(out, contract);
  write_extras(out, contract);
  return out.text;
}

} // namespace ako::model
