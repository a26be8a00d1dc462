// From a request to a build plan: one step that checks the sources and bundles them.
#include "lanes/native/tools.hpp"
#include "lanes/triton/driver.hpp"
#include "lanes/triton/interpreter.hpp"
#include "lanes/triton/python.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::lanes::triton {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;
using namespace native;

namespace {

constexpr const char* k_order_file = "ako_order.json";
constexpr const char* k_bundle_file = "ako_bundle.json";
constexpr const char* k_dep_file = "ako_bundle.d";
constexpr std::string_view k_slow_flag = "-DAKO_PLANT_SLOW_DOWN=";

template <class List> int index_of(const List& list, const std::string& name) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return static_cast<int>(i);
  return -1;
}

Json argument(const char* kind, int index, const std::string& name) {
  return {{"kind", kind}, {"index", index}, {"name", name}};
}

/// kernel.args, else tensors, scalars, var axes. The stream is the current one of torch; it is
/// handed over as well where the arguments of a Python kernel name it.
Expected<Json> arguments_of(model::Lane lane, const model::Contract& contract) {
  Json list = Json::array();
  auto names = contract.kernel.args;
  if (names.empty()) {
    for (const auto& tensor : contract.tensors) names.push_back(tensor.name);
    for (const auto& scalar : contract.scalars) names.push_back(scalar.name);
    for (const auto& axis : contract.axes)
      if (axis.kind == model::Axis::Kind::var) names.push_back(axis.name);
  }
  for (const auto& name : names) {
    if (const int tensor = index_of(contract.tensors, name); tensor >= 0)
      list.push_back(argument("tensor", tensor, name));
    else if (const int scalar = index_of(contract.scalars, name); scalar >= 0)
      list.push_back(argument("scalar", scalar, name));
    else if (const int axis = index_of(contract.axes, name); axis >= 0)
      list.push_back(argument("axis", axis, name));
    else if (name == "stream") {
      if (contract.kernel.lane == lane) list.push_back(argument("stream", 0, name));
    } else
      return fail(ErrorKind::invalid, "an argument of the entry is nothing of the contract's",
                  {.where = "kernel.args",
                   .found = name,
                   .allowed = "names of tensors, scalars and axes, or stream",
                   .next = "correct kernel.args"});
  }
  return list;
}

/// Flags are what Python has none of: the planted slow-down alone means something.
Expected<int> slow_down_of(const Unit& unit) {
  int share = 0;
  for (const auto& flag : unit.flags) {
    if (!flag.starts_with(k_slow_flag))
      return fail(ErrorKind::invalid, "a Python file is compiled with no flags",
                  {.where = "flags",
                   .found = flag,
                   .allowed = "none; options of a kernel stand at its launch",
                   .next = "remove the flag"});
    share = std::atoi(flag.c_str() + k_slow_flag.size());
  }
  return share;
}

/// A unit's flags belong to another lane when the role has none of its own.
Expected<Unit> python_unit(model::Lane lane, const BuildRequest& request) {
  AKO_TRY(Unit unit, unit_of(request));
  if (request.contract->kernel.lane == lane) return unit;
  std::erase_if(unit.flags, [](const std::string& flag) { return flag.starts_with(k_slow_flag); });
  unit.prepare.clear();
  unit.plan.clear();
  return unit;
}

} // namespace

Expected<Tool> find_tool_in(model::Lane lane, const model::Contract& contract,
                            const Surroundings& around) {
  return find_interpreter(contract.kernel.lane == lane ? contract.kernel.compiler : "", around);
}

Expected<Tool> Driver::find_tool(const model::Contract& contract,
                                 const Surroundings& around) const {
  return find_tool_in(lane(), contract, around);
}

Expected<model::BuildPlan> Driver::plan(const BuildRequest& request, const Tool& tool,
                                        const Surroundings& around) const {
  return plan_in(lane(), request, tool, around);
}

Expected<model::BuildPlan> plan_in(model::Lane lane, const BuildRequest& request, const Tool& tool,
                                   const Surroundings& around) {
  AKO_TRY(const Unit unit, python_unit(lane, request));
  AKO_TRY_STATUS(check_sources(request, unit));
  AKO_TRY(const base::fs::path package, worker_package());
  AKO_TRY(const int slow_down, slow_down_of(unit));
  Json order = {{"role", request.role == Role::reference ? "reference" : "measured"},
                {"entry", {{"file", unit.entry.file}, {"symbol", unit.entry.symbol}}},
                {"prepare", unit.prepare},
                {"plan", unit.plan},
                {"slow_down", slow_down},
                {"lane", model::to_string(lane)},
                {"roots", request.contract->kernel.lane == lane
                              ? request.contract->kernel.include_dirs
                              : std::vector<std::string>()},
                {"output", k_bundle_file},
                {"depfile", k_dep_file}};
  AKO_TRY(order["arguments"], arguments_of(lane, *request.contract));
  order["staged"] = Json::array();
  for (const auto& file : request.sources.texts) order["staged"].push_back(file.path);

  model::BuildPlan plan;
  plan.label = label_of(request.role, request.baseline);
  plan.snapshot = request.sources.snapshot.hash;
  plan.task_dir = request.task_dir.string();
  plan.files = request.sources.texts;
  plan.files.push_back({k_order_file, base::dump_json(order, 1), false});
  model::BuildStep step;
  step.label = "bundle " + unit.entry.file;
  step.argv = {tool.path, "-B", (package / "bundle.py").string(), k_order_file};
  step.inputs = {k_order_file};
  step.outputs = {k_bundle_file};
  plan.steps.push_back(std::move(step));
  plan.depfiles = {k_dep_file};
  plan.system_dirs = tool.system_dirs;
  plan.library = k_bundle_file;
  plan.environment = compiler_environment(around);
  plan.deadline_seconds = request.contract->limits.build_seconds;
  plan.tool_identity = tool.identity;
  base::Hasher hasher;
  hasher.add_field("triton lane 1").add_field(tool.identity);
  for (const auto& file : plan.files) hasher.add_field(file.path).add_field(file.content);
  AKO_TRY(const auto bundler, base::sha256_file(package / "bundle.py"));
  hasher.add_field(bundler);
  for (const auto& entry : passed_on(plan.environment)) hasher.add_field(entry);
  plan.key = hasher.finish();
  return plan;
}

Probe Driver::probe(const std::string& compiler, const Surroundings& around,
                    const base::fs::path&) const {
  Probe probe;
  auto tool = find_interpreter(compiler, around, &probe.looked);
  if (!tool) {
    probe.summary = tool.error().message + ": " + tool.error().found;
    probe.next = tool.error().next;
    return probe;
  }
  probe.tool = *tool;
  const bool torch = tool->version.find(", torch ") != std::string::npos;
  const bool triton = tool->version.find(", triton ") != std::string::npos;
  probe.works = torch && triton;
  probe.summary = fmt::format("{} at {}, chosen by {}", tool->version, tool->path, tool->chosen_by);
  if (!probe.works) {
    probe.summary += fmt::format("; {} missing: references and baselines over {} alone",
                                 torch    ? "triton is"
                                 : triton ? "torch is"
                                          : "torch and triton are",
                                 torch ? "torch" : "numpy");
    probe.next =
        "install torch and triton there, or name another interpreter in kernel.compiler or "
        "AKO_PYTHON";
  }
  return probe;
}

} // namespace ako::lanes::triton
