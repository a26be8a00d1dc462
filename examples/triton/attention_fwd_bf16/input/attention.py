"""One program for 64 rows of one head; scores in tiles of 64 columns, three trips: maximum, sum, answer."""
import triton
import triton.language as tl


@triton.jit
def scores_of(rows, begin, q, k_at, S, scale, C, D: tl.constexpr, BN: tl.constexpr):
    columns = begin + tl.arange(0, BN)
    keys = tl.load(k_at + columns[None, :] * D + tl.arange(0, D)[:, None], mask=columns[None, :] < S, other=0.0)
    scores = tl.dot(q, keys) * scale
    hidden = (columns[None, :] >= S) | ((C != 0) & (columns[None, :] > rows[:, None]))
    return tl.where(hidden, -float("inf"), scores)


@triton.jit(do_not_specialize=["S"])
def attend(q, k, v, o, S, scale, C, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * S * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    mine = tl.load(q + head + rows[:, None] * D + depth[None, :], mask=rows[:, None] < S, other=0.0)
    most = tl.full((BM,), -float("inf"), dtype=tl.float32)
    for begin in range(0, S, BN):
        most = tl.maximum(most, tl.max(scores_of(rows, begin, mine, k + head, S, scale, C, D, BN), axis=1))
    total = tl.zeros((BM,), dtype=tl.float32)
    for begin in range(0, S, BN):
        total += tl.sum(tl.exp(scores_of(rows, begin, mine, k + head, S, scale, C, D, BN) - most[:, None]), axis=1)
    answer = tl.zeros((BM, D), dtype=tl.float32)
    for begin in range(0, S, BN):
        p = tl.exp(scores_of(rows, begin, mine, k + head, S, scale, C, D, BN) - most[:, None]) / total[:, None]
        columns = begin + tl.arange(0, BN)
        values = tl.load(v + head + columns[:, None] * D + depth[None, :], mask=columns[:, None] < S, other=0.0)
        answer = tl.dot(p.to(tl.bfloat16), values, answer)
    tl.store(o + head + rows[:, None] * D + depth[None, :], answer.to(tl.bfloat16), mask=rows[:, None] < S)


def attention(q, k, v, o, B, S, C):
    heads, depth = q.shape[1], q.shape[3]
    attend[(triton.cdiv(S, 64), B * heads)](q, k, v, o, S, depth**-0.5, C - 1, D=depth, BM=64, BN=64)
