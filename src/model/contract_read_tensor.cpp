#include "model/contract_read.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::model {

using base::Status;

namespace {

constexpr std::int64_t k_most_align = 4096; // arenas begin at pages
constexpr double k_exact_integer = 9007199254740992.0;

bool any(double) { return true; }
bool positive(double value) { return value > 0; }

bool is_read(TensorRole role) { return role == TensorRole::in || role == TensorRole::inout; }
bool is_written(TensorRole role) { return role == TensorRole::out || role == TensorRole::inout; }

Status read_dtype(const Reading& reading, const Section& section, Tensor& tensor) {
  AKO_TRY_STATUS(section.require("dtype"));
  std::string text;
  AKO_TRY_STATUS(section.read("dtype", text));
  tensor.dtype = dtype_from(text);
  if (tensor.dtype) return {};
  const Axis* axis = find_axis(reading.contract, text);
  if (axis && axis->kind == Axis::Kind::dtype) {
    tensor.dtype_axis = text;
    return {};
  }
  std::vector<std::string> known;
  for (const Dtype each : all_dtypes()) known.emplace_back(to_string(each));
  for (const Axis& each : reading.contract.axes)
    if (each.kind == Axis::Kind::dtype) known.push_back(each.name);
  return section.error("dtype", fmt::format("unknown dtype '{}'", text), join(known),
                       axis ? fmt::format("axis '{}' is a number, not a dtype axis", text)
                            : did_you_mean(text, known));
}

Status read_expressions(const Reading& reading, const Section& section, std::string_view key,
                        std::vector<Expression>& into) {
  AKO_TRY_STATUS(section.read(key, into));
  for (std::size_t i = 0; i < into.size(); ++i)
    AKO_TRY_STATUS(check_names(reading, section, section.node(key)->items[i], key, into[i]));
  return {};
}

Status read_place(const Reading& reading, const Section& section, Tensor& tensor) {
  AKO_TRY_STATUS(section.require("shape"));
  AKO_TRY_STATUS(read_expressions(reading, section, "shape", tensor.shape));
  AKO_TRY_STATUS(check_count(section, tensor.shape.size(), 16, "dimensions"));
  AKO_TRY_STATUS(read_expressions(reading, section, "strides", tensor.strides));
  if (section.has("strides") && tensor.strides.size() != tensor.shape.size())
    return section.error("strides", "'strides' and 'shape' differ in length",
                         fmt::format("{} strides", tensor.shape.size()));
  AKO_TRY_STATUS(section.read("layout", tensor.layout));
  if (section.has("layout") && section.has("strides"))
    return section.error("layout", "'layout' and 'strides' exclude each other", "one of them");
  const std::vector<std::string> layouts{"row_major", "column_major"};
  if (!tensor.layout.empty() && tensor.layout != layouts[0] && tensor.layout != layouts[1])
    return section.error("layout", fmt::format("unknown layout '{}'", tensor.layout), join(layouts),
                         did_you_mean(tensor.layout, layouts));
  if (tensor.layout.empty() && tensor.strides.empty()) tensor.layout = layouts[0];
  AKO_TRY_STATUS(section.read("align", tensor.align, {1, k_most_align}));
  int bits = 8;
  for (const Dtype each : dtypes_of(reading.contract, tensor)) bits = std::max(bits, bits_of(each));
  const bool power = (tensor.align & (tensor.align - 1)) == 0;
  if (!power || tensor.align * 8 < bits)
    return section.error("align",
                         power ? "'align' is below the size of an element"
                               : "'align' is not a power of two",
                         fmt::format("a power of two from {} to {}", bits / 8, k_most_align));
  return {};
}

// -- fill -----------------------------------------------------------------------------------------

struct FillKeys {
  Fill kind;
  std::vector<const char*> keys;     ///< besides kind
  std::vector<const char*> required; ///< of those
};

const FillKeys& keys_of(Fill kind) {
  static const FillKeys k_rows[] = {{Fill::uniform, {"low", "high"}, {}},
                                    {Fill::normal, {"mean", "stddev"}, {}},
                                    {Fill::index, {"limit"}, {"limit"}},
                                    {Fill::offsets, {"limit"}, {"limit"}},
                                    {Fill::permutation, {}, {}},
                                    {Fill::recorded, {"file"}, {"file"}},
                                    {Fill::custom, {"file", "symbol"}, {"file", "symbol"}}};
  for (const FillKeys& each : k_rows)
    if (each.kind == kind) return each;
  base::check_failed("keys_of", __FILE__, __LINE__, "every fill has its keys");
}

Status check_fill_keys(const Section& fill, Fill kind) {
  const FillKeys& row = keys_of(kind);
  for (const char* key : {"low", "high", "mean", "stddev", "limit", "file", "symbol"}) {
    bool belongs = false;
    for (const char* each : row.keys) belongs = belongs || std::string_view(each) == key;
    if (!belongs && fill.has(key)) {
      std::vector<std::string> known{"kind"};
      known.insert(known.end(), row.keys.begin(), row.keys.end());
      return fill.error(key, fmt::format("'{}' does not belong to fill {}", key, to_string(kind)),
                        join(known));
    }
  }
  for (const char* key : row.required) AKO_TRY_STATUS(fill.require(key));
  return {};
}

Status check_range(const Section& fill, const FillSpec& spec, Dtype dtype) {
  if (spec.low > spec.high || (spec.low == spec.high && spec.low == 0))
    return fill.error(fill.has("high") ? "high" : "low", "the range of fill uniform is empty",
                      fmt::format("low below high; low is {}, high is {}", spec.low, spec.high));
  if (dtype == Dtype::float8_e8m0fnu && spec.low <= 0)
    return fill.error("low", "float8_e8m0fnu holds positive values alone", "above 0");
  if (class_of(dtype) == DtypeClass::floating) return {};
  const IntegerRange range = integer_range(dtype);
  for (const char* key : {"low", "high"}) {
    const double value = std::string_view(key) == "low" ? spec.low : spec.high;
    if (value != std::floor(value) || value < range.low || value > range.high ||
        std::fabs(value) > k_exact_integer)
      return fill.error(key, fmt::format("'{}' is no value of {}", key, to_string(dtype)),
                        fmt::format("integers from {:.0f} to {:.0f}",
                                    std::max(range.low, -k_exact_integer),
                                    std::min(range.high, k_exact_integer)));
  }
  return {};
}

Status check_fill_dtype(const Section& fill, const FillSpec& spec, Dtype dtype) {
  const bool floating = class_of(dtype) == DtypeClass::floating;
  if (spec.kind == Fill::uniform) return check_range(fill, spec, dtype);
  if (spec.kind == Fill::normal && (!floating || dtype == Dtype::float8_e8m0fnu))
    return fill.error("kind", fmt::format("fill normal cannot fill {}", to_string(dtype)),
                      "uniform, index, offsets, permutation, recorded, custom");
  const bool counts =
      spec.kind == Fill::index || spec.kind == Fill::offsets || spec.kind == Fill::permutation;
  if (counts && class_of(dtype) != DtypeClass::integer)
    return fill.error("kind",
                      fmt::format("fill {} cannot fill {}", to_string(spec.kind), to_string(dtype)),
                      "an integer dtype, or fill uniform, normal, recorded, custom");
  return {};
}

Status read_fill_table(const Reading& reading, const Section& fill, FillSpec& spec) {
  AKO_TRY_STATUS(fill.known_keys_only());
  AKO_TRY_STATUS(fill.require("kind"));
  AKO_TRY_STATUS(check_fill_keys(fill, spec.kind));
  AKO_TRY_STATUS(fill.read("low", spec.low, {any, "a number"}));
  AKO_TRY_STATUS(fill.read("high", spec.high, {any, "a number"}));
  AKO_TRY_STATUS(fill.read("mean", spec.mean, {any, "a number"}));
  AKO_TRY_STATUS(fill.read("stddev", spec.stddev, {positive, "a number above 0"}));
  std::optional<Expression> limit;
  AKO_TRY_STATUS(fill.read("limit", limit));
  if (limit) {
    AKO_TRY_STATUS(check_names(reading, fill, *fill.node("limit"), "limit", *limit));
    spec.limit = limit->text();
  }
  AKO_TRY_STATUS(fill.read("file", spec.file));
  if (!spec.file.empty()) AKO_TRY_STATUS(check_path(fill, *fill.node("file"), "file", spec.file));
  AKO_TRY_STATUS(fill.read("symbol", spec.symbol));
  return check_symbol(fill, "symbol", spec.symbol, Lane::cpu);
}

Status read_fill(const Reading& reading, const Section& section, Tensor& tensor) {
  const std::vector<Dtype> dtypes = dtypes_of(reading.contract, tensor);
  const TomlNode* node = section.node("fill");
  if (!is_read(tensor.role)) {
    if (node)
      return section.error("fill",
                           fmt::format("a tensor of role {} is not filled", to_string(tensor.role)),
                           "leave it out");
    return {};
  }
  tensor.fill = default_fill(dtypes.front());
  if (!node) return {};
  // fill = "normal" is short for fill = { kind = "normal" }.
  TomlNode table = *node;
  if (node->kind == TomlNode::Kind::string) {
    table = TomlNode{};
    table.place = node->place;
    table.members.push_back({"kind", node->place, *node});
  } else if (node->kind != TomlNode::Kind::table) {
    return section.error("fill", "'fill' has the wrong type", "a kind of fill, or a table");
  }
  const Section fill(section.file(), section.path() + ".fill", table, node->place, "fill");
  const Fill usual = tensor.fill.kind;
  AKO_TRY_STATUS(fill.read_enum("kind", tensor.fill.kind));
  if (tensor.fill.kind != usual) {
    const Fill kind = tensor.fill.kind;
    tensor.fill = {}; // the dtype's own range belonged to its usual fill
    tensor.fill.kind = kind;
  }
  AKO_TRY_STATUS(read_fill_table(reading, fill, tensor.fill));
  for (const Dtype dtype : dtypes) AKO_TRY_STATUS(check_fill_dtype(fill, tensor.fill, dtype));
  return {};
}

// -- how it is judged -----------------------------------------------------------------------------

Status read_compare(const Reading& reading, const Section& section, Tensor& tensor) {
  if (!is_written(tensor.role)) {
    for (const char* key : {"compare", "property", "nan_meaningful", "flush_subnormals"})
      if (section.has(key))
        return section.error(
            key, fmt::format("a tensor of role {} is not judged", to_string(tensor.role)),
            "leave it out");
    return {};
  }
  tensor.compare = default_compare(dtypes_of(reading.contract, tensor).front());
  AKO_TRY_STATUS(section.read_enum("compare", tensor.compare));
  AKO_TRY_STATUS(section.read("nan_meaningful", tensor.nan_meaningful));
  AKO_TRY_STATUS(section.read("flush_subnormals", tensor.flush_subnormals));
  AKO_TRY_STATUS(section.read("property", tensor.property));
  if (tensor.compare != Compare::property) {
    if (section.has("property"))
      return section.error("property", "'property' needs compare = \"property\"", "leave it out");
    return {};
  }
  AKO_TRY_STATUS(section.require("property"));
  const auto parsed = parse_property(tensor.property);
  if (!parsed) return section.error("property", parsed.error().message, parsed.error().allowed);
  return {};
}

Status read_life(const Section& section, Tensor& tensor) {
  if (tensor.role == TensorRole::workspace) tensor.lifetime = Lifetime::static_;
  AKO_TRY_STATUS(section.read_enum("lifetime", tensor.lifetime));
  if (tensor.lifetime == Lifetime::static_ && is_written(tensor.role))
    return section.error("lifetime", "a tensor that a call writes cannot be static", "fresh");
  AKO_TRY_STATUS(section.read_enum("cache", tensor.cache));
  AKO_TRY_STATUS(section.read_enum("address", tensor.address));
  if (section.has("workspace") && tensor.role != TensorRole::workspace)
    return section.error("workspace", "'workspace' belongs to role workspace", "leave it out");
  return section.read_enum("workspace", tensor.workspace);
}

Status read_scalar(const Reading& reading, const Section& section, Scalar& scalar) {
  AKO_TRY_STATUS(section.known_keys_only());
  AKO_TRY_STATUS(section.require("name"));
  AKO_TRY_STATUS(section.read("name", scalar.name));
  AKO_TRY_STATUS(check_identifier(section, "name"));
  if (section.has("value") == section.has("expr"))
    return section.error("", "a scalar has exactly one of value and expr", "value, or expr");
  AKO_TRY_STATUS(section.read("expr", scalar.expression));
  if (scalar.expression) {
    AKO_TRY_STATUS(
        check_names(reading, section, *section.node("expr"), "expr", *scalar.expression));
    scalar.dtype = Dtype::int64;
  }
  if (!section.has("dtype")) return {};
  std::string text;
  AKO_TRY_STATUS(section.read("dtype", text));
  std::vector<std::string> known;
  for (const Dtype each : all_dtypes()) {
    const bool number = each == Dtype::float64 || each == Dtype::float32 ||
                        (class_of(each) != DtypeClass::floating && each != Dtype::int4);
    if (number && (!scalar.expression || class_of(each) == DtypeClass::integer))
      known.emplace_back(to_string(each));
  }
  const auto dtype = dtype_from(text);
  if (!dtype || std::find(known.begin(), known.end(), text) == known.end())
    return section.error("dtype", fmt::format("'{}' cannot be the dtype of this scalar", text),
                         join(known), did_you_mean(text, known));
  scalar.dtype = *dtype;
  return {};
}

Status read_scalar_value(const Section& section, Scalar& scalar) {
  const TomlNode* node = section.node("value");
  if (!node) return {};
  if (scalar.dtype == Dtype::boolean && node->kind == TomlNode::Kind::boolean) {
    scalar.value = node->boolean ? 1 : 0;
    return {};
  }
  if (class_of(scalar.dtype) == DtypeClass::floating) {
    AKO_TRY_STATUS(section.read("value", scalar.value, {any, "a finite number"}));
    if (scalar.dtype == Dtype::float32 && !std::isfinite(static_cast<float>(scalar.value)))
      return section.error("value", "'value' does not fit float32", "below 3.4e38");
    return {};
  }
  const IntegerRange range = integer_range(scalar.dtype);
  const auto low = static_cast<std::int64_t>(std::max(range.low, -k_exact_integer));
  const auto high = static_cast<std::int64_t>(std::min(range.high, k_exact_integer));
  std::int64_t value = 0;
  AKO_TRY_STATUS(section.read("value", value, {low, high}));
  scalar.value = static_cast<double>(value);
  return {};
}

} // namespace

