#include "profiles/delta.hpp"

#include "profiles/names.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace ako::profiles {
namespace {

using base::Json;
using base::number_or_null;

struct Watched {
  const char *metric, *unit;
  double Facts::*field;
  double scale; ///< to the unit
};

constexpr std::array k_watched = {
    Watched{"multiprocessor throughput", "%", &Facts::sm, 100},
    Watched{"DRAM throughput", "%", &Facts::dram, 100},
    Watched{"L2 throughput", "%", &Facts::l2, 100},
    Watched{"L1 and shared-memory throughput", "%", &Facts::l1, 100},
    Watched{"FMA pipe", "%", &Facts::fma, 100},
    Watched{"ALU pipe", "%", &Facts::alu, 100},
    Watched{"FP64 pipe", "%", &Facts::fp64, 100},
    Watched{"special-function pipe", "%", &Facts::xu, 100},
    Watched{"tensor pipe", "%", &Facts::tensor, 100},
    Watched{"issue slots used", "%", &Facts::issue, 100},
    Watched{"multiprocessors active", "%", &Facts::sm_active, 100},
    Watched{"occupancy", "%", &Facts::occupancy, 100},
    Watched{"possible occupancy", "%", &Facts::occupancy_possible, 100},
    Watched{"grid", "block", &Facts::grid, 1},
    Watched{"block", "thread", &Facts::block, 1},
    Watched{"registers", "register/thread", &Facts::registers, 1},
    Watched{"shared memory", "byte/block", &Facts::shared_per_block, 1},
    Watched{"instructions", "warp", &Facts::instructions, 1},
    Watched{"global loads", "warp", &Facts::global_loads, 1},
    Watched{"global stores", "warp", &Facts::global_stores, 1},
    Watched{"local loads and stores", "warp", &Facts::local, 1},
    Watched{"shared loads", "warp", &Facts::shared_loads, 1},
    Watched{"shared stores", "warp", &Facts::shared_stores, 1},
    Watched{"atomics", "warp", &Facts::atomics, 1},
    Watched{"sectors per load", "sector/request", &Facts::load_sectors_per_request, 1},
    Watched{"sectors per store", "sector/request", &Facts::store_sectors_per_request, 1},
    Watched{"excess sectors", "%", &Facts::excess_sectors, 100},
    Watched{"excess shared wavefronts", "%", &Facts::bank_excess, 100},
    Watched{"DRAM bytes", "byte", &Facts::dram_bytes, 1},
    Watched{"threads of a warp that take part", "thread", &Facts::lanes, 1},
    Watched{"waits for memory", "%", &Facts::long_scoreboard, 100},
    Watched{"waits at barriers", "%", &Facts::barrier, 100},
    Watched{"waits for shared memory", "%", &Facts::short_scoreboard, 100},
    Watched{"waits for instructions", "%", &Facts::no_instruction, 100},
    Watched{"waits for a busy pipe", "%", &Facts::math_throttle, 100}};

/// Worth a line: a share that moved by two points, or a number that moved by 2 %.
bool moved(const MetricDelta& delta) {
  if (delta.unit == "%") return std::abs(delta.after - delta.before) >= 2;
  const double larger = std::max(std::abs(delta.before), std::abs(delta.after));
  return larger > 0 && std::abs(delta.after - delta.before) >= 0.02 * larger;
}

double weight(const MetricDelta& delta) {
  const double larger = std::max(std::abs(delta.before), std::abs(delta.after));
  const double relative = std::abs(delta.after - delta.before) / larger;
  return delta.unit == "%" ? std::abs(delta.after - delta.before) / 100 : relative * 0.8;
}

std::vector<MetricDelta> metrics_of(const NcuKernel& before, const NcuKernel& after) {
  const Facts old_facts = facts_of(before), new_facts = facts_of(after);
  std::vector<MetricDelta> all;
  for (const Watched& one : k_watched) {
    const double a = old_facts.*one.field * one.scale, b = new_facts.*one.field * one.scale;
    if (std::isnan(a) || std::isnan(b)) continue;
    MetricDelta delta{one.metric, one.unit, a, b};
    if (moved(delta)) all.push_back(std::move(delta));
  }
  std::stable_sort(all.begin(), all.end(), [](const MetricDelta& a, const MetricDelta& b) {
    return weight(a) > weight(b);
  });
  return all;
}

Move move_of(const FindingDelta& delta) {
  if (delta.rank_after == 0) return Move::gone;
  if (delta.rank_before == 0) return Move::fresh;
  const double change = delta.bound_after - delta.bound_before;
  if (std::abs(change) < 0.03) return Move::same;
  return change < 0 ? Move::weaker : Move::stronger;
}

std::vector<FindingDelta> findings_of(const model::KernelDiagnosis& before,
                                      const model::KernelDiagnosis& after) {
  std::vector<FindingDelta> all;
  for (const model::Finding& finding : after.findings)
    all.push_back({finding.id, Move::same, 0, finding.rank, 0, finding.gain_bound});
  for (const model::Finding& finding : before.findings) {
    auto at = std::find_if(all.begin(), all.end(),
                           [&](const FindingDelta& d) { return d.id == finding.id; });
    if (at == all.end()) at = all.insert(at, {finding.id, Move::same, 0, 0, 0, 0});
    at->rank_before = finding.rank, at->bound_before = finding.gain_bound;
  }
  for (FindingDelta& delta : all) delta.move = move_of(delta);
  std::stable_sort(all.begin(), all.end(), [](const FindingDelta& a, const FindingDelta& b) {
    return static_cast<int>(a.move) < static_cast<int>(b.move);
  });
  return all;
}

/// Place in `all` of the kernel that `wanted` is, not yet taken.
std::optional<std::size_t> match(const model::KernelDiagnosis& wanted,
                                 const std::vector<model::KernelDiagnosis>& all,
                                 const std::vector<bool>& taken) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!taken[i] && all[i].name == wanted.name) return i;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!taken[i] && short_name(all[i].name) == short_name(wanted.name)) return i;
  return std::nullopt;
}

