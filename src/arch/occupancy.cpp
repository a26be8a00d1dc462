#include "arch/occupancy.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::arch {
namespace {

int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

int blocks_by_registers(const SmLimits& sm, int warps, int registers) {
  if (registers == 0) return sm.blocks;
  // Each partition gives registers of its own, warp by warp.
  const int per_warp = round_up(registers * 32, sm.register_unit);
  const int resident = sm.registers / sm.partitions / per_warp * sm.partitions;
  return resident / warps;
}

} // namespace

const char* to_string(Limit limit) {
  switch (limit) {
  case Limit::blocks: return "blocks";
  case Limit::warps: return "warps";
  case Limit::registers: return "registers";
  case Limit::shared_memory: return "shared memory";
  }
  return "?";
}

base::Expected<Occupancy> occupancy(const Architecture& architecture, const BlockShape& block) {
  const SmLimits& sm = architecture.limits;
  auto out_of_range = [&](const char* what, int found, int most) {
    return base::fail(
        base::ErrorKind::invalid,
        fmt::format("a block of this shape cannot be launched on {}", architecture.name),
        {what, std::to_string(found), fmt::format("at most {}", most), "make the block smaller"});
  };
  if (block.threads < 1 || block.threads > 1024)
    return out_of_range("threads", block.threads, 1024);
  if (block.registers_per_thread < 0 || block.registers_per_thread > sm.registers_per_thread)
    return out_of_range("registers per thread", block.registers_per_thread,
                        sm.registers_per_thread);
  if (block.shared_bytes < 0 || block.shared_bytes > sm.shared_per_block)
    return out_of_range("shared bytes", block.shared_bytes, sm.shared_per_block);

  const int warps = (block.threads + 31) / 32;
  Occupancy result;
  result.by_blocks = sm.blocks;
  result.by_warps = sm.warps / warps;
  result.by_registers = blocks_by_registers(sm, warps, block.registers_per_thread);
  const int per_block = round_up(block.shared_bytes + sm.shared_reserved, sm.shared_unit);
  const int shared = block.shared_configuration > 0
                         ? std::min(block.shared_configuration, sm.shared_bytes)
                         : sm.shared_bytes;
  result.by_shared = shared / per_block;
  if (result.by_registers == 0)
    return out_of_range("registers of a block", block.registers_per_thread * block.threads,
                        sm.registers);
  // Order of preference among equals: what a source change moves most directly.
  const std::pair<int, Limit> limits[] = {{result.by_registers, Limit::registers},
                                          {result.by_shared, Limit::shared_memory},
                                          {result.by_blocks, Limit::blocks},
                                          {result.by_warps, Limit::warps}};
  auto least = std::min_element(std::begin(limits), std::end(limits),
                                [](auto& a, auto& b) { return a.first < b.first; });
  result.blocks = least->first;
  result.limit = least->second;
  result.warps = result.blocks * warps;
  result.share = double(result.warps) / sm.warps;
  return result;
}

} // namespace ako::arch