Status read_tensors(const Reading& reading) {
  AKO_TRY(const auto list, sections(reading.file, reading.root, "tensor"));
  for (const Section& section : list) {
    Tensor tensor;
    AKO_TRY_STATUS(check_count(section, reading.contract.tensors.size() + 1, 128, "tensors"));
    AKO_TRY_STATUS(section.known_keys_only());
    AKO_TRY_STATUS(section.require("name"));
    AKO_TRY_STATUS(section.read("name", tensor.name));
    AKO_TRY_STATUS(check_identifier(section, "name"));
    AKO_TRY_STATUS(section.require("role"));
    AKO_TRY_STATUS(section.read_enum("role", tensor.role));
    AKO_TRY_STATUS(read_dtype(reading, section, tensor));
    AKO_TRY_STATUS(read_place(reading, section, tensor));
    AKO_TRY_STATUS(read_life(section, tensor));
    AKO_TRY_STATUS(read_fill(reading, section, tensor));
    AKO_TRY_STATUS(read_compare(reading, section, tensor));
    reading.contract.tensors.push_back(std::move(tensor));
  }
  return {};
}

Status read_scalars(const Reading& reading) {
  AKO_TRY(const auto list, sections(reading.file, reading.root, "scalar"));
  for (const Section& section : list) {
    Scalar scalar;
    AKO_TRY_STATUS(check_count(section, reading.contract.scalars.size() + 1, 128, "scalars"));
    AKO_TRY_STATUS(read_scalar(reading, section, scalar));
    AKO_TRY_STATUS(read_scalar_value(section, scalar));
    reading.contract.scalars.push_back(std::move(scalar));
  }
  return {};
}

} // namespace ako::model
