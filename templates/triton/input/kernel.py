"""What a win is measured against: the kernel as it stands today."""
import triton
import triton.language as tl


@triton.jit
def scale_add_block(x, y, out, N, a, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < N
    value = a * tl.load(x + at, mask=inside).to(tl.float32) + tl.load(y + at, mask=inside).to(tl.float32)
    tl.store(out + at, value.to(tl.bfloat16), mask=inside)


def scale_add(x, y, out, N, a):
    scale_add_block[(triton.cdiv(N, 256),)](x, y, out, N, a, BLOCK=256)
