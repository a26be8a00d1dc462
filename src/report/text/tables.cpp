#include "report/text/tables.hpp"

#include "base/time.hpp"
#include "report/text/words.hpp"

#include <fmt/format.h>

namespace ako::report {

using ledger::IterationRow;
using ledger::Standing;

namespace {

constexpr const char* k_log_format = "{:>5}  {:<19}  {:<8} {:>9}  {:>9}  {}";
constexpr std::size_t k_log_fixed = 5 + 2 + 19 + 2 + 8 + 1 + 9 + 2 + 9 + 2;
constexpr std::size_t k_least_words = 20;

std::size_t words_width(std::size_t width) {
  return width == 0 ? 0 : std::max(k_least_words, width > k_log_fixed ? width - k_log_fixed : 0);
}

void line(std::string& out, std::string_view name, std::string_view value) {
  if (!value.empty()) out += fmt::format("{:<12} {}\n", name, value);
}

std::string since(const std::optional<std::int64_t>& event) {
  return event ? fmt::format("event {}", *event) : "none on record";
}

} // namespace

std::string log_head(std::size_t) {
  return fmt::format(fmt::runtime(k_log_format), "#", "outcome", "decision", "gain", "vs base",
                     "hypothesis") +
         "\n";
}

std::string log_line(const IterationRow& row, std::size_t width) {
  std::string outcome = model::to_string(row.outcome);
  if (row.explore == ledger::Explore::yes) outcome += " (x)";
  return fmt::format(fmt::runtime(k_log_format), row.number, outcome,
                     model::to_string(row.decision), percent(row.gain), percent(row.base_gain),
                     plain_line(row.hypothesis, words_width(width))) +
         "\n";
}

std::string log_page(const std::vector<IterationRow>& rows, std::int64_t iterations,
                     std::size_t width) {
  if (rows.empty()) return "no iterations on record\n";
  std::string out = log_head(width);
  for (const IterationRow& row : rows) out += log_line(row, width);
  if (rows.front().number > 1)
    out += fmt::format("{} earlier of {}: ako log --all\n", rows.front().number - 1, iterations);
  return out;
}

std::string shapes_text(const model::Verdict& verdict) {
  if (verdict.shapes.empty()) return {};
  std::size_t widest = 5;
  for (const auto& each : verdict.shapes) widest = std::max(widest, plain_line(each.tag).size());
  std::string out = fmt::format("{:<{}}  {:>10}  {:>10}  {:>26}  {:>8}\n", "shape", widest, "old",
                                "new", "gain", "weight");
  for (const auto& each : verdict.shapes)
    out += fmt::format("{:<{}}  {:>10}  {:>10}  {:>26}  {:>8}{}\n", plain_line(each.tag), widest,
                       duration(each.old_ns), duration(each.new_ns), gain(each.gain, each.interval),
                       fmt::format("{:g}", each.weight),
                       each.within_regression ? "" : "  beyond the allowed regression");
  return out;
}

std::string counted_text(const base::Json& counted) {
  constexpr const char* k_row = "{:<{}}  {:<9}  {:>13}  {:>13}  {:>12}\n";
  if (!counted.is_array() || counted.empty()) return {};
  const auto number = [](const base::Json& row, const char* key) {
    const double value = base::get_or<double>(row, key, -1);
    return value < 0 ? std::string("-") : fmt::format("{:.4g}", value);
  };
  const auto word = [](const base::Json& row, const char* key) {
    return plain_line(base::get_or<std::string>(row, key, ""));
  };
  std::size_t widest = 5;
  for (const auto& row : counted) widest = std::max(widest, word(row, "shape").size());
  std::string out = "\ncounted by the processor in one call; nothing is decided by it\n";
  out += fmt::format(fmt::runtime(k_row), "shape", widest, "side", "instructions", "cycles",
                     "cache misses");
  for (const auto& row : counted)
    out += fmt::format(fmt::runtime(k_row), word(row, "shape"), widest, word(row, "side"),
                       number(row, "instructions"), number(row, "cycles"),
                       number(row, "cache_misses"));
  return out;
}

std::string show_iteration(const ledger::Recorded<ledger::Iteration>& recorded,
                           const base::Json& evaluation, const std::string& commit,
                           const std::string& diff) {
  const ledger::Iteration& it = recorded.payload;
  const model::Verdict& verdict = it.verdict;
  std::string out =
      fmt::format("iteration {}, {}\n", it.number, base::iso_time(recorded.event.ts_ns));
  line(out, "hypothesis", plain_line(it.hypothesis));
  line(out, "prediction", plain_line(it.prediction));
  if (it.predicted_gain) line(out, "predicted", percent(*it.predicted_gain));
  line(out, "cites", plain_line(it.cites));
  line(out, "direction", plain_line(it.direction));
  line(out, "change", plain_line(it.change));
  line(out, "outcome", model::to_string(verdict.outcome.kind));
  line(out, "reason", plain_line(verdict.outcome.reason));
  if (!verdict.shapes.empty())
    line(out, "gain",
         gain(verdict.gain, verdict.interval) + " against " + plain_line(verdict.against));
  if (it.versus_baseline)
    line(out, "vs baseline",
         gain(it.versus_baseline->gain, it.versus_baseline->interval) + " against " +
             plain_line(it.versus_baseline->against));
  line(out, "decision",
       fmt::format("{}: {}", model::to_string(it.decision), plain_line(it.decision_reason)));
  line(out, "confirmed", verdict.confirmed ? "by a second opinion" : "no");
  for (const std::string& each : unproven(evaluation)) line(out, "unproven", plain_line(each));
  line(out, "how",
       fmt::format("clock {}, cache {}, {}; {} placements, {} pairs; {}", verdict.clock,
                   verdict.cache, verdict.statistic, verdict.placements, verdict.pairs,
                   plain_line(it.how.device)));
  for (const std::string& gate : it.waived) line(out, "waived", plain_line(gate));
  line(out, "lane", it.lane);
  line(out, "snapshot", short_hash(it.snapshot.hash));
  if (it.artifact) line(out, "compiled by", plain_line(it.artifact->compiler_identity));
  line(out, "commit", short_hash(commit));
  line(out, "on record",
       fmt::format("event {}, {} samples, hash {}", recorded.event.seq, recorded.event.sample_rows,
                   short_hash(recorded.event.hash)));
  if (!verdict.shapes.empty()) out += "\n" + shapes_text(verdict);
  for (const auto& each : verdict.outcome.evidence)
    out += fmt::format("\n{}: {}\n", plain_line(each.guard), plain_line(each.text));
  if (!diff.empty()) {
    out += '\n';
    std::string_view rest = diff;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      out += plain_line(rest.substr(0, end)) + "\n";
      rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    }
  }
  return out;
}

