// The report for people and for programs.
#include "profiles/names.hpp"
#include "profiles/scope.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::profiles {
namespace {

using base::Json;
using base::number_or_null;

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  return ns < 1e9 ? fmt::format("{:.2f} ms", ns / 1e6) : fmt::format("{:.3f} s", ns / 1e9);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string cut(std::string text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

std::string speed_text(double speedup) {
  return std::isinf(speedup) ? "at no time at all" : fmt::format("{:g}x", speedup);
}

Json groups_json(const std::vector<ScopeGroup>& groups) {
  Json all = Json::array();
  for (const ScopeGroup& one : groups)
    all.push_back({{"name", one.name},
                   {"launches", one.launches},
                   {"total_ns", number_or_null(one.total_ns)},
                   {"of_kernels_pct", number_or_null(100 * one.of_kernels)}});
  return all;
}

Json kernel_json(const ScopeKernel& kernel, Whole whole) {
  const KernelShare& share = kernel.share;
  const bool wall = whole == Whole::wall;
  Json shapes = Json::array();
  for (const ScopeShape& shape : kernel.shapes)
    shapes.push_back({{"launch", shape.launch},
                      {"inputs", shape.inputs},
                      {"count", shape.count},
                      {"total_ns", number_or_null(shape.total_ns)}});
  return {{"name", share.name},
          {"short_name", short_name(share.name)},
          {"family", kernel.family},
          {"launches", share.launches},
          {"first_launch", share.first_launch},
          {"total_ns", number_or_null(share.total_ns)},
          {"mean_ns",
           share.launches > 0 ? number_or_null(share.total_ns / double(share.launches)) : Json()},
          {"shortest_ns", number_or_null(share.shortest_ns)},
          {"longest_ns", number_or_null(share.longest_ns)},
          {"of_kernels_pct", number_or_null(100 * share.of_busy)},
          {"of_wall_pct", wall ? number_or_null(100 * share.of_wall) : Json()},
          {"alone_pct", wall ? number_or_null(100 * share.amdahl) : Json()},
          {"phases", groups_json(kernel.phases)},
          {"operators", groups_json(kernel.operators)},
          {"launchers", groups_json(kernel.launchers)},
          {"shapes", std::move(shapes)},
          {"more_shapes", kernel.more_shapes}};
}

Json hot_json(const HotProof& hot) {
  Json gains = Json::array();
  for (const ScopeGain& gain : hot.gains)
    gains.push_back({{"speedup", number_or_null(gain.speedup)}, ///< null: no time at all
                     {"gain_pct", number_or_null(100 * gain.gain)}});
  auto optional = [](const std::optional<double>& share) {
    return share ? number_or_null(100 * *share) : Json();
  };
  return {{"kernel", hot.kernel},
          {"heat", to_string(hot.heat)},
          {"launches", hot.launches},
          {"total_ns", number_or_null(hot.total_ns)},
          {"of_kernels_pct", number_or_null(100 * hot.of_kernels)},
          {"of_wall_pct", optional(hot.of_wall)},
          {"alone_pct", optional(hot.alone)},
          {"gains", std::move(gains)},
          {"against", hot.against}};
}

Json timeline_json(const TimelineSummary& sum) {
  return {{"wall_ns", number_or_null(sum.wall_ns)},
          {"busy_ns", number_or_null(sum.busy_ns)},
          {"kernel_ns", number_or_null(sum.kernel_ns)},
          {"copy_ns", number_or_null(sum.copy_ns)},
          {"copy_alone_ns", number_or_null(sum.copy_alone_ns)},
          {"gap_ns", number_or_null(sum.gap_ns)},
          {"gaps", sum.gaps},
          {"longest_gap_ns", number_or_null(sum.longest_gap_ns)},
          {"overlap_ns", number_or_null(sum.overlap_ns)},
          {"sync_ns", number_or_null(sum.api_sync_ns)},
          {"sync_calls", sum.api_syncs},
          {"launch_calls", sum.api_launches},
          {"kernels", sum.kernels}};
}

std::string heading(const ScopeReport& report) {
  std::string out = report.source;
  if (!report.device.empty()) out += ", " + report.device;
  out += "\n";
  const TimelineSummary& sum = report.sum;
  if (report.whole == Whole::wall && sum.wall_ns > 0) {
    auto of_wall = [&](double ns) { return percent(ns / sum.wall_ns); };
    out += fmt::format("wall {}   device busy {}   gaps {} ({}, longest {})   copies alone {}   "
                       "two or more at once {}\n",
                       time_text(sum.wall_ns), of_wall(sum.busy_ns), of_wall(sum.gap_ns), sum.gaps,
                       time_text(sum.longest_gap_ns), of_wall(sum.copy_alone_ns),
                       of_wall(sum.overlap_ns));
    out += fmt::format("{} kernels of {} names, {} launching calls, {} synchronising calls ({})\n",
                       sum.kernels, report.kernels.size(), sum.api_launches, sum.api_syncs,
                       time_text(sum.api_sync_ns));
  } else if (report.whole == Whole::kernels) {
    out +=
        fmt::format("{} launches of {} names, {} of kernel time; no time between them is known\n",
                    sum.kernels, report.kernels.size(), time_text(sum.kernel_ns));
  }
  return out;
}

std::string hot_text(const HotProof& hot, Whole whole) {
  std::string out = fmt::format("\n{}: {}\n", to_string(hot.heat), cut(hot.kernel, 100));
  if (whole == Whole::wall)
    out +=
        fmt::format("  {} launches, {}: {} of kernel time, {} of wall time, {} while nothing else "
                    "ran\n",
                    hot.launches, time_text(hot.total_ns), percent(hot.of_kernels),
                    percent(hot.of_wall.value_or(0)), percent(hot.alone.value_or(0)));
  if (whole == Whole::kernels)
    out += fmt::format("  {} launches, {}: {} of kernel time\n", hot.launches,
                       time_text(hot.total_ns), percent(hot.of_kernels));
  out += whole == Whole::kernels ? "  of kernel time, at most:" : "  end to end, at most:";
  for (const ScopeGain& gain : hot.gains)
    out += fmt::format("   {} {}", speed_text(gain.speedup), percent(gain.gain));
  out += "\n";
  for (const std::string& text : hot.against) out += "  against: " + text + "\n";
  return out;
}

std::string dominant(const std::vector<ScopeGroup>& groups, std::size_t most) {
  if (groups.empty()) return "-";
  std::string out = cut(groups[0].name, most);
  return groups.size() == 1 ? out : out + fmt::format(" +{}", groups.size() - 1);
}

std::string kernel_table(const ScopeReport& report, std::size_t most) {
  std::string out =
      fmt::format("\n{:>3}  {:>8}  {:>7}  {:>7}  {:>8}  {:>10}  {:<20}  {:<10}  {}\n", "#",
                  "kernels", "wall", "alone", "launches", "mean", "family", "phase", "kernel");
  for (std::size_t i = 0; i < std::min(most, report.kernels.size()); ++i) {
    const ScopeKernel& kernel = report.kernels[i];
    const KernelShare& share = kernel.share;
    const bool wall = report.whole == Whole::wall;
    out +=
        fmt::format("{:>3}  {:>8}  {:>7}  {:>7}  {:>8}  {:>10}  {:<20}  {:<10}  {}\n", i + 1,
                    percent(share.of_busy), wall ? percent(share.of_wall) : "-",
                    wall ? percent(share.amdahl) : "-", share.launches,
                    share.launches > 0 ? time_text(share.total_ns / double(share.launches)) : "-",
                    kernel.family, report.phase_basis.empty() ? "-" : dominant(kernel.phases, 10),
                    cut(short_name(share.name), 70));
  }
  if (report.kernels.size() > most)
    out += fmt::format("     and {} more kernels: --json has them\n", report.kernels.size() - most);
  return out;
}

std::string group_table(const char* title, const std::vector<ScopeGroup>& groups,
                        std::size_t most) {
  if (groups.empty()) return {};
  std::string out = fmt::format("\n{}\n", title);
  for (std::size_t i = 0; i < std::min(most, groups.size()); ++i)
    out += fmt::format("  {:>7}  {:>10}  {:>8} launches  {}\n", percent(groups[i].of_kernels),
                       time_text(groups[i].total_ns), groups[i].launches, cut(groups[i].name, 80));
  if (groups.size() > most) out += fmt::format("  and {} more\n", groups.size() - most);
  return out;
}

std::string shape_text(const ScopeReport& report) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, report.kernels.size()); ++i) {
    const ScopeKernel& kernel = report.kernels[i];
    if (kernel.shapes.empty() && kernel.operators.empty() && kernel.launchers.empty()) continue;
    out += fmt::format("\n{}\n", cut(short_name(kernel.share.name), 90));
    if (!kernel.operators.empty())
      out += fmt::format("  called for  {}\n", dominant(kernel.operators, 80));
    if (!kernel.launchers.empty())
      out += fmt::format("  launched by {}\n", dominant(kernel.launchers, 80));
    for (std::size_t k = 0; k < std::min<std::size_t>(5, kernel.shapes.size()); ++k) {
      const ScopeShape& shape = kernel.shapes[k];
      out += fmt::format("  {:>6} x  {}  {}  ({} each)\n", shape.count, shape.launch,
                         cut(shape.inputs, 90), time_text(shape.total_ns / double(shape.count)));
    }
    const std::size_t left = kernel.shapes.size() - std::min<std::size_t>(5, kernel.shapes.size());
    if (left + std::size_t(kernel.more_shapes) > 0)
      out += fmt::format("  and {} more shapes\n", left + std::size_t(kernel.more_shapes));
  }
  return out.empty() ? out : "\nlaunchers and shapes" + out;
}

