#include "profiles/findings.hpp"

#include <algorithm>
#include <cmath>

namespace ako::profiles {

Candidate candidate(std::string id, Nature nature, double gain, double confidence,
                    std::string basis) {
  Candidate result;
  result.nature = nature;
  result.gain = std::clamp(or_zero(gain), 0.0, 0.99);
  result.finding.id = std::move(id);
  result.finding.confidence = confidence;
  result.finding.gain_bound = result.gain;
  result.finding.gain_basis = std::move(basis);
  return result;
}

namespace {

/// A pipe's use: its own counter, or the issue slots when most instructions are its own.
double pipe_use(const Facts& f, double counter, double own_warps) {
  double share = f.instructions > 0 ? own_warps / f.instructions : 0;
  double by_issue =
      share >= 0.5 ? or_zero(f.issue) * (std::isnan(f.sm_active) ? 1 : f.sm_active) : 0;
  return std::max(or_zero(counter), or_zero(by_issue));
}

} // namespace

std::vector<Roof> roofs_of(const Facts& f) {
  std::vector<Roof> all;
  const double dram = or_zero(f.dram), l2 = or_zero(f.l2);
  all.push_back({"dram_bandwidth_bound", "DRAM bandwidth",
                 "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", dram, 0.6, 0.8, 0.92});
  // What streams from DRAM passes L2 as well; L2 is the limit only when it serves much more than
  // DRAM does.
  all.push_back({"l2_bandwidth_bound", "L2 bandwidth",
                 "lts__throughput.avg.pct_of_peak_sustained_elapsed", dram > 0.7 * l2 ? 0 : l2, 0.6,
                 0.75, 0.85});
  all.push_back({"l1_shared_bandwidth_bound", "L1 and shared-memory bandwidth",
                 "l1tex__throughput.avg.pct_of_peak_sustained_active", or_zero(f.l1), 0.85, 0.9,
                 0.97});
  all.push_back({"compute_bound_tensor", "tensor pipe",
                 "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                 or_zero(f.tensor), 0.5, 0.8, 0.92});
  all.push_back({"compute_bound_fp64", "FP64 pipe",
                 "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed", or_zero(f.fp64),
                 0.6, 0.8, 0.95});
  all.push_back({"compute_bound_sfu", "special-function pipe",
                 "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed", or_zero(f.xu), 0.6,
                 0.8, 0.95});
  // The FMA pipe also multiplies integers, and the ALU pipe compares floats: the operations decide
  // whose roof it is.
  const double floats = or_zero(f.ffma) + or_zero(f.fadd_fmul);
  const bool counted = f.instructions > 0 && !std::isnan(f.ffma);
  const double float_share = counted ? floats / f.instructions : k_unknown;
  const double fma = pipe_use(f, f.fma, floats), alu = or_zero(f.alu);
  const bool integer = counted && float_share < 0.2;
  const double single = integer ? 0 : fma;
  const double whole = integer   ? std::max(alu, or_zero(f.fma))
                       : counted ? (alu > fma ? alu : 0)
                                 : alu;
  all.push_back({"compute_bound_fp32", "FP32 arithmetic",
                 "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed", single, 0.6, 0.8,
                 0.95});
  all.push_back({"compute_bound_int", "integer arithmetic",
                 "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed", whole, 0.6, 0.8,
                 0.95});
  return all;
}

double hardest(const std::vector<Roof>& roofs) {
  double most = 0;
  for (const Roof& roof : roofs) {
    // L1's counter also rises with requests that move little: below its claim it holds nothing
    // back.
    if (roof.id == "l1_shared_bandwidth_bound" && roof.used < roof.claims) continue;
    most = std::max(most, roof.used);
  }
  return most;
}

} // namespace ako::profiles
