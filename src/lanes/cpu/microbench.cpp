// bench/bench_<kernel>.cpp: the contract's shapes as a table, and a program that times them.
#include "lanes/cpu/driver.hpp"
#include "lanes/cpu/microbench_text.hpp"
#include "lanes/native/shim.hpp"
#include "model/resolved.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::lanes::cpu {

using namespace native;
using base::Expected;

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

std::string tensor_rows(const model::Contract& contract, const model::ResolvedShape& shape) {
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
    rows += fmt::format("    {{\"{}\", \"{}\", {}, {}, {}, {}, bench::Fill::{}, {}, {}}},\n",
                        tensor.name, model::to_string(dtype), model::bits_of(dtype),
                        tensor.lifetime == model::Lifetime::fresh, filled, warm,
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
    else list.push_back(fmt::format("bench::Scalar{{scalars[{}]}}", argument.index));
  }
  return fmt::format("static int {}(void* const* tensors, const std::int64_t* integers, const "
                     "double* scalars, void*) {{\n  static_cast<void>(tensors), "
                     "static_cast<void>(integers), static_cast<void>(scalars);\n  return "
                     "bench::status_of([](auto... a) {{ return ::{}(a...); }}, {});\n}}\n\n",
                     name, symbol, fmt::join(list, ", "));
}

std::string compile_line(const model::Contract& contract, const std::vector<std::string>& flags) {
  std::string words = contract.kernel.compiler.empty() ? "g++" : contract.kernel.compiler;
  for (const auto& flag : flags)
    if (flag != "-fPIC" && flag != "-fvisibility=hidden" && !flag.starts_with("-fdiagnostics"))
      words += " " + flag;
  for (const auto& dir : contract.kernel.include_dirs) words += " -I" + dir;
  for (const auto& source : contract.kernel.sources) words += " " + source;
  return fmt::format("{} -I$AKO/include bench/bench_{}.cpp -L$AKO/lib -lako_measure "
                     "-Wl,-rpath,$AKO/lib -o bench/bench_{}",
                     words, contract.kernel.name, contract.kernel.name);
}

} // namespace

Expected<model::SourceText> Driver::microbench(const model::Contract& contract) const {
  BuildRequest request;
  request.contract = &contract;
  AKO_TRY(const Unit unit, unit_of(request));
  AKO_TRY(const auto flags, flags_of(unit, Role::candidate));
  AKO_TRY(const auto arguments, arguments_of(contract, model::Lane::cpu, Role::candidate));
  AKO_TRY(const auto shapes, model::resolve_all(contract));
  if (shapes.empty())
    return base::fail(base::ErrorKind::invalid, "a contract without shapes has no microbench",
                      {.where = "[[shape]]", .found = {}, .allowed = {}, .next = "add a shape"});
  const bool cold = contract.accept.cache == model::CacheState::cold;
  std::string text = fmt::format(
      "// {}\n"
      "// The line above compiles this microbench of {} in the task's folder; AKO is the folder "
      "ako "
      "is installed in.\n"
      "// It is yours to edit: it was written once and is not written again. With\n"
      "// -DKERNEL_FILE='\"../input/...\"' it times another version of the kernel.\n"
      "#ifndef KERNEL_FILE\n#define KERNEL_FILE \"../{}\"\n#endif\n#include KERNEL_FILE\n",
      compile_line(contract, flags), contract.kernel.name, unit.entry.file);
  text += k_microbench_text;
  text += "\n" + call_text("call_kernel", unit.entry.symbol, arguments);
  if (!unit.prepare.empty()) text += call_text("call_prepare", unit.prepare, arguments);
  if (!unit.plan.empty()) text += call_text("call_plan", unit.plan, arguments);
  text += fmt::format("int main() {{\n"
                      "  const std::vector<bench::Tensor> tensors = {{\n{}  }};\n"
                      "  const std::vector<bench::Case> cases = {{\n{}  }};\n"
                      "  ako_measure* context = nullptr;\n"
                      "  if (ako_measure_open(nullptr, &context) != AKO_MEASURE_OK) return 1;\n"
                      "  for (const auto& each : cases)\n"
                      "    bench::run_case(context, tensors, each, {}, call_kernel, {}, {});\n"
                      "  ako_measure_close(context);\n"
                      "}}\n",
                      tensor_rows(contract, shapes[0]), case_rows(contract, shapes), cold,
                      unit.prepare.empty() ? "nullptr" : "call_prepare",
                      unit.plan.empty() ? "nullptr" : "call_plan");
  return model::SourceText{fmt::format("bench/bench_{}.cpp", contract.kernel.name), std::move(text),
                           false};
}

} // namespace ako::lanes::cpu
