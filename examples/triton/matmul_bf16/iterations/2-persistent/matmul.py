"""As many programs as multiprocessors; each walks over tiles, so that the loads of the next tile overlap the end of this
one."""
import triton
import triton.language as tl

PLACES = 132


@triton.jit
def tile_of(index, tiles_m, tiles_n, GROUP: tl.constexpr):
    group, within = index // (GROUP * tiles_n), index % (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    return group * GROUP + within % height, within // height


@triton.jit
def matmul_walk(a, b, c, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                GROUP: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    inner = tl.arange(0, BK)
    for index in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        m, n = tile_of(index, tiles_m, tiles_n, GROUP)
        rows, columns = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
        left = a + (rows % M)[:, None].to(tl.int64) * K + inner[None, :]
        right = b + (columns % N)[None, :].to(tl.int64) * K + inner[:, None]
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for begin in range(0, K, BK):
            total = tl.dot(tl.load(left + begin), tl.load(right + begin), total)
        place = rows[:, None].to(tl.int64) * N + columns[None, :]
        tl.store(c + place, total.to(tl.bfloat16), mask=(rows[:, None] < M) & (columns[None, :] < N))


def matmul(a, b, c, M, N, K):
    grid = (min(PLACES, triton.cdiv(M, 128) * triton.cdiv(N, 256)),)
    matmul_walk[grid](a, b, c, M, N, K, BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=3)
