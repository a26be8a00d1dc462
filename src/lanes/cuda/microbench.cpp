// bench/bench_<kernel>.cu: the contract's shapes as a table, and a program that times them.
#include "lanes/native/microbench.hpp"
#include "base/shell.hpp"
#include "lanes/cuda/driver.hpp"
#include "lanes/cuda/microbench_text.hpp"
#include "lanes/cuda/plan.hpp"

#include <fmt/format.h>

namespace ako::lanes::cuda {

using base::Expected;
using namespace native;

namespace {

std::string compile_line(const Dialect& dialect, const model::Contract& contract,
                         const Unit& unit) {
  std::string words = contract.kernel.compiler.empty() ? "nvcc" : contract.kernel.compiler;
  if (!any_starts(unit.flags, "-std=")) words += " " + dialect.standard;
  words += " -O3 -lineinfo";
  for (const auto& word : dialect.words) words += " " + word;
  for (const auto& architecture : contract.kernel.architectures)
    words += fmt::format(" -gencode arch=compute_{0},code=sm_{0}", architecture.substr(3));
  if (contract.kernel.architectures.empty()) words += " -arch=native";
  for (const auto& flag : unit.flags)
    if (!flag.starts_with("-O") && flag != "-lineinfo") words += " " + base::shell_word(flag);
  for (const auto& dir : contract.kernel.include_dirs) words += " " + base::shell_word("-I" + dir);
  for (const auto& source : unit.sources)
    if (source.ends_with(".cu") || source.ends_with(".cpp"))
      words += " " + base::shell_word(source);
  return fmt::format("{0} bench/bench_{1}.cu -o bench/bench_{1}", words, contract.kernel.name);
}

} // namespace

Expected<model::SourceText> microbench_in(const Dialect& dialect, const model::Contract& contract) {
  BuildRequest request;
  request.contract = &contract;
  AKO_TRY(const Unit unit, unit_of(request));
  AKO_TRY_STATUS(flags_of(unit, dialect).map([](const auto&) {}));
  AKO_TRY(const auto arguments, arguments_of(contract, dialect.lane, Role::candidate));
  AKO_TRY(const auto shapes, model::resolve_all(contract));
  if (shapes.empty())
    return base::fail(base::ErrorKind::invalid, "a contract without shapes has no microbench",
                      {.where = "[[shape]]", .found = {}, .allowed = {}, .next = "add a shape"});
  const bool cold = contract.accept.cache == model::CacheState::cold;
  std::string text = fmt::format(
      "// {}\n"
      "// The line above compiles this microbench of {} in the task's folder.\n"
      "// It is yours to edit: it was written once and is not written again. With\n"
      "// -DKERNEL_FILE='\"../input/...\"' it times another version of the kernel. Its times are\n"
      "// those of events around each call, queued behind a gate: about a microsecond more than\n"
      "// ako's device clock, which asks the device when its work began and ended.\n"
      "#ifndef KERNEL_FILE\n#define KERNEL_FILE \"../{}\"\n#endif\n#include KERNEL_FILE\n",
      compile_line(dialect, contract, unit), contract.kernel.name, unit.entry.file);
  text += k_microbench_text;
  text += "\n" + call_text("call_kernel", unit.entry.symbol, arguments);
  if (!unit.prepare.empty()) text += call_text("call_prepare", unit.prepare, arguments);
  if (!unit.plan.empty()) text += call_text("call_plan", unit.plan, arguments);
  text +=
      fmt::format("int main() {{\n"
                  "  const std::vector<bench::Tensor> tensors = {{\n{}  }};\n"
                  "  const std::vector<bench::Case> cases = {{\n{}  }};\n"
                  "  bench::Bench bench;\n"
                  "  for (const auto& each : cases)\n"
                  "    bench::run_case(bench, tensors, each, {}, call_kernel, {}, {});\n"
                  "}}\n",
                  tensor_rows(contract, shapes[0], WarmColumn::none), case_rows(contract, shapes),
                  cold, unit.prepare.empty() ? "nullptr" : "call_prepare",
                  unit.plan.empty() ? "nullptr" : "call_plan");
  return model::SourceText{fmt::format("bench/bench_{}.cu", contract.kernel.name), std::move(text),
                           false};
}

Expected<model::SourceText> Driver::microbench(const model::Contract& contract) const {
  return microbench_in({}, contract);
}

} // namespace ako::lanes::cuda
