"""Narrow rows: several a program. Wide rows: as many programs as places, each with the next row on its way into shared memory
while it works on this one."""
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
PLACES = 132


@triton.jit
def softmax_tile(x, y, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    place = row[:, None] * N + at[None, :]
    inside = (row[:, None] < M) & (at[None, :] < N)
    values = tl.load(x + place, mask=inside, other=-float("inf"), eviction_policy="evict_first").to(tl.float32)
    values *= LOG2E
    most = tl.max(values, axis=1)
    most = tl.where(row < M, most, 0.0)
    e = tl.exp2(values - most[:, None])
    total = tl.where(row < M, tl.sum(e, axis=1), 1.0)
    tl.store(y + place, (e * (1.0 / total)[:, None]).to(tl.bfloat16), mask=inside, eviction_policy="evict_first")


@triton.jit(do_not_specialize=["M"])
def softmax_walk(x, y, M, N, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for index in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=STAGES):
        row = index.to(tl.int64) * N
        values = tl.load(x + row + at, mask=at < N, other=-float("inf")).to(tl.float32)
        values *= LOG2E
        e = tl.exp2(values - tl.max(values))
        tl.store(y + row + at, (e * (1.0 / tl.sum(e))).to(tl.bfloat16), mask=at < N)


def softmax_rows(x, y, M, N):
    block = triton.next_power_of_2(N)
    if block >= 16384 and M > PLACES:
        softmax_walk[(PLACES,)](x, y, M, N, BLOCK=block, STAGES=2, num_warps=32)
        return
    rows = max(1, min(8, 4096 // block))
    softmax_tile[(triton.cdiv(M, rows),)](x, y, M, N, ROWS=rows, BLOCK=block,
                                          num_warps=min(32, max(4, rows * block // 1024)))
