#include "loop/port/gate_runs.hpp"

#include "base/log.hpp"
#include "loop/interrupt.hpp"
#include "profiles/benchmarks.hpp"
#include "stats/instances.hpp"
#include "stats/summary.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

extern char** environ;

namespace ako::loop {
namespace {

constexpr std::size_t k_keep_bytes = 8 << 20;
constexpr double k_ratio_level = 0.95;

struct GateSides {
  std::vector<double> old_values, new_values;
};

/// When the file that a gate reads was written last; nothing where there is none.
std::optional<base::fs::file_time_type> written_at(const model::GateSpec& gate,
                                                   const base::fs::path& tree) {
  const auto read = profiles::parse_read(gate.read);
  if (read.file.empty()) return std::nullopt;
  std::error_code why;
  const auto time = base::fs::last_write_time(tree / read.file, why);
  return why ? std::nullopt : std::optional(time);
}

/// What one run gave, or why it gave nothing. `before`: written_at before the run.
base::Expected<double> value_of(const model::GateSpec& gate, const base::fs::path& tree,
                                const base::CommandResult& result,
                                std::optional<base::fs::file_time_type> before) {
  if (!result.ok())
    return base::fail(base::ErrorKind::invalid, "the gate's command failed",
                      {.where = gate.command,
                       .found = result.timed_out ? "still running at its deadline"
                                                 : result.ending.text() + ": " + tail_of(result),
                       .allowed = "exit 0",
                       .next = "run it in " + tree.string()});
  const auto read = profiles::parse_read(gate.read);
  if (read.file.empty()) return profiles::read_number(result.out + "\n" + result.err, read.how);
  AKO_TRY(const base::fs::path path, base::resolve_inside(tree, read.file));
  if (before && written_at(gate, tree) == before)
    return base::fail(base::ErrorKind::invalid, "the gate's command left its result as it was",
                      {.where = path.string(),
                       .found = "a file of an earlier run",
                       .allowed = "a result that this run wrote",
                       .next = "look at what the command does in " + tree.string()});
  AKO_TRY(const std::string text, base::read_file(path));
  return profiles::read_number(text, read.how);
}

/// Every run is a process with memory of its own: the runs are the replicates. Absent where they
/// are too few or hold what no ratio can be made of.
std::optional<stats::Gain> ratio_of(const GateSides& sides) {
  const auto instances = [](const std::vector<double>& values) {
    std::vector<stats::Instance> out;
    for (const double value : values) out.push_back({{value}});
    return out;
  };
  const auto compared = stats::compare_instances(instances(sides.old_values),
                                                 instances(sides.new_values), k_ratio_level);
  if (!compared) return std::nullopt;
  const stats::Gain& gain = compared->gain;
  return stats::Gain{1 - gain.value, 1 - gain.high, 1 - gain.low};
}

std::string values_text(const std::vector<double>& values) {
  std::string out;
  for (const double value : values) out += fmt::format("{}{:.6g}", out.empty() ? "" : ", ", value);
  return out;
}

} // namespace

std::string tail_of(const base::CommandResult& result) {
  std::string text = result.err.empty() ? result.out : result.err;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.size() > 600) text = "... " + text.substr(text.size() - 600);
  return text;
}

base::Expected<base::CommandResult> run_in_tree(const std::string& command,
                                                const base::fs::path& tree, const std::string& side,
                                                const std::string& switch_name,
                                                double deadline_seconds,
                                                const model::CommandRunner& runner) {
  base::CommandOptions options;
  options.argv = {"/bin/sh", "-c", command};
  options.cwd = tree.string();
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool replaced = text.starts_with("AKO_PORT_") || text.starts_with("GIT_") ||
                          (!switch_name.empty() && text.starts_with(switch_name + "="));
    if (!replaced) environment.push_back(text);
  }
  environment.push_back("AKO_PORT_SIDE=" + side);
  environment.push_back("AKO_PORT_TREE=" + tree.string());
  if (!switch_name.empty()) environment.push_back(switch_name + "=" + side);
  options.env = std::move(environment);
  options.deadline = base::Deadline::after_seconds(deadline_seconds);
  options.capture_bytes = k_keep_bytes;
  options.stop = [] { return interrupted(); };
  return runner(options);
}

