#include "lanes/native/microbench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::lanes::native {

namespace {

const char* fill_name(model::Fill fill) {
  switch (fill) {
  case model::Fill::normal: return "normal";
  case model::Fill::index: return "index";
  case model::Fill::offsets: return "offsets";
  case model::Fill::permutation: return "permutation";
  case model::Fill::uniform:
  case model::Fill::recorded:
  case model::Fill::custom: break;
  }
  return "uniform";
}

std::vector<std::int64_t> integers_of(const model::Contract& contract,
                                      const model::ResolvedShape& shape) {
  std::vector<std::int64_t> list;
  for (const auto& axis : contract.axes) {
    if (const auto dtype = shape.dtypes.find(axis.name); dtype != shape.dtypes.end())
      list.push_back(static_cast<std::int64_t>(dtype->second));
    else if (const auto value = shape.axes.find(axis.name); value != shape.axes.end())
      list.push_back(value->second);
    else list.push_back(axis.value);
  }
  return list;
}

} // namespace

std::string tensor_rows(const model::Contract& contract, const model::ResolvedShape& shape,
                        WarmColumn warm_column) {
  std::string rows;
  for (std::size_t i = 0; i < contract.tensors.size(); ++i) {
    const auto& tensor = contract.tensors[i];
    const auto dtype = shape.tensors[i].dtype;
    const bool normal = tensor.fill.kind == model::Fill::normal;
    const bool known = normal || tensor.fill.kind == model::Fill::uniform;
    const bool warm = tensor.cache.value_or(contract.accept.cache) == model::CacheState::warm;
    const bool filled =
        tensor.role == model::TensorRole::in || tensor.role == model::TensorRole::inout;
    if (tensor.fill.kind == model::Fill::recorded || tensor.fill.kind == model::Fill::custom)
      rows += fmt::format("    // {}: ako uses the {} content; here it is uniform over [0, 1].\n",
                          tensor.name, model::to_string(tensor.fill.kind));
    rows += fmt::format("    {{\"{}\", \"{}\", {}, {}, {}{}, bench::Fill::{}, {}, {}}},\n",
                        tensor.name, model::to_string(dtype), model::bits_of(dtype),
                        tensor.lifetime == model::Lifetime::fresh, filled,
                        warm_column == WarmColumn::none ? ""
                        : warm                          ? ", true"
                                                        : ", false",
                        fill_name(tensor.fill.kind),
                        !known   ? 0.0
                        : normal ? tensor.fill.mean
                                 : tensor.fill.low,
                        !known   ? 1.0
                        : normal ? tensor.fill.stddev
                                 : tensor.fill.high);
  }
  return rows;
}

std::string case_rows(const model::Contract& contract,
                      const std::vector<model::ResolvedShape>& shapes) {
  std::string rows;
  for (const auto& shape : shapes) {
    std::string places;
    for (const auto& tensor : shape.tensors)
      places += fmt::format("{}{{{}, {}, {}.0}}", places.empty() ? "" : ", ", tensor.span_elements,
                            tensor.align, tensor.fill_limit);
    rows += fmt::format("    {{\"{}\", {}, {{{}}}, {{{}}}, {{{}}}, {}, {}}},\n", shape.tag,
                        shape.weight, fmt::join(integers_of(contract, shape), ", "),
                        fmt::join(shape.scalars, ", "), places, shape.flops, shape.bytes);
  }
  return rows;
}

std::string call_text(const std::string& name, const std::string& symbol,
                      const std::vector<Argument>& arguments) {
  std::vector<std::string> list;
  for (const auto& argument : arguments) {
    if (argument.kind == Argument::Kind::tensor)
      list.push_back(fmt::format("bench::Pointer{{tensors[{}]}}", argument.index));
    else if (argument.kind == Argument::Kind::axis)
      list.push_back(fmt::format("bench::Integer{{integers[{}]}}", argument.index));
    else if (argument.kind == Argument::Kind::stream)
      list.emplace_back("static_cast<cudaStream_t>(stream)");
    else list.push_back(fmt::format("bench::Scalar{{scalars[{}]}}", argument.index));
  }
  return fmt::format("static int {}(void* const* tensors, const std::int64_t* integers, const "
                     "double* scalars, void* stream) {{\n  static_cast<void>(tensors), "
                     "static_cast<void>(integers), static_cast<void>(scalars), "
                     "static_cast<void>(stream);\n  return "
                     "bench::status_of([](auto... a) {{ return ::{}(a...); }}, {});\n}}\n\n",
                     name, symbol, fmt::join(list, ", "));
}

} // namespace ako::lanes::native
