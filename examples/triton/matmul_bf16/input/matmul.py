"""One program a tile of 64 by 64, in steps of 32 along the inner axis."""
import triton
import triton.language as tl


@triton.jit
def matmul_tile(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + rows[:, None].to(tl.int64) * K + inner[None, :]
    right = b + columns[None, :].to(tl.int64) * K + inner[:, None]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for begin in range(0, K, BK):
        inside = begin + inner < K
        x = tl.load(left + begin, mask=(rows[:, None] < M) & inside[None, :], other=0.0)
        w = tl.load(right + begin, mask=(columns[None, :] < N) & inside[:, None], other=0.0)
        total = tl.dot(x, w, total)
    place = rows[:, None].to(tl.int64) * N + columns[None, :]
    tl.store(c + place, total.to(tl.bfloat16), mask=(rows[:, None] < M) & (columns[None, :] < N))


def matmul(a, b, c, M, N, K):
    matmul_tile[(triton.cdiv(M, 64), triton.cdiv(N, 64))](a, b, c, M, N, K, BM=64, BN=64, BK=32)
