// What the tensor cores reach by themselves: products of tiles that never leave the multiprocessor.
#pragma once

#include "device/kernels.hpp"

#include <string>
#include <vector>

namespace ako::device {

/// One instruction repeated. Contents are random within [0.5, 1), signs too: zeros draw less power
/// and read faster than any real product.
struct TensorRate {
  std::string dtype;      ///< as in contracts: float16, bfloat16, float8_e4m3fn, int8
  std::string kernel;     ///< its name in the source
  std::string how;        ///< "wgmma" or "mma.sync"
  double ops_a_round = 0; ///< operations of one block in one round; a multiply-add is two
  unsigned blocks_per_sm = 1, threads = 256;
};

/// wgmma on compute capability 9.0; mma.sync elsewhere, which on 10.x is below what tcgen05
/// reaches. Empty below 8.0.
std::vector<TensorRate> tensor_rates(int major, int minor);
/// What NVRTC must be told: sm_90a, or sm_XY.
std::string tensor_architecture(int major, int minor);
/// CUDA source of all of them; each takes one WorkParams.
std::string tensor_source(int major, int minor);

} // namespace ako::device
