"""One program a row, kept in registers. Rows are used once: they leave the cache first; the weights stay."""
import triton
import triton.language as tl


@triton.jit
def rmsnorm_rows(x, residual, weight, y, residual_out, H: tl.constexpr, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * H
    at = tl.arange(0, BLOCK)
    inside = at < H
    s = tl.load(x + row + at, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
    s += tl.load(residual + row + at, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
    w = tl.load(weight + at, mask=inside, other=0.0, eviction_policy="evict_last").to(tl.float32)
    rounded = s.to(tl.bfloat16)
    tl.store(residual_out + row + at, rounded, mask=inside, eviction_policy="evict_first")
    s = rounded.to(tl.float32)
    scale = tl.rsqrt(tl.sum(s * s) / H + eps)
    tl.store(y + row + at, (s * scale * w).to(tl.bfloat16), mask=inside, eviction_policy="evict_first")


def rmsnorm_residual(x, residual, weight, y, residual_out, M, H, eps):
    rmsnorm_rows[(M,)](x, residual, weight, y, residual_out, H, eps, BLOCK=triton.next_power_of_2(H), num_warps=8)
