#include "profiles/infer.hpp"

#include "arch/occupancy.hpp"
#include "profiles/findings.hpp"
#include "profiles/playbook.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::profiles {
namespace {

constexpr double k_highest_confidence = 0.5;
constexpr int k_assumed_threads = 256;

struct Floors {
  double memory_ns = 0, compute_ns = 0;
  bool from_cache = false;
};

Floors floors_of(const InferenceInput& in) {
  Floors out;
  const bool fits = in.warm && in.cache_bytes > 0 && in.bytes <= in.cache_bytes;
  out.from_cache = fits && in.cache_bytes_per_s > 0;
  const double bandwidth = out.from_cache ? in.cache_bytes_per_s : in.memory_bytes_per_s;
  if (bandwidth > 0) out.memory_ns = in.bytes / bandwidth * 1e9;
  if (in.flops_per_s > 0) out.compute_ns = in.flops / in.flops_per_s * 1e9;
  return out;
}

Candidate roof(const char* id, const char* what, double floor_ns, const InferenceInput& in) {
  const double share = floor_ns / in.time_ns;
  Candidate c =
      candidate(id, Nature::roof, std::max(0.0, 1 - share), k_highest_confidence,
                fmt::format("the {} floor of the contract's cost ({})", what, in.ceilings_from));
  prove(c, fmt::format("{} floor", what), floor_ns, "ns");
  prove(c, "measured time", in.time_ns, "ns");
  prove(c, "floor of the time", share * 100, "%", 60);
  return c;
}

void add_floors(const InferenceInput& in, const Floors& floors, std::vector<Candidate>& all) {
  const bool memory = floors.memory_ns >= floors.compute_ns;
  const double floor = memory ? floors.memory_ns : floors.compute_ns;
  if (floor < 0.6 * in.time_ns) return;
  all.push_back(memory ? roof(floors.from_cache ? "l2_bandwidth_bound" : "dram_bandwidth_bound",
                              floors.from_cache ? "cache" : "memory", floor, in)
                       : roof("compute_bound_fp32", "arithmetic", floor, in));
}

void add_resources(const InferenceInput& in, double left, std::vector<Candidate>& all) {
  const arch::Architecture* architecture = in.capability ? arch::find(in.capability) : nullptr;
  for (const ResourceUse& use : in.resources) {
    if (use.spill_load_bytes + use.spill_store_bytes > 0) {
      Candidate c = candidate("register_spills", Nature::excess, left, 0.45,
                              "what the floor does not account for");
      prove(c, "spilled bytes a thread, stores", double(use.spill_store_bytes), "byte");
      prove(c, "spilled bytes a thread, loads", double(use.spill_load_bytes), "byte");
      prove(c, "registers", use.registers, "register/thread");
      c.finding.lines.push_back(use.function);
      all.push_back(std::move(c));
      continue;
    }
    if (use.stack_bytes > 0) {
      Candidate c = candidate("local_memory_indexing", Nature::excess, left, 0.35,
                              "what the floor does not account for");
      prove(c, "stack frame without spills", double(use.stack_bytes), "byte");
      c.finding.lines.push_back(use.function);
      all.push_back(std::move(c));
    }
    if (!architecture || use.registers <= 0) continue;
    auto possible = arch::occupancy(*architecture,
                                    {k_assumed_threads, use.registers, int(use.shared_bytes), 0});
    if (!possible || possible->share > 0.5) continue;
    const bool shared = possible->limit == arch::Limit::shared_memory;
    Candidate c = candidate(shared ? "occupancy_shared_memory" : "occupancy_registers",
                            Nature::wait, left * (1 - possible->share), 0.3,
                            "the missing warps' share of what the floor does not account for");
    prove(c, "possible occupancy", 100 * possible->share, "%", 50);
    prove(c, "registers", use.registers, "register/thread");
    prove(c, "shared memory", double(use.shared_bytes), "byte/block");
    c.finding.against.push_back(fmt::format("blocks of {} threads are assumed", k_assumed_threads));
    c.finding.lines.push_back(use.function);
    all.push_back(std::move(c));
  }
}

/// Nothing points anywhere: what is left over is waiting of some kind.
void add_rest(const InferenceInput& in, const Floors& floors, double left,
              std::vector<Candidate>& all) {
  if (!all.empty()) return;
  const bool tiny = in.capability != 0 && in.time_ns < 5000;
  Candidate c = candidate(tiny ? "launch_overhead" : "memory_latency", Nature::wait, left, 0.2,
                          "what the floor does not account for");
  prove(c, "memory floor of the time", 100 * floors.memory_ns / in.time_ns, "%", 60);
  prove(c, "arithmetic floor of the time", 100 * floors.compute_ns / in.time_ns, "%", 60);
  prove(c, "measured time", in.time_ns, "ns");
  c.finding.against.push_back("dependent instructions, idle cores and branches look the same from "
                              "outside: only counters tell them apart");
  all.push_back(std::move(c));
}

} // namespace

model::KernelDiagnosis infer(const InferenceInput& in) {
  model::KernelDiagnosis out;
  out.name = in.name, out.device = in.device;
  if (!(in.time_ns > 0)) return out;
  out.duration_ns = in.time_ns;
  const Floors floors = floors_of(in);
  const double floor = std::max(floors.memory_ns, floors.compute_ns);
  if (floor > 0) {
    out.at_ceiling = floor / in.time_ns;
    out.roof = floors.compute_ns > floors.memory_ns ? "arithmetic"
               : floors.from_cache                  ? "cache bandwidth"
                                                    : "memory bandwidth";
    out.done = *out.at_ceiling >= 0.85;
  }
  const double left = std::clamp(1 - floor / in.time_ns, 0.0, 0.99);
  std::vector<Candidate> all;
  add_floors(in, floors, all);
  if (!out.done) add_resources(in, left, all);
  add_rest(in, floors, left, all);
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.finding.confidence * std::max(a.gain, 0.05) >
           b.finding.confidence * std::max(b.gain, 0.05);
  });
  for (Candidate& c : all) {
    c.finding.rank = static_cast<int>(out.findings.size()) + 1;
    c.finding.kind = kind_of(c.finding.id);
    c.finding.confidence = std::min(c.finding.confidence, k_highest_confidence);
    c.finding.against.push_back(k_inference);
    c.finding.moves = moves_for(c.finding.id, in.capability, in.lane);
    out.findings.push_back(std::move(c.finding));
  }
  out.kind = out.findings.front().kind;
  return out;
}

} // namespace ako::profiles
