#include "arch/roofline.hpp"

#include <algorithm>

namespace ako::arch {
namespace {

double tensor_peak(const TensorPeaks& peaks, TensorType type) {
  switch (type) {
  case TensorType::none: return 0;
  case TensorType::tf32: return peaks.tf32;
  case TensorType::bf16: return peaks.bf16;
  case TensorType::fp8: return peaks.fp8;
  case TensorType::fp4: return peaks.fp4;
  case TensorType::int8: return peaks.int8;
  case TensorType::fp64: return peaks.fp64;
  }
  return 0;
}

} // namespace

Ceilings ceilings(const Architecture& architecture, const Device* device, int sms, double hz,
                  TensorType type) {
  Ceilings result;
  if (sms <= 0 && device) sms = device->sms;
  if (hz <= 0 && device) hz = device->boost_hz;
  result.fp32_flops = 2 * architecture.rates.fp32 * sms * hz;
  result.fp64_flops = 2 * architecture.rates.fp64 * sms * hz;
  result.basis = device ? Basis::datasheet : Basis::derived;
  if (device) {
    result.dram_bytes_per_s = device->dram_bytes_per_s;
    result.tensor_flops = tensor_peak(device->tensor, type);
  }
  return result;
}

std::vector<RoofShare> roofline(const Work& work, const Ceilings& roof, double time_ns) {
  std::vector<RoofShare> all;
  auto add = [&](const char* name, double amount, double per_second) {
    if (amount <= 0 || per_second <= 0) return;
    double floor_ns = amount / per_second * 1e9;
    all.push_back({name, floor_ns, time_ns > 0 ? floor_ns / time_ns : 0});
  };
  add("dram", work.dram_bytes, roof.dram_bytes_per_s);
  add("l2", work.l2_bytes, roof.l2_bytes_per_s);
  add("fp32", work.fp32_flops, roof.fp32_flops);
  add("fp64", work.fp64_flops, roof.fp64_flops);
  add("tensor", work.tensor_flops, roof.tensor_flops);
  std::stable_sort(all.begin(), all.end(),
                   [](const RoofShare& a, const RoofShare& b) { return a.floor_ns > b.floor_ns; });
  return all;
}

double ridge(const Ceilings& roof, bool tensor) {
  double flops = tensor ? roof.tensor_flops : roof.fp32_flops;
  return roof.dram_bytes_per_s > 0 ? flops / roof.dram_bytes_per_s : 0;
}

} // namespace ako::arch
