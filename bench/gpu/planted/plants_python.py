"""Library and Triton kernels with a known limit, each inside an NVTX range of its name.

plants_python.py [--list] [--trace FILE]: --trace writes a torch-profiler trace of a small model instead.
"""
import sys

PLANTS = []


def plant(name, finding, tuned):
    def add(make):
        PLANTS.append((name, finding, "tuned" if tuned else "planted", make))
        return make
    return add


if "--list" not in sys.argv:
    import torch
    import torch.nn.functional as F
    import triton
    import triton.language as tl

    def bf16(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    def f32(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.float32)

    @triton.jit
    def t_copy(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    @triton.jit
    def t_rms(x, w, y, D: tl.constexpr):
        r = tl.program_id(0)
        c = tl.arange(0, D)
        v = tl.load(x + r * D + c).to(tl.float32)
        s = tl.rsqrt(tl.sum(v * v) / D + 1e-6)
        tl.store(y + r * D + c, (v * s * tl.load(w + c).to(tl.float32)).to(tl.bfloat16))

    @triton.jit
    def t_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, P: tl.constexpr):
        pid = tl.program_id(0)
        cols = N // BN
        group = 8 * cols
        first = (pid // group) * 8
        pm = first + (pid % group) % 8
        pn = (pid % group) // 8
        m = pm * BM + tl.arange(0, BM)
        n = pn * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        pa = a + m[:, None] * K + k[None, :]
        pb = b + k[:, None] * N + n[None, :]
        for _ in range(0, K, BK):
            acc = tl.dot(tl.load(pa), tl.load(pb), acc, input_precision=P)
            pa += BK
            pb += BK * N
        tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))

    @triton.jit
    def t_strided(x, y, stride, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i.to(tl.int64) * stride))

    @triton.jit
    def t_count(x, bins, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.atomic_add(bins + (tl.load(x + i) & 7), 1.0)

    @triton.jit
    def t_few(x, y, n, B: tl.constexpr):
        acc = tl.zeros((B,), dtype=tl.float32)
        for i in range(tl.program_id(0) * B, n, B * tl.num_programs(0)):
            acc += tl.load(x + i + tl.arange(0, B))
        tl.store(y + tl.program_id(0), tl.sum(acc))

    @triton.jit
    def t_chase(nxt, out, steps):
        p = tl.program_id(0)
        for _ in range(steps):
            p = tl.load(nxt + p)
        tl.store(out + tl.program_id(0), p)

    @triton.jit
    def t_exp(x, y, rounds, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        v = tl.load(x + i)
        for _ in range(rounds):
            v = tl.exp2(v) * 0.25 - 0.5
            v = tl.exp2(v) * 0.25 - 0.25
        tl.store(y + i, v)

    def run_matmul(a, b, c, tile, precision, warps):
        M, K = a.shape
        N = b.shape[1]
        t_matmul[((M // tile[0]) * (N // tile[1]),)](a, b, c, M, N, K, *tile, precision, num_warps=warps, num_stages=3)


@plant("triton_copy", "dram_bandwidth_bound", True)
def _():
    x = f32(64 << 20)
    y = torch.empty_like(x)
    return lambda: t_copy[((64 << 20) // 4096,)](x, y, 64 << 20, 4096, num_warps=8)


@plant("triton_rmsnorm", "dram_bandwidth_bound", True)
def _():
    x, w = bf16(32768, 4096), bf16(4096)
    y = torch.empty_like(x)
    return lambda: t_rms[(32768,)](x, w, y, 4096, num_warps=8)


@plant("triton_matmul_bf16", "compute_bound_tensor", False)
def _():
    a, b, c = bf16(4096, 4096), bf16(4096, 4096), bf16(4096, 4096)
    return lambda: run_matmul(a, b, c, (128, 256, 64), "tf32", 8)


@plant("triton_matmul_ieee_fp32", "tensor_cores_idle", False)
def _():
    a, b, c = f32(2048, 2048), f32(2048, 2048), f32(2048, 2048)
    return lambda: run_matmul(a, b, c, (64, 64, 32), "ieee", 4)


@plant("triton_strided_loads", "uncoalesced_global_access", False)
def _():
    x, y = f32(128 << 20), f32(4 << 20)
    return lambda: t_strided[((4 << 20) // 1024,)](x, y, 32, 1024, num_warps=4)


@plant("triton_atomic_bins", "atomic_contention", False)
def _():
    x = torch.randint(0, 1 << 30, (4 << 20,), device="cuda", dtype=torch.int32)
    bins = torch.zeros(8, device="cuda")
    return lambda: t_count[((4 << 20) // 1024,)](x, bins, 1024)


@plant("triton_twelve_programs", "small_grid", False)
def _():
    x, y = f32(16 << 20), f32(64)
    return lambda: t_few[(12,)](x, y, 16 << 20, 4096, num_warps=8)


@plant("triton_scalar_chase", "memory_latency", False)
def _():
    n = 32 << 20
    step = torch.arange(n, device="cuda", dtype=torch.int64)
    nxt = ((step * 1103515245 + 12345) % n).to(torch.int32)
    out = torch.zeros(132 * 32, device="cuda", dtype=torch.int32)
    return lambda: t_chase[(132 * 32,)](nxt, out, 200, num_warps=1)


@plant("triton_exp_rounds", "compute_bound_sfu", False)
def _():
    x = f32(8 << 20)
    y = torch.empty_like(x)
    return lambda: t_exp[((8 << 20) // 1024,)](x, y, 200, 1024)


@plant("torch_add_bf16", "dram_bandwidth_bound", True)
def _():
    x, y = bf16(128 << 20), bf16(128 << 20)
    z = torch.empty_like(x)
    return lambda: torch.add(x, y, out=z)


@plant("torch_softmax_rows", "dram_bandwidth_bound", True)
def _():
    x = bf16(16384, 8192)
    return lambda: torch.softmax(x, -1)


@plant("torch_layer_norm", "dram_bandwidth_bound", True)
def _():
    x, w, b = bf16(32768, 4096), bf16(4096), bf16(4096)
    return lambda: F.layer_norm(x, (4096,), w, b)


@plant("torch_sum_rows", "dram_bandwidth_bound", True)
def _():
    x = f32(16384, 8192)
    return lambda: x.sum(-1)


@plant("cublas_bf16_8192", "compute_bound_tensor", True)
def _():
    a, b = bf16(8192, 8192), bf16(8192, 8192)
    return lambda: a @ b


@plant("cublas_fp16_4096", "compute_bound_tensor", True)
def _():
    a, b = bf16(4096, 8192).half(), bf16(8192, 4096).half()
    return lambda: a @ b


@plant("cublas_tf32_4096", "compute_bound_tensor", True)
def _():
    torch.backends.cuda.matmul.allow_tf32 = True
    a, b = f32(4096, 4096), f32(4096, 4096)
    return lambda: a @ b


@plant("cublas_fp8_8192", "compute_bound_tensor", True)
def _():
    a = f32(8192, 8192).to(torch.float8_e4m3fn)
    b = f32(8192, 8192).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


@plant("cublas_fp64_4096", "compute_bound_tensor", True)
def _():
    a, b = f32(4096, 4096).double(), f32(4096, 4096).double()
    return lambda: a @ b


@plant("torch_flash_attention", "compute_bound_tensor", False)
def _():
    q, k, v = bf16(8, 16, 4096, 128), bf16(8, 16, 4096, 128), bf16(8, 16, 4096, 128)
    return lambda: F.scaled_dot_product_attention(q, k, v)


@plant("gemv_bf16", "dram_bandwidth_bound", False)
def _():
    a, x = bf16(16384, 16384), bf16(16384)
    return lambda: torch.mv(a, x)


@plant("torch_nchw_to_nhwc", "layout_conversion", False)
def _():
    x = bf16(64, 256, 56, 56)
    return lambda: x.contiguous(memory_format=torch.channels_last)


@plant("torch_permute_copy", "layout_conversion", False)
def _():
    x = f32(64, 512, 32, 64)
    return lambda: x.permute(0, 2, 1, 3).contiguous()


@plant("torch_matmul_skinny_grid", "small_grid", False)
def _():
    a, b = bf16(128, 4096), bf16(4096, 128)
    y = bf16(128, 128)
    return lambda: t_matmul[(4,)](a, b, y, 128, 128, 4096, 64, 64, 64, "tf32", num_warps=4, num_stages=3)


def trace(path):
    from torch.profiler import ProfilerActivity, profile, record_function
    net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024), torch.nn.LayerNorm(1024)).cuda().bfloat16()
    x = bf16(512, 1024)
    side = torch.cuda.Stream()
    for _ in range(3):
        net(x)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as prof:
        for step in range(6):
            with record_function(f"step_{step}"):
                y = net(x)
                with torch.cuda.stream(side):
                    torch.softmax(x.float(), -1)
                host = y.to("cpu")
                x.copy_(host)
    prof.export_chrome_trace(path)


def main():
    if "--list" in sys.argv:
        for name, finding, kind, _ in PLANTS:
            print(name, finding, kind)
        return
    if "--trace" in sys.argv:
        trace(sys.argv[sys.argv.index("--trace") + 1])
        return
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    cudart = torch.cuda.cudart()
    for name, finding, kind, make in PLANTS:
        if wanted and name not in wanted:
            continue
        try:
            go = make()
            go()
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_push(name)
            cudart.cudaProfilerStart()
            go()
            torch.cuda.synchronize()
            cudart.cudaProfilerStop()
            torch.cuda.nvtx.range_pop()
            print("launched", name, flush=True)
        except Exception as error:  # one plant that cannot run leaves the others
            print("failed", name, repr(error)[:300], flush=True)
        del go, make
        torch.cuda.empty_cache()


main()
