#include "report/handoff.hpp"

#include "report/text/words.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::report {
namespace {

std::string item(int number, const std::string& title, const std::string& text) {
  return fmt::format("{}. **{}.** {}\n", number, title, text);
}

std::string reading(const Data& data) {
  if (data.readings.empty()) return "None is on record as read.";
  std::string out = fmt::format("{} read: ", data.readings.size());
  for (std::size_t i = 0; i < data.readings.size(); ++i)
    out += (i ? ", " : "") + md_line(guide_file(data.readings[i]));
  return out + ".";
}

/// The last port of the incumbent that made a branch.
const ledger::Port* integrated(const Data& data) {
  const ledger::Port* out = nullptr;
  for (const auto& each : data.ports)
    if (each.payload.state == "integrated" && data.incumbent &&
        base::get_or<std::string>(each.payload.data, "snapshot", "") ==
            data.incumbent->payload.snapshot.hash)
      out = &each.payload;
  return out;
}

std::string lane_and_files(const Data& data) {
  std::string out = "Lane ";
  out += data.incumbent ? data.incumbent->payload.lane : data.task ? data.task->lane : "unknown";
  const ledger::Port* port = integrated(data);
  if (port == nullptr) return out + "; nothing was changed in a target repository.";
  out += fmt::format("; branch {} of {}, commit {} ({}), files: ", md_line(port->branch),
                     md_line(port->repository), short_hash(port->commit), port_state(data));
  bool first = true;
  for (const auto& file : base::get_or<base::Json>(port->data, "files", base::Json::array()))
    if (file.is_string()) {
      out += (first ? "" : ", ") + md_line(file.get<std::string>());
      first = false;
    }
  return out + fmt::format(". Proven for {}; {} keeps the old path.",
                           md_line(base::get_or<std::string>(port->data, "proven", "?")),
                           md_line(base::get_or<std::string>(port->data, "switch", "?")));
}

/// Largest share of an allowed error that was used, over all judged cases.
void worst_of(const base::Json& json, double& worst, int& comparisons) {
  if (json.is_object()) {
    if (json.contains("max_of_allowed")) {
      ++comparisons;
      if (json["max_of_allowed"].is_number())
        worst = std::max(worst, json["max_of_allowed"].get<double>());
      return;
    }
    for (const auto& [key, value] : json.items()) worst_of(value, worst, comparisons);
  } else if (json.is_array()) {
    for (const auto& each : json) worst_of(each, worst, comparisons);
  }
}

std::string correctness(const Data& data) {
  if (!data.incumbent) return "No candidate was kept.";
  double worst = 0;
  int comparisons = 0;
  worst_of(data.incumbent_evaluation, worst, comparisons);
  std::string out =
      fmt::format("Iteration {} agrees with the trusted reference", data.incumbent->payload.number);
  if (comparisons > 0)
    out += fmt::format(
        " in {} comparisons; the largest error is {:.0f} % of what its tolerance allows "
        "(derived from dtype, length and magnitude unless the contract states one)",
        comparisons, 100 * worst);
  bool target = false;
  for (const auto& each : data.validations)
    target = target || (each.payload.name == "operator" && each.payload.passed);
  return out +
         (target ? "; the target's library was judged by the same reference, and measured against "
                   "the previous operator."
                 : "; it was not judged inside the target.");
}

std::string figures(const Data& data) {
  const auto made = claim(data);
  if (!made) return "No gain against the baseline is on record.";
  return fmt::format("{} against {}, {} placements, {} pairs ({}); shape by shape below.",
                     gain(made->verdict.gain, made->verdict.interval),
                     md_line(made->verdict.against), made->verdict.placements, made->verdict.pairs,
                     md_line(made->label));
}

std::string history(const Data& data) {
  return fmt::format("ITERATIONS.md beside this file, {} iterations; the last ones below.",
                     data.standing.iterations);
}

std::string explanation(const Data& data) {
  std::string out;
  for (const auto& each : data.profiles)
    if (each.payload.tool != "scope")
      out = md_line(each.payload.tool) + ": " + md_line(each.payload.summary);
  if (out.empty()) return "No profile is on record: why it is faster is not shown.";
  return out;
}

std::string risks(const Data& data) {
  const auto open = untested(data);
  std::string out = fmt::format("{} open, {} waived gate{}; all listed below.", open.size(),
                                data.waivers.size(), data.waivers.size() == 1 ? "" : "s");
  return out;
}

} // namespace

std::string handoff_md(const Data& data) {
  return "## Hand-off\n\n" + item(1, "References read", reading(data)) +
         item(2, "Lane and files touched", lane_and_files(data)) +
         item(3, "Correctness", correctness(data)) +
         item(4, "Baseline against optimised", figures(data)) + item(5, "History", history(data)) +
         item(6, "Why", explanation(data)) + item(7, "Remaining risks", risks(data)) + "\n";
}

} // namespace ako::report