std::string ns_text(const std::optional<double>& ns) {
  return ns ? fmt::format("{:.2f}", *ns / 1e3) : "?";
}

std::string list(const std::vector<FindingDelta>& findings, Move move) {
  std::string out;
  for (const FindingDelta& each : findings)
    if (each.move == move) out += (out.empty() ? "" : ", ") + each.id;
  return out;
}

std::string number(double value) {
  return std::abs(value) >= 1e6 ? fmt::format("{:.4g}", value)
                                : fmt::format("{:.{}f}", value, std::abs(value) < 100 ? 1 : 0);
}

KernelDelta kernel_delta(const model::KernelDiagnosis& before,
                         const model::KernelDiagnosis& after) {
  KernelDelta delta;
  delta.name = after.name, delta.name_before = before.name;
  delta.ns_before = before.duration_ns, delta.ns_after = after.duration_ns;
  delta.ceiling_before = before.at_ceiling, delta.ceiling_after = after.at_ceiling;
  delta.roof_before = before.roof, delta.roof_after = after.roof;
  delta.done_before = before.done, delta.done_after = after.done;
  delta.findings = findings_of(before, after);
  return delta;
}

void note_differences(const model::KernelDiagnosis& before, const model::KernelDiagnosis& after,
                      Delta& delta) {
  if (before.name != after.name)
    delta.notes.push_back(fmt::format("taken for the same kernel: {} and {}",
                                      short_name(before.name), short_name(after.name)));
  if (!before.device.empty() && !after.device.empty() && before.device != after.device)
    delta.notes.push_back(
        fmt::format("not the same device: {} and {}", before.device, after.device));
}

} // namespace

std::optional<double> MetricDelta::change() const {
  if (before == 0) return std::nullopt;
  return after / before - 1;
}

const char* to_string(Move move) {
  switch (move) {
  case Move::gone: return "gone";
  case Move::fresh: return "new";
  case Move::weaker: return "weaker";
  case Move::stronger: return "stronger";
  case Move::same: return "same";
  }
  return "?";
}

Delta delta_of(const model::DiagnosisReport& before, const model::DiagnosisReport& after,
               const std::vector<NcuKernel>& before_raw, const std::vector<NcuKernel>& after_raw) {
  Delta delta;
  std::vector<bool> taken(before.kernels.size(), false);
  std::vector<std::optional<std::size_t>> partner(after.kernels.size());
  for (std::size_t i = 0; i < after.kernels.size(); ++i)
    if (auto at = match(after.kernels[i], before.kernels, taken))
      partner[i] = at, taken[*at] = true;
  if (before.kernels.size() == 1 && after.kernels.size() == 1) partner[0] = 0, taken[0] = true;
  const bool raw =
      before_raw.size() == before.kernels.size() && after_raw.size() == after.kernels.size();
  for (std::size_t i = 0; i < after.kernels.size(); ++i) {
    if (!partner[i]) {
      delta.only_after.push_back(after.kernels[i].name);
      continue;
    }
    const std::size_t old = *partner[i];
    note_differences(before.kernels[old], after.kernels[i], delta);
    delta.kernels.push_back(kernel_delta(before.kernels[old], after.kernels[i]));
    if (raw) delta.kernels.back().metrics = metrics_of(before_raw[old], after_raw[i]);
  }
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (!taken[i]) delta.only_before.push_back(before.kernels[i].name);
  return delta;
}

