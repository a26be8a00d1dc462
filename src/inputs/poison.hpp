// Marks in memory: poison in outputs before a call, patterns in red zones.
#pragma once

#include "inputs/generator.hpp"
#include "model/resolved.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ako::inputs {

/// Which of two patterns. Wide floats: quiet NaNs with a payload no arithmetic makes. Types without
/// such NaNs (integers, fp8, fp4, bool) can hold the pattern lawfully: an element counts as
/// unwritten there only when two runs with different sentinels both left it.
enum class Sentinel { first, second };

std::uint64_t poison_code(model::Dtype dtype, Sentinel sentinel);
/// True where one run proves it: float64, float32, float16, bfloat16.
bool poison_is_decisive(model::Dtype dtype);
/// Fills all of destination, gaps of strided tensors included.
void poison(std::span<std::byte> destination, model::Dtype dtype, Sentinel sentinel);

struct PoisonFound {
  std::int64_t count = 0;             ///< logical elements still poisoned
  std::int64_t first = -1, last = -1; ///< row-major logical index; -1 = none
  std::int64_t gap_damage = 0;        ///< elements between the strides that were written
};
PoisonFound find_poison(std::span<const std::byte> bytes, const model::ResolvedTensor& tensor,
                        Sentinel sentinel);
/// Elements that hold `first` in `run_one` and `second` in `run_two`: never written in either.
PoisonFound confirm_poison(std::span<const std::byte> run_one, std::span<const std::byte> run_two,
                           const model::ResolvedTensor& tensor);

/// Red zones: position-dependent bytes, so that a shifted copy does not match. `origin` is the
/// zone's offset in its arena.
void paint_red_zone(std::span<std::byte> zone, std::uint64_t origin, std::uint64_t seed);
struct RedZoneDamage {
  std::int64_t bytes = 0;
  std::int64_t first = -1, last = -1; ///< offset in the zone
};
RedZoneDamage check_red_zone(std::span<const std::byte> zone, std::uint64_t origin,
                             std::uint64_t seed);

} // namespace ako::inputs
