"""Tiles of 128 by 256 with 64 along the inner axis, four steps on their way, and an order in which neighbours share what
is in the cache."""
import triton
import triton.language as tl


@triton.jit
def matmul_tile(a, b, c, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                GROUP: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group, within = tl.program_id(0) // (GROUP * tiles_n), tl.program_id(0) % (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    rows = (group * GROUP + within % height) * BM + tl.arange(0, BM)
    columns = (within // height) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + (rows % M)[:, None].to(tl.int64) * K + inner[None, :]
    right = b + (columns % N)[None, :].to(tl.int64) * K + inner[:, None]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for begin in range(0, K, BK):
        total = tl.dot(tl.load(left + begin), tl.load(right + begin), total)
    place = rows[:, None].to(tl.int64) * N + columns[None, :]
    tl.store(c + place, total.to(tl.bfloat16), mask=(rows[:, None] < M) & (columns[None, :] < N))


def matmul(a, b, c, M, N, K):
    grid = (triton.cdiv(M, 128) * triton.cdiv(N, 256),)
    matmul_tile[grid](a, b, c, M, N, K, BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=4)
