"""Tiles come and go by descriptors (the hardware's copy engine): no thread computes addresses."""
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

PLACES = 132


@triton.jit
def tile_of(index, tiles_m, tiles_n, GROUP: tl.constexpr):
    group, within = index // (GROUP * tiles_n), index % (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    return group * GROUP + within % height, within // height


@triton.jit(do_not_specialize=["M", "N"])
def matmul_walk(a, b, c, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                GROUP: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for index in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        m, n = tile_of(index, tiles_m, tiles_n, GROUP)
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for begin in range(0, K, BK):
            x = a.load([m * BM, begin])
            w = b.load([n * BN, begin])
            total = tl.dot(x, w.T, total)
        c.store([m * BM, n * BN], total.to(tl.bfloat16))


def matmul(a, b, c, M, N, K):
    bm, bn, bk = 128, 256, 64
    grid = (min(PLACES, triton.cdiv(M, bm) * triton.cdiv(N, bn)),)
    matmul_walk[grid](TensorDescriptor(a, [M, K], [K, 1], [bm, bk]), TensorDescriptor(b, [N, K], [K, 1], [bn, bk]),
                      TensorDescriptor(c, [M, N], [N, 1], [bm, bn]), M, N, K, BM=bm, BN=bn, BK=bk, GROUP=8,
                      num_warps=8, num_stages=3)