std::string summary(const KernelDelta& delta) {
  std::string out = fmt::format("{} -> {} us", ns_text(delta.ns_before), ns_text(delta.ns_after));
  if (delta.ns_before && delta.ns_after && *delta.ns_before > 0)
    out += fmt::format(" ({:+.1f} %)", 100 * (*delta.ns_after / *delta.ns_before - 1));
  if (std::string gone = list(delta.findings, Move::gone); !gone.empty()) out += "; gone: " + gone;
  if (std::string fresh = list(delta.findings, Move::fresh); !fresh.empty())
    out += "; new: " + fresh;
  if (delta.done_after && !delta.done_before) out += "; now at its ceiling";
  return out;
}

base::Json to_json(const Delta& delta) {
  Json kernels = Json::array();
  auto optional = [](const std::optional<double>& value, double scale) {
    return value ? number_or_null(*value * scale) : Json();
  };
  for (const KernelDelta& one : delta.kernels) {
    Json findings = Json::array(), metrics = Json::array();
    for (const FindingDelta& each : one.findings)
      findings.push_back({{"id", each.id},
                          {"move", to_string(each.move)},
                          {"rank_before", each.rank_before ? Json(each.rank_before) : Json()},
                          {"rank_after", each.rank_after ? Json(each.rank_after) : Json()},
                          {"gain_bound_before_pct", number_or_null(100 * each.bound_before)},
                          {"gain_bound_after_pct", number_or_null(100 * each.bound_after)}});
    for (const MetricDelta& each : one.metrics)
      metrics.push_back({{"metric", each.metric},
                         {"unit", each.unit},
                         {"before", number_or_null(each.before)},
                         {"after", number_or_null(each.after)},
                         {"change_pct", optional(each.change(), 100)}});
    kernels.push_back({{"name", one.name},
                       {"name_before", one.name_before},
                       {"duration_before_ns", optional(one.ns_before, 1)},
                       {"duration_after_ns", optional(one.ns_after, 1)},
                       {"at_ceiling_before_pct", optional(one.ceiling_before, 100)},
                       {"at_ceiling_after_pct", optional(one.ceiling_after, 100)},
                       {"roof_before", one.roof_before},
                       {"roof_after", one.roof_after},
                       {"findings", std::move(findings)},
                       {"metrics", std::move(metrics)}});
  }
  return {{"kernels", std::move(kernels)},
          {"only_before", delta.only_before},
          {"only_after", delta.only_after},
          {"notes", delta.notes}};
}

std::string to_text(const Delta& delta) {
  std::string out;
  for (const std::string& note : delta.notes) out += "note: " + note + "\n";
  for (const KernelDelta& one : delta.kernels) {
    out += fmt::format("{}  {}\n", short_name(one.name), summary(one));
    if (one.ceiling_before && one.ceiling_after)
      out += fmt::format("  ceiling: {:.0f} % of {} -> {:.0f} % of {}\n", 100 * *one.ceiling_before,
                         one.roof_before, 100 * *one.ceiling_after, one.roof_after);
    for (const FindingDelta& each : one.findings)
      out += fmt::format("  {:<9} {}: bound {:.0f} -> {:.0f} %\n", to_string(each.move), each.id,
                         100 * each.bound_before, 100 * each.bound_after);
    for (std::size_t i = 0; i < std::min<std::size_t>(12, one.metrics.size()); ++i) {
      const MetricDelta& each = one.metrics[i];
      out += fmt::format("    {:<32} {:>12} -> {:>12} {}\n", each.metric, number(each.before),
                         number(each.after), each.unit);
    }
  }
  for (const std::string& name : delta.only_before)
    out += "only before: " + short_name(name) + "\n";
  for (const std::string& name : delta.only_after) out += "only after: " + short_name(name) + "\n";
  return out;
}

} // namespace ako::profiles