std::vector<std::string> changed_terms(const std::vector<model::GateSpec>& gates,
                                       const std::vector<ledger::Validation>& recorded) {
  const std::string prefix = "gate:";
  std::map<std::string, const ledger::Validation*> last;
  for (const auto& each : recorded)
    if (each.name.starts_with(prefix)) last[each.name.substr(prefix.size())] = &each;
  std::vector<std::string> out;
  for (const auto& [name, then] : last) {
    const std::string ended = then->passed ? "it passed then" : "it was not reached then";
    const auto now = std::find_if(gates.begin(), gates.end(),
                                  [&](const auto& gate) { return gate.name == name; });
    if (now == gates.end()) {
      out.push_back(
          fmt::format("gate {} was run before and is gone from task.toml; {}", name, ended));
      continue;
    }
    const std::pair<const char*, const std::string&> terms[] = {
        {"command", now->command}, {"read", now->read}, {"must", now->must}};
    for (const auto& [key, value] : terms)
      if (const auto before = base::get_or<std::string>(then->data, key, value); before != value)
        out.push_back(fmt::format("gate {} ran before with {} = \"{}\", now \"{}\"; {}", name, key,
                                  before, value, ended));
  }
  return out;
}

base::Expected<ledger::Validation> run_gate(const model::GateSpec& gate, const GateTrees& trees,
                                            const model::CommandRunner& runner) {
  ledger::Validation out;
  out.name = "gate:" + gate.name;
  GateSides sides;
  for (int run = 0; run < 2 * trees.repeats; ++run) {
    // old new, new old, old new: neither side always comes first.
    const bool old_side = ((run / 2) % 2 == 0) == (run % 2 == 0);
    base::progress(static_cast<double>(run) / (2 * trees.repeats), "gate " + gate.name);
    const auto& tree = old_side ? trees.old_tree : trees.new_tree;
    const auto before = written_at(gate, tree);
    AKO_TRY(const auto result, run_in_tree(gate.command, tree, old_side ? "old" : "new",
                                           trees.switch_name, trees.deadline_seconds, runner));
    auto value = value_of(gate, tree, result, before);
    if (!value) {
      out.detail = fmt::format("{} side: {}", old_side ? "old" : "new", value.error().text());
      out.data = {{"command", gate.command}, {"read", gate.read}, {"must", gate.must}};
      return out;
    }
    (old_side ? sides.old_values : sides.new_values).push_back(*value);
  }
  const double before = stats::median(sides.old_values), after = stats::median(sides.new_values);
  AKO_TRY(const profiles::Requirement requirement, profiles::require(gate.must, after, before));
  out.passed = requirement.met;
  out.detail =
      fmt::format("{}{} (old {}; new {})", requirement.text, requirement.met ? "" : ": not reached",
                  values_text(sides.old_values), values_text(sides.new_values));
  out.data = {{"command", gate.command}, {"read", gate.read},         {"must", gate.must},
              {"old", sides.old_values}, {"new", sides.new_values},   {"old_median", before},
              {"new_median", after},     {"bound", requirement.bound}};
  if (const auto ratio = ratio_of(sides)) {
    out.detail +=
        fmt::format("; new is {:.3g} [{:.3g}, {:.3g}] times old, 95 % over {} runs of each",
                    ratio->value, ratio->low, ratio->high, trees.repeats);
    out.data["ratio"] = {{"value", base::number_or_null(ratio->value)},
                         {"low", base::number_or_null(ratio->low)},
                         {"high", base::number_or_null(ratio->high)}};
  }
  return out;
}

} // namespace ako::loop
