// bench/bench_<kernel>.cpp: the contract's shapes as a table, and a program that times them.
#include "lanes/native/microbench.hpp"
#include "base/shell.hpp"
#include "lanes/cpu/driver.hpp"
#include "lanes/cpu/microbench_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::lanes::cpu {

using namespace native;
using base::Expected;

namespace {

std::string compile_line(const model::Contract& contract, const std::vector<std::string>& flags) {
  std::string words = contract.kernel.compiler.empty() ? "g++" : contract.kernel.compiler;
  for (const auto& flag : flags)
    if (flag != "-fPIC" && flag != "-fvisibility=hidden" && !flag.starts_with("-fdiagnostics"))
      words += " " + base::shell_word(flag);
  for (const auto& dir : contract.kernel.include_dirs) words += " " + base::shell_word("-I" + dir);
  for (const auto& source : contract.kernel.sources) words += " " + base::shell_word(source);
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
                      tensor_rows(contract, shapes[0], WarmColumn::written),
                      case_rows(contract, shapes), cold,
                      unit.prepare.empty() ? "nullptr" : "call_prepare",
                      unit.plan.empty() ? "nullptr" : "call_plan");
  return model::SourceText{fmt::format("bench/bench_{}.cpp", contract.kernel.name), std::move(text),
                           false};
}

} // namespace ako::lanes::cpu
