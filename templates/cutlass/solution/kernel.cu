// The candidate: change this file, one idea at a time, and run `ako try --hypothesis "the idea"`.
// cutlass >= 3.5
#include <cute/tensor.hpp>
#include <cutlass/bfloat16.h>
#include <cutlass/cutlass.h>

using namespace cute;
using Brain = cutlass::bfloat16_t;

/// A block takes a tile of 1024, a thread every 256th element of it.
__global__ void scale_add_kernel(const Brain* x, const Brain* y, Brain* out, int n, float a) {
  const auto whole = make_layout(make_shape(n));
  const auto tile = make_shape(Int<1024>{});
  const auto block = make_coord(blockIdx.x);
  const Tensor tile_x = local_tile(make_tensor(make_gmem_ptr(x), whole), tile, block);
  const Tensor tile_y = local_tile(make_tensor(make_gmem_ptr(y), whole), tile, block);
  Tensor tile_out = local_tile(make_tensor(make_gmem_ptr(out), whole), tile, block);
  const Tensor places = local_tile(make_identity_tensor(make_shape(n)), tile, block);
  CUTE_UNROLL
  for (int i = threadIdx.x; i < 1024; i += 256)
    if (elem_less(places(i), make_coord(n)))
      tile_out(i) = Brain(a * static_cast<float>(tile_x(i)) + static_cast<float>(tile_y(i)));
}

cudaError_t scale_add(const Brain* x, const Brain* y, Brain* out, int n, float a,
                      cudaStream_t stream) {
  scale_add_kernel<<<(n + 1023) / 1024, 256, 0, stream>>>(x, y, out, n, a);
  return cudaGetLastError();
}
