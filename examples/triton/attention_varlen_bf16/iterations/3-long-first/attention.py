"""Long sequences: one program for 128 rows of one head, eight warps; short ones: 64 rows. One trip over the
keys, up to the diagonal: sum and answer are scaled whenever the maximum grows. Base 2. Tiles are taken from the last to the
first, so that those of a sequence's end, which have most to do, do not come last."""
import triton
import triton.language as tl


@triton.jit
def place_of(index, starts, B, BM: tl.constexpr):
    begin, end, first, seen = 0, 0, 0, 0
    for b in range(B):
        low, high = tl.load(starts + b), tl.load(starts + b + 1)
        tiles = tl.cdiv(high - low, BM)
        mine = (index >= seen) & (index < seen + tiles)
        begin, end = tl.where(mine, low, begin), tl.where(mine, high, end)
        first = tl.where(mine, (index - seen) * BM, first)
        seen += tiles
    return begin, end, first


@triton.jit(do_not_specialize=["B"])
def attend(q, k, v, starts, o, B, scale, ROW: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    begin, end, first = place_of(tl.num_programs(0) - 1 - tl.program_id(0), starts, B, BM)
    length = end - begin
    if length > 0:
        base = begin.to(tl.int64) * ROW + tl.program_id(1) * D
        rows = first + tl.arange(0, BM)
        depth = tl.arange(0, D)
        place = base + rows[:, None] * ROW + depth[None, :]
        mine = tl.load(q + place, mask=rows[:, None] < length, other=0.0)
        most = tl.full((BM,), -float("inf"), dtype=tl.float32)
        total = tl.zeros((BM,), dtype=tl.float32)
        answer = tl.zeros((BM, D), dtype=tl.float32)
        for at in range(0, min(length, first + BM), BN):
            columns = at + tl.arange(0, BN)
            keys = tl.load(k + base + columns[None, :] * ROW + depth[:, None], mask=columns[None, :] < length, other=0.0)
            scores = tl.dot(mine, keys) * (scale * 1.4426950408889634)
            hidden = (columns[None, :] >= length) | (columns[None, :] > rows[:, None])
            scores = tl.where(hidden, -float("inf"), scores)
            higher = tl.maximum(most, tl.max(scores, axis=1))
            p = tl.exp2(scores - higher[:, None])
            shrink = tl.exp2(most - higher)
            total = total * shrink + tl.sum(p, axis=1)
            values = tl.load(v + base + columns[:, None] * ROW + depth[None, :], mask=columns[:, None] < length, other=0.0)
            answer = tl.dot(p.to(tl.bfloat16), values, answer * shrink[:, None])
            most = higher
        tl.store(o + place, (answer / total[:, None]).to(tl.bfloat16), mask=rows[:, None] < length)


def attention(q, k, v, starts, o, T, B):
    heads, depth = q.shape[1], q.shape[2]
    tall = 128 if T >= 256 * B else 64
    attend[(triton.cdiv(T, tall) + B, heads)](q, k, v, starts, o, B, depth**-0.5, ROW=heads * depth, D=depth, BM=tall, BN=64,
                                              num_warps=tall // 16, num_stages=3)