std::string status_text(const Standing& standing, const std::optional<ledger::Baseline>& baseline,
                        const StatusWords& words) {
  std::string out;
  line(out, "task", plain_line(words.task));
  line(out, "stands", plain_line(words.stands));
  line(out, "missing", plain_line(words.missing));
  line(out, "next", plain_line(words.command));
  line(out, "baseline",
       baseline ? fmt::format("{} {}, {} shapes", plain_line(baseline->fastest),
                              short_hash(baseline->hash),
                              baseline->entries.empty() ? 0 : baseline->entries[0].shapes.size())
                : since(standing.baseline_event));
  if (standing.incumbent)
    line(out, "incumbent",
         fmt::format("iteration {} ({}), {} against the baseline, {}", standing.incumbent->number,
                     model::to_string(standing.incumbent->decision),
                     percent(standing.incumbent->base_gain),
                     standing.incumbent->confirmed ? "confirmed" : "not confirmed"));
  else line(out, "incumbent", baseline ? "the baseline" : "none yet: no baseline is on record");
  std::string counts;
  for (const auto& [outcome, count] : standing.outcomes)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, outcome);
  line(out, "iterations",
       counts.empty() ? "none" : fmt::format("{}: {}", standing.iterations, counts));
  if (standing.not_better_in_a_row > 0)
    line(out, "not better", fmt::format("{} in a row", standing.not_better_in_a_row));
  if (standing.stall_event) line(out, "stalled", "a direction or another lane is asked for");
  if (standing.waivers > 0) line(out, "waivers", std::to_string(standing.waivers));
  line(out, "record",
       standing.head.empty()
           ? "nothing yet"
           : fmt::format("{} events, head {}", standing.events, short_hash(standing.head)));
  return out;
}

} // namespace ako::report
