"""One trip over the keys, 128 rows a program. Most tiles need no mask: those go first, without one, and only the tiles on the
diagonal and at the end are masked. The last rows, which have most to do, begin first."""
import triton
import triton.language as tl


@triton.jit
def tiles(mine, answer, total, most, k, v, rows, begin_at, end, S, scale, C: tl.constexpr, D: tl.constexpr,
          BN: tl.constexpr, MASKED: tl.constexpr):
    depth = tl.arange(0, D)
    for begin in tl.range(begin_at, end, BN):
        columns = begin + tl.arange(0, BN)
        if MASKED:
            keys = tl.load(k + columns[None, :] * D + depth[:, None], mask=columns[None, :] < S, other=0.0)
            values = tl.load(v + columns[:, None] * D + depth[None, :], mask=columns[:, None] < S, other=0.0)
        else:
            keys = tl.load(k + columns[None, :] * D + depth[:, None])
            values = tl.load(v + columns[:, None] * D + depth[None, :])
        scores = tl.dot(mine, keys)
        if MASKED:
            hidden = columns[None, :] >= S
            if C:
                hidden = hidden | (columns[None, :] > rows[:, None])
            scores = tl.where(hidden, -float("inf"), scores)
        higher = tl.maximum(most, tl.max(scores, axis=1) * scale)
        p = tl.exp2(scores * scale - higher[:, None])
        shrink = tl.exp2(most - higher)
        total = total * shrink + tl.sum(p, axis=1)
        answer = tl.dot(p.to(tl.bfloat16), values, answer * shrink[:, None])
        most = higher
    return answer, total, most


@triton.jit(do_not_specialize=["S"])
def attend(q, k, v, o, S, scale, C: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.num_programs(0) - 1 - tl.program_id(0) if C else tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * S * D
    rows = block * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    mine = tl.load(q + head + rows[:, None] * D + depth[None, :], mask=rows[:, None] < S, other=0.0)
    most = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    answer = tl.zeros((BM, D), dtype=tl.float32)
    end = min(S, (block + 1) * BM) if C else S
    clear = (min(S, block * BM) if C else S) // BN * BN
    scale *= 1.4426950408889634
    answer, total, most = tiles(mine, answer, total, most, k + head, v + head, rows, 0, clear, S, scale, C, D, BN, False)
    answer, total, most = tiles(mine, answer, total, most, k + head, v + head, rows, clear, end, S, scale, C, D, BN, True)
    answer = answer / total[:, None]
    tl.store(o + head + rows[:, None] * D + depth[None, :], answer.to(tl.bfloat16), mask=rows[:, None] < S)


def attention(q, k, v, o, B, S, C):
    heads, depth = q.shape[1], q.shape[3]
    attend[(triton.cdiv(S, 128), B * heads)](q, k, v, o, S, depth**-0.5, C=C - 1, D=depth, BM=128, BN=64, num_warps=8,
                                             num_stages=3)
