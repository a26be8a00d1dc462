#include "loop/port/dispatch.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace ako::loop {
namespace {

std::string shape_text(const model::ShapeCase& shape) {
  std::string out;
  for (const auto& [name, value] : shape.axes)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  for (const auto& [name, dtype] : shape.dtypes)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, model::to_string(dtype));
  return out;
}

Proven::Range range_of(const model::Axis& axis, const std::vector<model::ShapeCase>& measured,
                       const std::vector<model::ShapeCase>& judged) {
  Proven::Range out{axis.name, INT64_MAX, INT64_MIN, 0};
  for (const auto& shape : measured)
    if (const auto at = shape.axes.find(axis.name); at != shape.axes.end()) {
      out.low = std::min(out.low, at->second);
      out.high = std::max(out.high, at->second);
      out.multiple = std::gcd(out.multiple, at->second);
    }
  for (const auto& shape : judged)
    if (const auto at = shape.axes.find(axis.name);
        at != shape.axes.end() && at->second >= out.low && at->second <= out.high)
      out.multiple = std::gcd(out.multiple, at->second);
  out.multiple = std::max<std::int64_t>(out.multiple, 1);
  return out;
}

} // namespace

Proven proven_of(const model::Contract& contract, const std::vector<model::ShapeCase>& judged) {
  Proven out;
  for (const auto& axis : contract.axes) {
    if (axis.kind == model::Axis::Kind::var)
      out.ranges.push_back(range_of(axis, contract.shapes, judged));
    if (axis.kind != model::Axis::Kind::dtype) continue;
    Proven::Variants variants{axis.name, {}};
    for (const auto& shape : contract.shapes)
      if (const auto at = shape.dtypes.find(axis.name); at != shape.dtypes.end())
        if (std::find(variants.dtypes.begin(), variants.dtypes.end(), at->second) ==
            variants.dtypes.end())
          variants.dtypes.push_back(at->second);
    out.variants.push_back(std::move(variants));
  }
  for (const auto& shape : contract.shapes) out.shapes.push_back(shape_text(shape));
  return out;
}

std::string text_of(const Proven& proven) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  for (const auto& range : proven.ranges) {
    if (range.low == range.high) {
      add(fmt::format("{} == {}", range.name, range.low));
      continue;
    }
    add(fmt::format("{} <= {} <= {}{}", range.low, range.name, range.high,
                    range.multiple > 1 ? fmt::format(", {} % {} == 0", range.name, range.multiple)
                                       : std::string()));
  }
  for (const auto& variants : proven.variants) {
    std::string names;
    for (const auto dtype : variants.dtypes)
      names += (names.empty() ? "" : ", ") + std::string(model::to_string(dtype));
    add(variants.name + " in {" + names + "}");
  }
  return out.empty() ? "the one shape that the contract has" : out;
}

std::vector<std::string> argument_names(const model::Contract& contract) {
  if (!contract.kernel.args.empty()) return contract.kernel.args;
  std::vector<std::string> out;
  for (const auto& tensor : contract.tensors) out.push_back(tensor.name);
  for (const auto& scalar : contract.scalars) out.push_back(scalar.name);
  for (const auto& axis : contract.axes)
    if (axis.kind == model::Axis::Kind::var) out.push_back(axis.name);
  return out;
}

bool is_python(model::Lane lane) {
  return lane == model::Lane::triton || lane == model::Lane::cute_dsl;
}

} // namespace ako::loop
