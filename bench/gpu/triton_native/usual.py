"""What the usual tools say of the kernel in rmsnorm.py: microseconds, medians."""
import statistics

import torch
from triton.testing import do_bench, do_bench_cudagraph

import rmsnorm


def events(call, count=200):
    """One pair of events a call, synchronised."""
    times = []
    for _ in range(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000)
    return statistics.median(times)


def main():
    print("rows     do_bench (cold)   do_bench_cudagraph (warm)   events, one pair a call")
    for rows in (1, 64, 4096, 32768):
        x = torch.randn(rows, 4096, device="cuda", dtype=torch.bfloat16)
        weight, y = torch.rand(4096, device="cuda", dtype=torch.bfloat16) + 0.5, torch.empty_like(x)

        def call():
            rmsnorm.rmsnorm(x, weight, y, rows, 4096, 1e-5)
        print(f"{rows:<6} {do_bench(call, return_mode='median') * 1000:14.2f} "
              f"{do_bench_cudagraph(call, return_mode='median') * 1000:22.2f} {events(call):26.2f}")


if __name__ == "__main__":
    main()
