#include "report/text/iterations_md.hpp"

#include "base/fs.hpp"
#include "base/time.hpp"
#include "report/text/words.hpp"

#include <fmt/format.h>

namespace ako::report {

namespace {

std::string baseline_text(const Data& data) {
  if (!data.baseline) return "No baseline is on record yet: `ako baseline`.\n";
  const ledger::Baseline& base = data.baseline->payload;
  std::string out = "## Baseline\n\n";
  out += fmt::format("- Device: {}\n", md_line(base.how.device));
  out += fmt::format("- Clock: {}; cache: {}; statistic: {}\n", md_line(base.how.clock),
                     md_line(base.how.cache), md_line(base.how.statistic));
  out += fmt::format("- Warm-up: {} calls; iterations: {} calls\n", base.how.warmup,
                     base.how.iterations);
  out += fmt::format("- Counts as baseline: {} (`{}`), measured {}\n\n", md_line(base.fastest),
                     short_hash(base.hash), base::iso_time(data.baseline->event.ts_ns));
  out += "| Baseline | Shape | Sizes | Dtype | Weight | p50 | p95 | Samples |\n"
         "| --- | --- | --- | --- | ---: | ---: | ---: | ---: |\n";
  for (const auto& entry : base.entries)
    for (const auto& shape : entry.shapes)
      out +=
          fmt::format("| {} | {} | {} | {} | {:g} | {} | {} | {} |\n", md_line(entry.name),
                      md_line(shape.tag), md_line(shape.shape), md_line(shape.dtype), shape.weight,
                      duration(shape.p50_ns), duration(shape.p95_ns), shape.samples);
  return out;
}

std::string shapes_table(const model::Verdict& verdict) {
  if (verdict.shapes.empty()) return {};
  std::string out = "\n| Shape | Old | New | Gain |\n| --- | ---: | ---: | ---: |\n";
  for (const auto& each : verdict.shapes)
    out += fmt::format("| {} | {} | {} | {} |\n", md_line(each.tag), duration(each.old_ns),
                       duration(each.new_ns), gain(each.gain, each.interval));
  return out;
}

std::string result_of(const model::Verdict& verdict) {
  std::string out = model::to_string(verdict.outcome.kind);
  if (!verdict.shapes.empty())
    out += fmt::format(", {} against {}", gain(verdict.gain, verdict.interval),
                       md_line(verdict.against));
  if (!verdict.outcome.reason.empty()) out += ": " + md_line(verdict.outcome.reason);
  return out;
}

std::string iteration_text(const ledger::Iteration& it, const std::string& commit) {
  const model::Verdict& verdict = it.verdict;
  std::string out = fmt::format("### Iteration {}{}\n\n", it.number,
                                it.explore == ledger::Explore::yes ? " (exploring)" : "");
  out += fmt::format("- Hypothesis: {}\n", md_line(it.hypothesis));
  if (!it.prediction.empty() || it.predicted_gain)
    out += fmt::format("- Prediction: {}{}\n", md_line(it.prediction),
                       it.predicted_gain ? " (" + percent(*it.predicted_gain) + ")" : "");
  if (!it.cites.empty()) out += fmt::format("- Cites: {}\n", md_line(it.cites));
  if (!it.direction.empty()) out += fmt::format("- Direction: {}\n", md_line(it.direction));
  out += fmt::format("- Change: {} (snapshot `{}`)\n",
                     it.change.empty() ? "see the commit" : md_line(it.change),
                     short_hash(it.snapshot.hash));
  out += "- Result: " + result_of(verdict) + "\n";
  if (const std::string came = prediction_outcome(it.predicted_gain, verdict); !came.empty())
    out += "- The prediction came true: " + came + "\n";
  if (it.versus_baseline)
    out += fmt::format("- Against the baseline: {}\n",
                       gain(it.versus_baseline->gain, it.versus_baseline->interval));
  for (const auto& each : verdict.outcome.evidence)
    out += fmt::format("- Evidence: {}: {}\n", md_line(each.guard), md_line(each.text));
  out += fmt::format("- Decision: {}{}\n", model::to_string(it.decision),
                     it.decision_reason.empty() ? "" : ": " + md_line(it.decision_reason));
  for (const std::string& gate : it.waived) out += fmt::format("- Waived: {}\n", md_line(gate));
  if (!commit.empty()) out += fmt::format("- Commit: `{}`\n", md_line(short_hash(commit)));
  return out + shapes_table(verdict) + "\n";
}

/// Stalls and directions stand where they happened: after their iteration.
std::string turns_after(const Data& data, std::int64_t number) {
  std::string out;
  for (const auto& each : data.stalls)
    if (each.payload.after_iteration == number) {
      out +=
          fmt::format("> Stall: {} iterations in a row were correct and not better; the incumbent "
                      "was {}measured again.\n",
                      each.payload.in_a_row, each.payload.incumbent_again.empty() ? "not " : "");
      for (const std::string& lesson : each.payload.lessons) out += "> - " + md_line(lesson) + "\n";
      out += "\n";
    }
  for (const auto& each : data.directions)
    if (each.payload.after_iteration == number)
      out += fmt::format("> Direction: {}{}\n\n", md_line(each.payload.text),
                         each.payload.lane.empty() ? ""
                                                   : " (lane " + md_line(each.payload.lane) + ")");
  return out;
}

bool failed(const ledger::Iteration& it) { return it.decision == model::Decision::revert; }

std::string reading_text(const Data& data) {
  std::string out = "## Reading\n\n";
  if (data.readings.empty())
    return out + "No guide is on record as read: `ako refs read --required`.\n";
  out += "| File | Guide | Edition | Read |\n| --- | --- | --- | --- |\n";
  for (const auto& each : data.readings)
    out += fmt::format("| {} | {} | `{}` | {} |\n", md_line(guide_file(each)), md_line(each.title),
                       short_hash(each.hash), base::iso_time(each.ts_ns));
  return out;
}

std::string contract_text(const Data& data) {
  std::string out = "## Contract\n\n";
  if (!data.contract) return out + "No contract is on record yet: `ako check`.\n";
  out += fmt::format("Hash `{}`.", short_hash(data.contract->hash));
  if (data.self_test)
    out += data.self_test->passed ? " Its self-test passed.\n\n" : " Its self-test failed.\n\n";
  else out += " Not checked yet: `ako check`.\n\n";
  // An indented block needs no fence that the text could close; a mark of ako's inside a string of
  // the contract must not be read as one.
  out += "    ";
  std::string_view rest = data.contract->echo;
  while (!rest.empty()) {
    if (rest.substr(0, 4) == "ako:") {
      out += "ako :";
      rest.remove_prefix(4);
      continue;
    }
    out += rest.front();
    if (rest.front() == '\n') out += "    ";
    rest.remove_prefix(1);
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out + "\n";
}

} // namespace

std::string iterations_heading(const Data& data) {
  return fmt::format("# Iterations: {}\n\n", data.task ? md_line(data.task->task) : "task");
}

std::vector<Block> iterations_blocks(const Data& data) {
  std::string list = "## Iterations\n\n";
  if (data.left_out > 0)
    list +=
        fmt::format("{} earlier iterations are in the ledger: `ako log --all`.\n\n", data.left_out);
  if (data.iterations.empty()) list += "None yet.\n";
  list += turns_after(data, 0);
  for (const auto& each : data.iterations) {
    const auto commit = data.commits.find(each.payload.number);
    list += iteration_text(each.payload,
                           commit == data.commits.end() ? each.payload.commit : commit->second);
    list += turns_after(data, each.payload.number);
  }
  return {{"baseline", baseline_text(data)}, {"iterations", list}, {"reading", reading_text(data)}};
}

std::string notes_heading(const Data& data) {
  return fmt::format("# Notes: {}\n\n", data.task ? md_line(data.task->kernel) : "kernel");
}

std::vector<Block> notes_blocks(const Data& data) {
  std::string findings = "## Findings\n\n", attempts = "## Failed attempts\n\n";
  bool any_finding = false, any_attempt = false;
  for (const auto& each : data.profiles) {
    findings +=
        fmt::format("- {}: {}\n", md_line(each.payload.tool), md_line(each.payload.summary));
    for (const std::string& one : each.payload.findings) findings += "  - " + md_line(one) + "\n";
    any_finding = true;
  }
  for (const auto& each : data.notes) {
    const bool attempt = each.payload.topic == "failed_attempt";
    (attempt ? attempts : findings) += fmt::format("- {}\n", md_line(each.payload.text));
    (attempt ? any_attempt : any_finding) = true;
  }
  for (const auto& each : data.iterations) {
    if (!failed(each.payload)) {
      findings += fmt::format("- Iteration {}, {}: {}\n", each.payload.number,
                              result_of(each.payload.verdict), md_line(each.payload.hypothesis));
      any_finding = true;
      continue;
    }
    attempts += fmt::format("- Iteration {}: {} ({})\n", each.payload.number,
                            md_line(each.payload.hypothesis), result_of(each.payload.verdict));
    any_attempt = true;
  }
  if (!any_finding) findings += "None on record yet.\n";
  if (!any_attempt) attempts += "None on record yet.\n";
  return {{"contract", contract_text(data)}, {"findings", findings}, {"failed-attempts", attempts}};
}

namespace {

base::Status write_one(const std::filesystem::path& path, const std::vector<Block>& blocks,
                       const std::string& heading) {
  std::string existing;
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    AKO_TRY(existing, base::read_file(path));
  }
  AKO_TRY(const std::string merged, merge_blocks(existing, blocks, heading, path.string()));
  if (merged == existing) return {};
  return base::write_file_atomic(path, merged);
}

} // namespace

base::Status write_texts(const Data& data, const Texts& paths) {
  AKO_TRY_STATUS(write_one(paths.iterations, iterations_blocks(data), iterations_heading(data)));
  return write_one(paths.notes, notes_blocks(data), notes_heading(data));
}

} // namespace ako::report
