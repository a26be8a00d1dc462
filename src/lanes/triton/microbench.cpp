// bench/bench_<kernel>.py: the contract's shapes as a table, and a program that times them.
#include "base/json.hpp"
#include "lanes/triton/driver.hpp"
#include "lanes/triton/microbench_text.hpp"
#include "model/resolved.hpp"

#include <fmt/format.h>

namespace ako::lanes::triton {

using base::Expected;
using base::Json;

namespace {

Json tensor_json(const model::Tensor& declared, const model::ResolvedTensor& tensor) {
  return {{"dtype", std::string(model::to_string(tensor.dtype))},
          {"shape", tensor.shape},
          {"strides", tensor.strides},
          {"fill", model::to_string(declared.fill.kind)},
          {"low", declared.fill.low},
          {"high", declared.fill.high},
          {"mean", declared.fill.mean},
          {"stddev", declared.fill.stddev},
          {"limit", tensor.fill_limit}};
}

Json case_json(const model::Contract& contract, const model::ResolvedShape& shape) {
  Json tensors = Json::object(), numbers = Json::object();
  for (std::size_t i = 0; i < shape.tensors.size(); ++i)
    tensors[shape.tensors[i].name] = tensor_json(contract.tensors[i], shape.tensors[i]);
  for (const auto& [name, value] : shape.axes) numbers[name] = value;
  for (std::size_t i = 0; i < contract.scalars.size(); ++i) {
    const bool whole = model::class_of(contract.scalars[i].dtype) == model::DtypeClass::integer;
    if (whole) numbers[contract.scalars[i].name] = static_cast<std::int64_t>(shape.scalars[i]);
    else numbers[contract.scalars[i].name] = shape.scalars[i];
  }
  return {{"tag", shape.tag},   {"weight", shape.weight}, {"tensors", std::move(tensors)},
          {"numbers", numbers}, {"bytes", shape.bytes},   {"flops", shape.flops}};
}

std::vector<std::string> argument_names(const model::Contract& contract) {
  auto names = contract.kernel.args;
  if (!names.empty()) return names;
  for (const auto& tensor : contract.tensors) names.push_back(tensor.name);
  for (const auto& scalar : contract.scalars) names.push_back(scalar.name);
  for (const auto& axis : contract.axes)
    if (axis.kind == model::Axis::Kind::var) names.push_back(axis.name);
  return names;
}

} // namespace

Expected<model::SourceText> Driver::microbench(const model::Contract& contract) const {
  AKO_TRY(const auto shapes, model::resolve_all(contract));
  if (shapes.empty())
    return base::fail(base::ErrorKind::invalid, "a contract without shapes has no microbench",
                      {.where = "[[shape]]", .found = {}, .allowed = {}, .next = "add a shape"});
  Json cases = Json::array();
  for (const auto& shape : shapes) cases.push_back(case_json(contract, shape));
  const Json task = {{"file", contract.kernel.entry.file},
                     {"symbol", contract.kernel.entry.symbol},
                     {"roots", contract.kernel.include_dirs},
                     {"arguments", argument_names(contract)},
                     {"cold", contract.accept.cache == model::CacheState::cold},
                     {"cases", std::move(cases)}};
  std::string text = fmt::format("# python3 bench/bench_{0}.py [FILE]\n"
                                 "\"\"\"Stand-alone microbench of {0}, in the task's folder. It is "
                                 "yours to edit: it was written once and\n"
                                 "is not written again. With FILE it times another version of the "
                                 "kernel. Needs torch with CUDA.\"\"\"",
                                 contract.kernel.name);
  text += k_microbench_text;
  const std::string table = fmt::format("TASK = r'''\n{}\n'''\n\n\n", base::dump_json(task, 1));
  text.insert(text.find("def load("), table);
  return model::SourceText{fmt::format("bench/bench_{}.py", contract.kernel.name), std::move(text),
                           false};
}

} // namespace ako::lanes::triton
