// A planted kernel: one launch with one cause of slowness that is known beforehand, because it was
// put there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <vector>

namespace planted {

/// Device memory that every plant works on: three areas of k_area bytes, filled with pseudo-random
/// bits whose floating-point reading is finite (area a: floats in [0, 1); b: the same; u: 32-bit
/// integers).
constexpr std::size_t k_area = std::size_t(512) << 20;
struct Pool {
  float* a = nullptr;
  float* b = nullptr;
  std::uint32_t* u = nullptr;
  int sms = 0;
};

struct Plant {
  const char* name; ///< of the capture
  const char* id;   ///< the finding that must come first
  bool tuned;       ///< nothing left to win but the roof itself
  void (*launch)(const Pool&);
};

std::vector<Plant>& plants();
struct Register {
  Register(const char* name, const char* id, bool tuned, void (*launch)(const Pool&)) {
    plants().push_back({name, id, tuned, launch});
  }
};

#define PLANT(NAME, ID, TUNED)                                                                     \
  static void launch_##NAME(const Pool& pool);                                                     \
  static const Register reg_##NAME(#NAME, #ID, TUNED, launch_##NAME);                              \
  static void launch_##NAME([[maybe_unused]] const Pool& pool)

__device__ inline std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

} // namespace planted
