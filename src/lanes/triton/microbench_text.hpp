// The fixed part of a stand-alone microbench in Python.
#pragma once

namespace ako::lanes::triton {

inline constexpr const char* k_microbench_text = R"bench(
import importlib.util
import json
import pathlib
import statistics
import sys

import torch

CALLS, ROUNDS = 50, 5
HERE = pathlib.Path(__file__).resolve().parent.parent


def load(path, roots):
    sys.path[0:0] = [str(path.parent), *(str(HERE / root) for root in roots)]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def tensor(what, device):
    """Contents as the contract says, near enough for timing; exact ones are ako's."""
    dtype = getattr(torch, what["dtype"], torch.uint8)
    span = 1 + sum((extent - 1) * stride for extent, stride in zip(what["shape"], what["strides"]))
    if what["dtype"] in ("float4_e2m1fn", "int4"):
        return torch.randint(0, 256, ((span + 1) // 2,), device=device, dtype=torch.uint8)
    low, high = what["low"], what["high"]
    if dtype.is_floating_point:
        flat = torch.randn(span, device=device) * what["stddev"] + what["mean"] if what["fill"] == "normal" else \
            torch.rand(span, device=device) * (high - low) + low
        flat = flat.to(dtype)
    elif what["fill"] == "offsets":
        flat = torch.linspace(0, what["limit"], span, device=device).to(dtype)
    elif what["fill"] == "permutation":
        flat = torch.randperm(span, device=device).to(dtype)
    else:
        flat = torch.randint(int(low), max(int(low) + 1, int(what["limit"] or high)), (span,), device=device).to(dtype)
    return flat.as_strided(what["shape"], what["strides"])


def timed(call, evict):
    """Nanoseconds of each call between its first and its last device operation, by device timestamps."""
    from torch.profiler import ProfilerActivity, profile

    def events(count, body):
        with profile(activities=[ProfilerActivity.CUDA]) as trace:
            for _ in range(count):
                body()
            torch.cuda.synchronize()
        spans = [(e.time_range.start, e.time_range.end) for e in trace.events() if "CUDA" in str(e.device_type)]
        return sorted(spans)

    swept = len(events(4, evict)) // 4
    call()
    torch.cuda.synchronize()
    found = events(CALLS, lambda: (evict(), call()))
    each = len(found) // CALLS
    if each <= swept or len(found) % CALLS:
        raise SystemExit("the calls do not all do the same operations: nothing to cut the trace by")
    calls = [found[i * each + swept:(i + 1) * each] for i in range(CALLS)]
    return [(max(end for _, end in one) - one[0][0]) * 1000 for one in calls]


def main():
    task = json.loads(TASK)
    device = torch.device("cuda")
    kernel = load(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / task["file"], task["roots"])
    entry = kernel
    for part in task["symbol"].split("."):
        entry = getattr(entry, part)
    size = 2 * torch.cuda.get_device_properties(device).L2_cache_size
    sweep = torch.zeros(size // 4, device=device, dtype=torch.float32)
    evict = (lambda: sweep.sum()) if task["cold"] else (lambda: None)
    torch.set_grad_enabled(False)
    total = 0.0
    for case in task["cases"]:
        values = {name: tensor(what, device) for name, what in case["tensors"].items()}
        values.update(case["numbers"])
        arguments = [values[name] for name in task["arguments"]]
        times = []
        for _ in range(ROUNDS):
            times += timed(lambda: entry(*arguments), evict)
        median = statistics.median(times)
        total += case["weight"] * median
        print(f"{case['tag']:<24} {median / 1000:10.2f} us   {case['bytes'] / median:8.0f} GB/s   "
              f"{case['flops'] / median / 1000:8.2f} TFLOP/s")
    print(f"{'weighted':<24} {total / 1000:10.2f} us   {'cold' if task['cold'] else 'warm'}, device timestamps")


if __name__ == "__main__":
    main()
)bench";

} // namespace ako::lanes::triton