std::string fusion_text(const TimelineSummary& sum) {
  if (sum.fusion.empty()) return {};
  std::string out = "\nneighbours that invite fusion\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(5, sum.fusion.size()); ++i) {
    const Neighbours& one = sum.fusion[i];
    out += fmt::format("  {:>6} x  {} -> {}: gap {}, at most {} of wall time\n", one.times,
                       cut(short_name(one.first), 50), cut(short_name(one.second), 50),
                       time_text(one.gap_ns),
                       sum.wall_ns > 0 ? percent(one.saved_ns / sum.wall_ns) : "-");
  }
  return out;
}

std::string findings_text(const ScopeReport& report) {
  std::string out;
  for (const model::Finding& finding : report.findings) {
    out += fmt::format("\n{} ({}): at most {} ({})\n", finding.id, finding.kind,
                       percent(finding.gain_bound), finding.gain_basis);
    for (const auto& move : finding.moves)
      out += fmt::format("  try: {} [{}]\n", move.text, move.guide);
  }
  return out;
}

} // namespace

base::Json to_json(const ScopeReport& report) {
  Json kernels = Json::array(), fusion = Json::array(), skipped = Json::array();
  for (const ScopeKernel& kernel : report.kernels)
    kernels.push_back(kernel_json(kernel, report.whole));
  for (const Neighbours& one : report.sum.fusion)
    fusion.push_back({{"first", one.first},
                      {"second", one.second},
                      {"times", one.times},
                      {"gap_ns", number_or_null(one.gap_ns)},
                      {"saved_ns", number_or_null(one.saved_ns)}});
  for (const auto& line : report.skipped)
    skipped.push_back({{"line", line.line}, {"reason", line.reason}});
  // Findings in the form that `ako diagnose` prints.
  model::DiagnosisReport findings;
  findings.kernels.push_back({});
  findings.kernels[0].findings = report.findings;
  return {{"source", report.source},
          {"device", report.device},
          {"shares_of", report.whole == Whole::wall      ? "wall"
                        : report.whole == Whole::kernels ? "kernels"
                                                         : "stated"},
          {"hot", report.hot ? hot_json(*report.hot) : Json()},
          {"timeline", report.whole == Whole::wall ? timeline_json(report.sum) : Json()},
          {"kernels", std::move(kernels)},
          {"operators", groups_json(report.operators)},
          {"phases", groups_json(report.phases)},
          {"phase_basis", report.phase_basis},
          {"families", groups_json(report.families)},
          {"fusion", std::move(fusion)},
          {"findings", model::to_json(findings)["kernels"][0]["findings"]},
          {"notes", report.notes},
          {"skipped", std::move(skipped)}};
}

std::string to_text(const ScopeReport& report, std::size_t most) {
  std::string out = heading(report);
  for (const std::string& note : report.notes) out += "note: " + note + "\n";
  if (report.hot) out += hot_text(*report.hot, report.whole);
  if (!report.kernels.empty()) out += kernel_table(report, most);
  out += group_table("by family", report.families, most);
  if (!report.phases.empty())
    out +=
        group_table(fmt::format("by phase ({})", report.phase_basis).c_str(), report.phases, most);
  out += group_table("by operator", report.operators, most);
  out += fusion_text(report.sum) + findings_text(report) + shape_text(report);
  if (!report.skipped.empty()) out += fmt::format("\n{} lines skipped\n", report.skipped.size());
  return out;
}

} // namespace ako::profiles
