"""One trip over the keys: the sum and the answer are scaled whenever the maximum grows. Base 2, as the hardware has it; no
program looks at keys that none of its rows may see."""
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["S"])
def attend(q, k, v, o, S, scale, C: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * S * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    mine = tl.load(q + head + rows[:, None] * D + depth[None, :], mask=rows[:, None] < S, other=0.0)
    most = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    answer = tl.zeros((BM, D), dtype=tl.float32)
    end = min(S, (tl.program_id(0) + 1) * BM) if C else S
    for begin in range(0, end, BN):
        columns = begin + tl.arange(0, BN)
        keys = tl.load(k + head + columns[None, :] * D + depth[:, None], mask=columns[None, :] < S, other=0.0)
        scores = tl.dot(mine, keys) * (scale * 1.4426950408889634)
        hidden = columns[None, :] >= S
        if C:
            hidden = hidden | (columns[None, :] > rows[:, None])
        scores = tl.where(hidden, -float("inf"), scores)
        higher = tl.maximum(most, tl.max(scores, axis=1))
        p = tl.exp2(scores - higher[:, None])
        shrink = tl.exp2(most - higher)
        total = total * shrink + tl.sum(p, axis=1)
        values = tl.load(v + head + columns[:, None] * D + depth[None, :], mask=columns[:, None] < S, other=0.0)
        answer = tl.dot(p.to(tl.bfloat16), values, answer * shrink[:, None])
        most = higher
    answer = answer / total[:, None]
    tl.store(o + head + rows[:, None] * D + depth[None, :], answer.to(tl.bfloat16), mask=rows[:, None] < S)


def attention(q, k, v, o, B, S, C):
    heads, depth = q.shape[1], q.shape[3]
    attend[(triton.cdiv(S, 64), B * heads)](q, k, v, o, S, depth**-0.5, C=C - 1, D=depth, BM=64, BN=64, num_warps=4)
