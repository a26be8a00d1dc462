"""Device time of calls by the profiler's timestamps: from a call's first device operation to its last, behind a sweep that
only reads twice the second-level cache."""
import importlib.util
import pathlib
import statistics
import sys

import torch
from torch.profiler import ProfilerActivity, profile

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "triton"


def load(path):
    name = f"{path.parent.name}_{path.stem}".replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def sweep():
    size = 2 * torch.cuda.get_device_properties(0).L2_cache_size
    memory = torch.zeros(size // 4, device="cuda")
    return lambda: memory.sum()


def spans(count, body):
    with profile(activities=[ProfilerActivity.CUDA]) as trace:
        for _ in range(count):
            body()
        torch.cuda.synchronize()
    return sorted((e.time_range.start, e.time_range.end) for e in trace.events() if "CUDA" in str(e.device_type))


def median_us(call, evict, count=30):
    """None where the calls do not all do the same operations."""
    call()
    torch.cuda.synchronize()
    swept = len(spans(4, evict)) // 4
    found = spans(count, lambda: (evict(), call()))
    each = len(found) // count
    if each <= swept or len(found) % count:
        return None
    calls = [found[i * each + swept:(i + 1) * each] for i in range(count)]
    return statistics.median(max(end for _, end in one) - one[0][0] for one in calls)
