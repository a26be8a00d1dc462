"""One program for 64 rows of one head, wherever they lie: it walks over the lengths until it finds its sequence. Three trips
over the keys: maximum, sum, answer."""
import triton
import triton.language as tl


@triton.jit
def place_of(index, starts, B, BM: tl.constexpr):
    """The sequence that tile `index` belongs to: its first row, its end, and the tile's first row within it; end = begin where
    there are fewer tiles."""
    begin, end, first, seen = 0, 0, 0, 0
    for b in range(B):
        low, high = tl.load(starts + b), tl.load(starts + b + 1)
        tiles = tl.cdiv(high - low, BM)
        mine = (index >= seen) & (index < seen + tiles)
        begin, end = tl.where(mine, low, begin), tl.where(mine, high, end)
        first = tl.where(mine, (index - seen) * BM, first)
        seen += tiles
    return begin, end, first


@triton.jit
def scores_of(rows, at, mine, keys_at, length, scale, ROW: tl.constexpr, D: tl.constexpr, BN: tl.constexpr):
    columns = at + tl.arange(0, BN)
    keys = tl.load(keys_at + columns[None, :] * ROW + tl.arange(0, D)[:, None], mask=columns[None, :] < length, other=0.0)
    hidden = (columns[None, :] >= length) | (columns[None, :] > rows[:, None])
    return tl.where(hidden, -float("inf"), tl.dot(mine, keys) * scale)


@triton.jit(do_not_specialize=["B"])
def attend(q, k, v, starts, o, B, scale, ROW: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    begin, end, first = place_of(tl.program_id(0), starts, B, BM)
    length = end - begin
    if length > 0:
        base = begin.to(tl.int64) * ROW + tl.program_id(1) * D
        rows = first + tl.arange(0, BM)
        depth = tl.arange(0, D)
        place = base + rows[:, None] * ROW + depth[None, :]
        mine = tl.load(q + place, mask=rows[:, None] < length, other=0.0)
        most = tl.full((BM,), -float("inf"), dtype=tl.float32)
        for at in range(0, length, BN):
            most = tl.maximum(most, tl.max(scores_of(rows, at, mine, k + base, length, scale, ROW, D, BN), axis=1))
        total = tl.zeros((BM,), dtype=tl.float32)
        for at in range(0, length, BN):
            total += tl.sum(tl.exp(scores_of(rows, at, mine, k + base, length, scale, ROW, D, BN) - most[:, None]), axis=1)
        answer = tl.zeros((BM, D), dtype=tl.float32)
        for at in range(0, length, BN):
            p = tl.exp(scores_of(rows, at, mine, k + base, length, scale, ROW, D, BN) - most[:, None]) / total[:, None]
            columns = at + tl.arange(0, BN)
            values = tl.load(v + base + columns[:, None] * ROW + depth[None, :], mask=columns[:, None] < length, other=0.0)
            answer = tl.dot(p.to(tl.bfloat16), values, answer)
        tl.store(o + place, answer.to(tl.bfloat16), mask=rows[:, None] < length)


def attention(q, k, v, starts, o, T, B):
    heads, depth = q.shape[1], q.shape[2]
    attend[(triton.cdiv(T, 64) + B, heads)](q, k, v, starts, o, B, depth**-0.5, ROW=heads * depth, D=depth, BM=64, BN=64)
