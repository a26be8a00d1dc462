"""library.py [norms] [softmax] [matmul] [attention]: kernels of examples/triton beside what a library needs for the same work on
the same device in the same run. Cold, device timestamps, microseconds, medians. NAME=FOLDER takes that iteration instead
of every one: matmul=3-descriptors."""
import sys

import torch
from timing import EXAMPLES, load, median_us, sweep

torch.set_grad_enabled(False)


def versions(task, chosen):
    folders = sorted((EXAMPLES / task / "iterations").iterdir())
    return [(folder.name, load(next(folder.glob("*.py")))) for folder in folders if not chosen or folder.name in chosen]


def copy_us(total, evict):
    """A copy that reads half of `total` bytes and writes half."""
    source = torch.empty(total // 2, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return median_us(lambda: target.copy_(source), evict)


def norms(evict, chosen):
    print("RMSNorm with residual, rows of 4096: share of a copy of as many bytes (bound: 96 %)")
    for rows in (4096, 16384, 32768):
        x, residual = (torch.randn(rows, 4096, device="cuda").bfloat16() for _ in range(2))
        weight, y, out = torch.rand(4096, device="cuda").bfloat16(), torch.empty_like(x), torch.empty_like(x)
        copy = copy_us(8 * rows * 4096, evict)
        for name, module in versions("rmsnorm_residual_bf16", chosen):
            took = median_us(lambda: module.rmsnorm_residual(x, residual, weight, y, out, rows, 4096, 1e-5), evict)
            print(f"  {rows:<6} {name:<24} {took:9.2f} us   copy {copy:9.2f} us   {copy / took:7.1%}")


def softmax(evict, chosen):
    print("softmax over rows: share of a copy of as many bytes (bound: 92 %)")
    for rows, columns in ((8192, 1024), (4096, 4096), (256, 32768), (16384, 4096), (4096, 32768)):
        x = torch.randn(rows, columns, device="cuda").bfloat16()
        y = torch.empty_like(x)
        copy = copy_us(4 * rows * columns, evict)
        library = median_us(lambda: torch.softmax(x, dim=-1, out=y), evict)
        for name, module in versions("softmax_rows", chosen):
            took = median_us(lambda: module.softmax_rows(x, y, rows, columns), evict)
            print(f"  {rows}x{columns:<6} {name:<24} {took:9.2f} us   copy {copy:9.2f} us   {copy / took:7.1%}"
                  f"   torch {library:9.2f} us")


def matmul(evict, chosen):
    print("matmul, K = 4096: time over cuBLAS's (bound: 1.11)")
    for m, n in ((2048, 8192), (4096, 4096), (8192, 8192), (4096, 14336)):
        a, b = torch.randn(m, 4096, device="cuda").bfloat16(), (torch.randn(n, 4096, device="cuda") * 0.02).bfloat16()
        c = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
        library = median_us(lambda: torch.matmul(a, b.t(), out=c), evict)
        for name, module in versions("matmul_bf16", chosen):
            took = median_us(lambda: module.matmul(a, b, c, m, n, 4096), evict)
            print(f"  {m}x{n:<6} {name:<24} {took:9.2f} us   {2e-6 * m * n * 4096 / took:7.1f} TFLOP/s   "
                  f"cuBLAS {library:9.2f} us   {took / library:6.3f}")


def attention(evict, chosen):
    print("attention forward, 16 heads of 128: time over the fastest of torch's (bound: 1.11 on 6 of 8)")
    from torch.nn.attention import SDPBackend, sdpa_kernel
    kinds = [getattr(SDPBackend, name) for name in ("FLASH_ATTENTION", "CUDNN_ATTENTION") if hasattr(SDPBackend, name)]
    within = {}
    for batch, length, causal in ((8, 1000, 2), (8, 1000, 1), (4, 2048, 2), (4, 2048, 1), (2, 4096, 2), (2, 4096, 1),
                                  (1, 8192, 2), (1, 8192, 1)):
        q, k, v = (torch.randn(batch, 16, length, 128, device="cuda").bfloat16() for _ in range(3))
        o = torch.empty_like(q)
        times = {}
        for kind in kinds:
            try:
                with sdpa_kernel(kind):
                    times[kind.name] = median_us(lambda: torch.nn.functional.scaled_dot_product_attention(
                        q, k, v, is_causal=causal == 2), evict)
            except RuntimeError as error:
                print(f"  {kind.name}: {str(error).splitlines()[0]}")
        best = min(times, key=times.get)
        flops = 4e-6 * batch * 16 * length * length * 128 / causal
        for name, module in versions("attention_fwd_bf16", chosen):
            took = median_us(lambda: module.attention(q, k, v, o, batch, length, causal), evict)
            within[name] = within.get(name, 0) + (took <= 1.11 * times[best])
            print(f"  {batch}x{length:<5} {'causal' if causal == 2 else 'full  '} {name:<22} {took:9.2f} us {flops / took:6.1f} TFLOP/s"
                  f"   {best} {times[best]:9.2f} us   {took / times[best]:6.3f}")
    print("  within 1.11: " + ", ".join(f"{name} {count} of 8" for name, count in within.items()))


def main():
    asked = sys.argv[1:] or ["norms", "softmax", "matmul", "attention"]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    evict = sweep()
    for word in asked:
        name, _, folder = word.partition("=")
        {"norms": norms, "softmax": softmax, "matmul": matmul, "attention": attention}[name](evict, folder.split(",") if folder else [])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
