#include "profiles/diagnose.hpp"

#include "arch/architecture.hpp"
#include "profiles/findings.hpp"
#include "profiles/playbook.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::profiles {
namespace {

std::string device_of(const NcuKernel& kernel) {
  std::string target;
  for (char c : kernel.capability)
    if (c != '.') target += c;
  if (target.empty()) return kernel.device_name;
  return kernel.device_name.empty() ? "sm_" + target
                                    : fmt::format("{} (sm_{})", kernel.device_name, target);
}

/// The roof that is used most of what it can give.
const Roof* tallest(const std::vector<Roof>& roofs) {
  const Roof* best = nullptr;
  for (const Roof& roof : roofs)
    if (roof.used > 0 && (!best || roof.used / roof.best > best->used / best->best)) best = &roof;
  return best;
}

Candidate roof_candidate(const Roof& roof, const Facts& f, double confidence) {
  Candidate c =
      candidate(roof.id, Nature::roof, std::max(0.0, 1 - roof.used / roof.best), confidence,
                fmt::format("the best kernels reach {:.0f} % of this roof", roof.best * 100));
  prove(c, roof.metric, roof.used * 100, "%", roof.claims * 100);
  if (roof.id == "compute_bound_fp32") {
    prove(c, "smsp__issue_active.avg.per_cycle_active", f.issue, "inst/cycle");
    prove(c, "FP32 operations of all instructions",
          (or_zero(f.ffma) + or_zero(f.fadd_fmul)) / f.instructions * 100, "%");
  }
  return c;
}

void add_roofs(const std::vector<Roof>& roofs, const Facts& f, std::vector<Candidate>& all) {
  const Roof* top = tallest(roofs);
  for (const Roof& roof : roofs) {
    if (roof.used < roof.claims) continue;
    Candidate c = roof_candidate(roof, f, &roof == top ? 0.9 : 0.5);
    if (&roof != top)
      c.finding.against.push_back(fmt::format("{} is nearer to its end", top->name));
    all.push_back(std::move(c));
  }
  if (!all.empty() || !top) return;
  // Nothing else explains the time: the busiest unit is named with little confidence.
  Candidate c = roof_candidate(*top, f, 0.3);
  c.finding.against.push_back(fmt::format(
      "only {:.0f} % of the peak: dependent instructions or mixed limits; more independent "
      "work for each thread is the first thing to try",
      top->used * 100));
  all.push_back(std::move(c));
}

/// DRAM and L2 serve the whole device; the other roofs stand in each multiprocessor.
bool is_shared(const Roof& roof) {
  return roof.id == "dram_bandwidth_bound" || roof.id == "l2_bandwidth_bound";
}

/// A larger score stands earlier.
double score(const Candidate& c, bool at_ceiling, const Roof& top) {
  switch (c.nature) {
  case Nature::excess:
  case Nature::wait: return c.gain;
  case Nature::idle:
    if (!at_ceiling) return c.gain;
    // Idle multiprocessors that account for most of what is missing to the peak of their own pipes
    // are the cause.
    return !is_shared(top) && c.gain >= 0.1 && c.gain >= 0.5 * (1 - top.used)
               ? 0.36
               : std::min(c.gain, 0.3);
  case Nature::roof:
    if (c.finding.id != top.id) return 0.01 * c.gain;
    // A reached roof stands before small causes; one that is not reached is a symptom: half its gap
    // may rank.
    return at_ceiling ? 0.35 : std::max(0.04, 0.45 * c.gain);
  }
  return 0;
}

/// Findings that a stronger one already explains say so, or go.
void settle(std::vector<Candidate>& all) {
  auto has = [&](std::string_view id) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Candidate& c) { return c.finding.id == id; }) != all.end();
  };
  auto drop = [&](std::string_view id) {
    std::erase_if(all, [&](const Candidate& c) { return c.finding.id == id; });
  };
  if (has("atomic_contention") || has("register_spills") || has("local_memory_indexing"))
    drop("memory_latency");
  if (has("small_grid")) {
    // Shares of a whole device say nothing while most of it has no block.
    std::erase_if(all, [](const Candidate& c) { return c.nature == Nature::roof; });
    drop("block_imbalance");
  }
  for (Candidate& c : all) {
    if (c.finding.id == "l1_shared_bandwidth_bound" && has("shared_bank_conflicts"))
      c.finding.against.push_back("the pipe is busy with conflicts: see shared_bank_conflicts");
    if ((c.finding.id == "dram_bandwidth_bound" || c.finding.id == "l2_bandwidth_bound") &&
        (has("uncoalesced_global_access") || has("register_spills") ||
         has("local_memory_indexing")))
      c.finding.against.push_back("much of this traffic need not be there");
    if (c.finding.id == "memory_latency" && has("uncoalesced_global_access"))
      c.finding.against.push_back(
          "requests of many sectors take longer: see uncoalesced_global_access");
  }
}

} // namespace

model::KernelDiagnosis diagnose(const NcuKernel& kernel, const DiagnoseOptions& options) {
  model::KernelDiagnosis result;
  result.name = kernel.name, result.launch = kernel.id, result.device = device_of(kernel);
  const Facts facts = facts_of(kernel);
  if (!std::isnan(facts.duration_ns)) result.duration_ns = facts.duration_ns;
  const std::vector<Roof> roofs = roofs_of(facts);
  const Roof* top = tallest(roofs);
  if (!top) return result; // no roof was measured: nothing can be said

  std::vector<Candidate> all;
  find_excess(facts, roofs, all);
  find_idle(facts, roofs, all);
  find_waits(facts, roofs, all);
  const bool at_ceiling = top->used >= top->reached;
  if (at_ceiling) std::erase_if(all, [](const Candidate& c) { return c.nature == Nature::wait; });
  add_roofs(roofs, facts, all);
  settle(all);
  std::stable_sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    return score(a, at_ceiling, *top) > score(b, at_ceiling, *top);
  });

  result.roof = top->name;
  result.at_ceiling = top->used;
  result.done = at_ceiling && !all.empty() && all.front().nature == Nature::roof;
  const arch::Architecture* architecture = arch::find(kernel.capability);
  for (Candidate& c : all) {
    c.finding.rank = static_cast<int>(result.findings.size()) + 1;
    c.finding.kind = kind_of(c.finding.id);
    c.finding.moves =
        moves_for(c.finding.id, architecture ? architecture->capability : 0, options.lane);
    result.findings.push_back(std::move(c.finding));
  }
  if (!result.findings.empty()) result.kind = result.findings.front().kind;
  return result;
}

} // namespace ako::profiles
