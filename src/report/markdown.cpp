#include "report/markdown.hpp"

#include "base/time.hpp"
#include "report/handoff.hpp"
#include "report/roofline.hpp"
#include "report/text/words.hpp"

#include <fmt/format.h>

namespace ako::report {

namespace {

std::string outcome_section(const Data& data) {
  const auto made = claim(data);
  if (!made)
    return data.incumbent
               ? "**A candidate was kept; its gain over the baseline was not measured.**\n\n"
               : "**No win: the baseline stands.**\n\n";
  return fmt::format("**{} against {}** (iteration {}, {}; {} placements, {} pairs)\n\n",
                     gain(made->verdict.gain, made->verdict.interval),
                     md_line(made->verdict.against), data.incumbent->payload.number,
                     md_line(made->label), made->verdict.placements, made->verdict.pairs);
}

std::string caveats_section(const Data& data) {
  std::string out = "## Untested and waived\n\n";
  for (const std::string& each : untested(data)) out += "- " + md_line(each) + "\n";
  for (const auto& each : data.waivers)
    out += fmt::format("- **Waived** gate {} for {} by {}: {}\n", md_line(each.payload.gate),
                       md_line(each.payload.command), md_line(each.payload.by),
                       md_line(each.payload.why));
  if (data.waivers.empty()) out += "- No gate was waived.\n";
  return out + "\n";
}

std::string per_shape_section(const Data& data) {
  const auto made = claim(data);
  if (!made) return {};
  std::string out =
      "## Per shape, incumbent against the baseline\n\n"
      "| Shape | Weight | Baseline | New | Gain | |\n| --- | ---: | ---: | ---: | ---: | --- |\n";
  for (const auto& each : made->verdict.shapes)
    out += fmt::format("| {} | {:g} | {} | {} | {} | {} |\n", md_line(each.tag), each.weight,
                       duration(each.old_ns), duration(each.new_ns), gain(each.gain, each.interval),
                       each.within_regression ? "" : "beyond the allowed regression");
  return out + "\n";
}

std::string roof_section(const Data& data) {
  const auto roofline = roofline_of(data);
  if (!roofline) return {};
  return fmt::format(
             "## Under the roofs of the device\n\nRoofs: {}; {:.4g} GB/s, {:.4g} GFLOP/s.\n\n",
             md_line(roofline->source), roofline->memory_bytes_per_s / 1e9,
             roofline->flops_per_s / 1e9) +
         roofline_table_md(*roofline) + "\n";
}

std::string iterations_section(const Data& data) {
  std::string out = "## What each iteration tried\n\n";
  if (data.left_out > 0)
    out += fmt::format("{} earlier iterations are in the ledger and not shown here.\n\n",
                       data.left_out);
  if (data.iterations.empty()) return out + "None on record.\n\n";
  out += "| # | Hypothesis | Outcome | Gain on the incumbent | Against the baseline | Decision |\n"
         "| ---: | --- | --- | ---: | ---: | --- |\n";
  for (const auto& each : data.iterations) {
    const ledger::Iteration& it = each.payload;
    out += fmt::format(
        "| {} | {} | {}{} | {} | {} | {}: {} |\n", it.number, md_line(it.hypothesis),
        model::to_string(it.verdict.outcome.kind), it.verdict.confirmed ? ", confirmed" : "",
        it.verdict.shapes.empty() ? "-" : gain(it.verdict.gain, it.verdict.interval),
        it.versus_baseline ? gain(it.versus_baseline->gain, it.versus_baseline->interval) : "-",
        model::to_string(it.decision), md_line(it.decision_reason));
  }
  return out + "\n";
}

std::string how_section(const Data& data) {
  std::string out = "## How the figures were taken\n\n";
  const auto add = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) out += fmt::format("- {}: {}\n", name, md_line(text));
  };
  const auto made = claim(data);
  if (data.baseline) {
    const ledger::HowTaken& taken = data.baseline->payload.how;
    add("Clock", made ? made->verdict.clock : taken.clock);
    add("Cache", made ? made->verdict.cache : taken.cache);
    add("Statistic", made ? made->verdict.statistic : taken.statistic);
    add("Aggregation", "1 - sum(weight x new) / sum(weight x old); weight = calls in production");
    add("Device", taken.device);
    add("Warm-up, iterations", fmt::format("{}, {} calls", taken.warmup, taken.iterations));
    add("Baseline", data.baseline->payload.fastest + ", hash " + data.baseline->payload.hash);
  }
  if (data.contract) add("Contract hash", data.contract->hash);
  if (data.environment) {
    add("Machine", data.environment->machine);
    add("System", data.environment->os);
    add("Compiler", data.environment->compiler);
    add("ako", data.environment->ako_version);
  }
  add("Ledger", fmt::format("{} events, head {}", data.standing.events, data.standing.head));
  return out + "\n";
}

std::string rest_section(const Data& data) {
  std::string out;
  if (!data.readings.empty()) out += "## References read\n\n";
  for (const auto& each : data.readings)
    out += fmt::format("- {}: {} (edition `{}`, read {})\n", md_line(guide_file(each)),
                       md_line(each.title), short_hash(each.hash), base::iso_time(each.ts_ns));
  if (!data.readings.empty()) out += "\n";
  if (!data.profiles.empty()) out += "## Profiles\n\n";
  for (const auto& each : data.profiles)
    out += fmt::format("- {}: {}\n", md_line(each.payload.tool), md_line(each.payload.summary));
  if (!data.ports.empty() || !data.validations.empty()) out += "\n## Port and validation\n\n";
  for (const auto& each : data.ports)
    out += fmt::format("- {}: {} {} {}\n", md_line(each.payload.state),
                       md_line(each.payload.repository), md_line(each.payload.branch),
                       md_line(each.payload.detail));
  for (const auto& each : data.validations)
    out += fmt::format("- {} {}: {}\n", md_line(each.payload.name),
                       each.payload.passed ? "passed" : "failed", md_line(each.payload.detail));
  return out;
}

} // namespace

std::string report_md(const Data& data) {
  std::string out = fmt::format("# {}\n\n", data.task ? md_line(data.task->task) : "ako");
  if (data.task)
    out +=
        fmt::format("Kernel {}, lane {}. ", md_line(data.task->kernel), md_line(data.task->lane));
  out += fmt::format("{} iterations; record as of {}.\n\n", data.standing.iterations,
                     base::iso_time(data.standing.last_ts_ns));
  return out + outcome_section(data) + handoff_md(data) + caveats_section(data) +
         per_shape_section(data) + roof_section(data) + iterations_section(data) +
         how_section(data) + rest_section(data);
}

} // namespace ako::report
