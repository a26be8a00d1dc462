"""One program a tile of 64 by 128, one step of 128 after the other."""
import triton
import triton.language as tl


@triton.jit
def gemm_tile(a, a_scale, b, b_scale, c, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, STEP)
    steps: tl.constexpr = K // STEP
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, steps):
        x = tl.load(a + rows[:, None].to(tl.int64) * K + step * STEP + inner[None, :], mask=rows[:, None] < M, other=0.0)
        w = tl.load(b + columns[None, :].to(tl.int64) * K + step * STEP + inner[:, None])
        x_scale = tl.load(a_scale + rows * steps + step, mask=rows < M, other=0.0)
        w_scale = tl.load(b_scale + (columns // 128) * steps + step)
        total += tl.dot(x, w) * x_scale[:, None] * w_scale[None, :]
    place = rows[:, None].to(tl.int64) * N + columns[None, :]
    tl.store(c + place, total.to(tl.bfloat16), mask=rows[:, None] < M)


def gemm_fp8(a, a_scale, b, b_scale, c, M, N, K):
    gemm_tile[(triton.cdiv(M, 64), N // 128)](a, a_scale, b, b_scale, c, M, N, K, BM=64, BN=128, STEP=128, num_stages=2)
