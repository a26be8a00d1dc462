"""By descriptors, with the tile's extents chosen by trying them on this device."""
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

PLACES = 132


def set_tiles(named):
    """The descriptors take the tile that is tried."""
    named["a"].block_shape = [named["BM"], named["BK"]]
    named["b"].block_shape = [named["BN"], named["BK"]]
    named["c"].block_shape = [named["BM"], named["BN"]]


@triton.jit
def tile_of(index, tiles_m, tiles_n, GROUP: tl.constexpr):
    group, within = index // (GROUP * tiles_n), index % (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    return group * GROUP + within % height, within // height


@triton.autotune(
    [triton.Config({"BM": bm, "BN": bn, "BK": 64, "GROUP": group}, num_warps=warps, num_stages=stages, pre_hook=set_tiles)
     for bm, bn, warps in ((128, 256, 8), (128, 128, 4)) for stages in (3, 4) for group in (8, 16)],
    key=["M", "N"])
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
    some = [1, 1]  # until a configuration sets them
    matmul_walk[lambda meta: (min(PLACES, triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"])),)](
        TensorDescriptor(a, [M, K], [K, 1], some), TensorDescriptor(b, [N, K], [K, 1], some),
        TensorDescriptor(c, [M, N], [N, 1], some), M, N, K)
