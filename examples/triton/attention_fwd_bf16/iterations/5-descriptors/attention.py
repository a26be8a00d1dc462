"""One trip over the keys, masked at the edge alone. Keys and values come by descriptors (the hardware's copy engine), 128
columns a tile; rows past a head's end belong to the next head and are masked like those past the diagonal."""
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def tiles(mine, answer, total, most, k, v, head, rows, begin_at, end, S, scale, C: tl.constexpr, BN: tl.constexpr,
          MASKED: tl.constexpr):
    for begin in tl.range(begin_at, end, BN):
        scores = tl.dot(mine, k.load([head + begin, 0]).T)
        if MASKED:
            columns = begin + tl.arange(0, BN)
            hidden = columns[None, :] >= S
            if C:
                hidden = hidden | (columns[None, :] > rows[:, None])
            scores = tl.where(hidden, -float("inf"), scores)
        higher = tl.maximum(most, tl.max(scores, axis=1) * scale)
        p = tl.exp2(scores * scale - higher[:, None])
        shrink = tl.exp2(most - higher)
        total = total * shrink + tl.sum(p, axis=1)
        answer = tl.dot(p.to(tl.bfloat16), v.load([head + begin, 0]), answer * shrink[:, None])
        most = higher
    return answer, total, most


@triton.jit(do_not_specialize=["S"])
def attend(q, k, v, o, S, scale, C: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.num_programs(0) - 1 - tl.program_id(0) if C else tl.program_id(0)
    head = tl.program_id(1) * S
    rows = block * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    place = head.to(tl.int64) * D + rows[:, None] * D + depth[None, :]
    mine = tl.load(q + place, mask=rows[:, None] < S, other=0.0)
    most = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    answer = tl.zeros((BM, D), dtype=tl.float32)
    end = min(S, (block + 1) * BM) if C else S
    clear = (min(S, block * BM) if C else S) // BN * BN
    scale *= 1.4426950408889634
    answer, total, most = tiles(mine, answer, total, most, k, v, head, rows, 0, clear, S, scale, C, BN, False)
    answer, total, most = tiles(mine, answer, total, most, k, v, head, rows, clear, end, S, scale, C, BN, True)
    tl.store(o + place, (answer / total[:, None]).to(tl.bfloat16), mask=rows[:, None] < S)


def attention(q, k, v, o, B, S, C):
    heads, depth = q.shape[1], q.shape[3]
    everything = [B * heads * S, depth]
    keys, values = (TensorDescriptor(x, everything, [depth, 1], [128, depth]) for x in (k, v))
    attend[(triton.cdiv(S, 128), B * heads)](q, keys, values, o, S, depth**-0.5, C=C - 1, D=depth, BM=128, BN=128,
                                             num_warps=8, num_stages=2)
