"""Tiles come by descriptors (the hardware's copy engine); four steps on their way."""
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit(do_not_specialize=["M"])
def gemm_tile(a, a_scale, b, b_scale, c, M, N, K: tl.constexpr, BM: tl.constexpr, STEP: tl.constexpr, GROUP: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), N // 128
    group, within = tl.program_id(0) // (GROUP * tiles_n), tl.program_id(0) % (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    m, n = group * GROUP + within % height, within // height
    rows = m * BM + tl.arange(0, BM)
    steps: tl.constexpr = K // STEP
    total = tl.zeros((BM, 128), dtype=tl.float32)
    for step in range(0, steps):
        x = a.load([m * BM, step * STEP])
        w = b.load([n * 128, step * STEP])
        x_scale = tl.load(a_scale + (rows % M) * steps + step) * tl.load(b_scale + n * steps + step)
        total += tl.dot(x, w.T) * x_scale[:, None]
    c.store([m * BM, n * 128], total.to(tl.bfloat16))


def gemm_fp8(a, a_scale, b, b_scale, c, M, N, K):
    tall = 64 if M <= 64 else 128
    gemm_tile[(triton.cdiv(M, tall) * (N // 128),)](
        TensorDescriptor(a, [M, K], [K, 1], [tall, 128]), a_scale, TensorDescriptor(b, [N, K], [K, 1], [128, 128]), b_scale,
        TensorDescriptor(c, [M, N], [N, 1], [tall, 128]), M, N, K, BM=tall, STEP=128, GROUP=8,
        num_warps=4 if tall == 64 else 8, num_stages=4)
