"""Tiles of 128 by 128 with eight warps and three steps on their way; one scale of B a step, since a tile is one block wide;
neighbours share what is in the cache. Few rows: tiles of 64 rows."""
import triton
import triton.language as tl


@triton.jit
def gemm_tile(a, a_scale, b, b_scale, c, M, N, K: tl.constexpr, BM: tl.constexpr, STEP: tl.constexpr, GROUP: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), N // 128
    group, within = tl.program_id(0) // (GROUP * tiles_n), tl.program_id(0) % (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    m, n = group * GROUP + within % height, within // height
    rows = m * BM + tl.arange(0, BM)
    columns = n * 128 + tl.arange(0, 128)
    inner = tl.arange(0, STEP)
    steps: tl.constexpr = K // STEP
    left = a + (rows % M)[:, None].to(tl.int64) * K + inner[None, :]
    right = b + columns[None, :].to(tl.int64) * K + inner[:, None]
    total = tl.zeros((BM, 128), dtype=tl.float32)
    for step in range(0, steps):
        x_scale = tl.load(a_scale + (rows % M) * steps + step) * tl.load(b_scale + n * steps + step)
        total += tl.dot(tl.load(left + step * STEP), tl.load(right + step * STEP)) * x_scale[:, None]
    place = rows[:, None].to(tl.int64) * N + columns[None, :]
    tl.store(c + place, total.to(tl.bfloat16), mask=rows[:, None] < M)


def gemm_fp8(a, a_scale, b, b_scale, c, M, N, K):
    tall = 64 if M <= 64 else 128
    gemm_tile[(triton.cdiv(M, tall) * (N // 128),)](a, a_scale, b, b_scale, c, M, N, K, BM=tall, STEP=128, GROUP=8,
                                                    num_warps=4 if tall == 64 else 8, num_stages=3)
