"""By descriptors; rows a tile, warps, stages and order chosen by trying them on this device."""
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def set_tiles(named):
    """The descriptors take the tile that is tried."""
    named["a"].block_shape = [named["BM"], 128]
    named["c"].block_shape = [named["BM"], 128]


@triton.autotune([triton.Config({"BM": bm, "GROUP": group}, num_warps=warps, num_stages=stages, pre_hook=set_tiles)
                  for bm, warps in ((64, 4), (128, 4), (128, 8)) for stages in (3, 4) for group in (8,)],
                 key=["M"])
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
    some = [64, 128]  # until a configuration sets it
    gemm_tile[lambda meta: (triton.cdiv(M, meta["BM"]) * (N // 128),)](
        TensorDescriptor(a, [M, K], [K, 1], some), a_scale, TensorDescriptor(b, [N, K], [K, 1], [128, 128]), b_scale,
        TensorDescriptor(c, [M, N], [N, 1], some), M, N, K, STEP=128)
