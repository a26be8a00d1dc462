"""Resident programs that walk over the rows: the weights are read once, and the next row is asked for before this one is
summed. Where there are fewer rows than places, one program a row."""
import triton
import triton.language as tl


@triton.jit
def rmsnorm_rows(x, residual, weight, y, residual_out, M, H: tl.constexpr, eps, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < H
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    for index in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=STAGES):
        row = index.to(tl.int64) * H
        s = tl.load(x + row + at, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
        s += tl.load(residual + row + at, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
        rounded = s.to(tl.bfloat16)
        tl.store(residual_out + row + at, rounded, mask=inside, eviction_policy="evict_first")
        s = rounded.to(tl.float32)
        scale = tl.rsqrt(tl.sum(s * s) / H + eps)
        tl.store(y + row + at, (s * scale * w).to(tl.bfloat16), mask=inside, eviction_policy="evict_first")


def rmsnorm_residual(x, residual, weight, y, residual_out, M, H, eps):
    places = 132 * 4
    rmsnorm_rows[(min(M, places),)](x, residual, weight, y, residual_out, M, H, eps, BLOCK=triton.next_power_of_2(H),
                                    STAGES=2, num_warps=8)
