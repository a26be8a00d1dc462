"""Several narrow rows or one wide row a program; rows and warps chosen by trying them."""
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


def choices(configs, named, **_):
    """Programs of 2048 to 32768 elements, or one row where that is more."""
    block = triton.next_power_of_2(named["N"])
    fit = [c for c in configs if 2048 <= c.kwargs["ROWS"] * block <= 32768]
    return fit or [c for c in configs if c.kwargs["ROWS"] == 1]


@triton.autotune([triton.Config({"ROWS": rows}, num_warps=warps) for rows in (1, 2, 4) for warps in (4, 8, 16)],
                 key=["N"], prune_configs_by={"early_config_prune": choices})
@triton.jit
def softmax_tile(x, y, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    place = row[:, None] * N + at[None, :]
    inside = (row[:, None] < M) & (at[None, :] < N)
    values = tl.load(x + place, mask=inside, other=-float("inf"), eviction_policy="evict_first").to(tl.float32)
    values *= LOG2E
    most = tl.max(values, axis=1)
    most = tl.where(row < M, most, 0.0)
    e = tl.exp2(values - most[:, None])
    total = tl.where(row < M, tl.sum(e, axis=1), 1.0)
    tl.store(y + place, (e * (1.0 / total)[:, None]).to(tl.bfloat16), mask=inside, eviction_policy="evict_first")


def softmax_rows(x, y, M, N):
    softmax_tile[lambda meta: (triton.cdiv(M, meta["ROWS"]),)](x, y, M, N, BLOCK=triton.next_power_of_2(N))
