"""One program a row in blocks of 1024 columns: maximum, sum, answer."""
import triton
import triton.language as tl


@triton.jit
def softmax_row(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    most = tl.full((BLOCK,), -float("inf"), dtype=tl.float32)
    for begin in range(0, N, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        most = tl.maximum(most, tl.load(x + row + at, mask=at < N, other=-float("inf")).to(tl.float32))
    most = tl.max(most)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for begin in range(0, N, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(x + row + at, mask=at < N, other=-float("inf")).to(tl.float32) - most)
    scale = 1.0 / tl.sum(total)
    for begin in range(0, N, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        e = tl.exp(tl.load(x + row + at, mask=at < N, other=-float("inf")).to(tl.float32) - most)
        tl.store(y + row + at, (e * scale).to(tl.bfloat16), mask=at < N)


def softmax_rows(x, y, M, N):
    softmax_row[(M,)](x, y, N, BLOCK=1024)
