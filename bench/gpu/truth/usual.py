#!/usr/bin/env python3
"""The usual Python clocks on the kernels of kernels.cuh, called through ctypes: one JSON line a kernel, microseconds.

    usual.py LIBRARY [--kernelbench FILE]    LIBRARY: plain_main.cu built with -DLIBRARY -shared

do_bench and do_bench_cudagraph are Triton's, as installed. FILE is KernelBench's own timing module, read where it lies; its
event timer is run as it is. A clock that cannot run here is named with its reason instead of a figure.
"""
import argparse
import ctypes
import importlib.util
import json

import torch
import triton.testing

from cases import SHAPES


def kernelbench(path):
    spec = importlib.util.spec_from_file_location("kernelbench_timing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    timer = getattr(module, "time_execution_with_cuda_event")
    return lambda call: sorted(timer(lambda: call(), [], num_warmup=3, num_trials=50, verbose=False))[25]


def guarded(what):
    try:
        return 1000 * what()
    except Exception as error:  # a peer's own trouble is its figure
        return f"{type(error).__name__}: {error}"[:200]


def main():
    words = argparse.ArgumentParser()
    words.add_argument("library")
    words.add_argument("--kernelbench")
    words = words.parse_args()
    call = ctypes.CDLL(words.library).truth_call
    call.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_longlong] * 3 + [ctypes.c_void_p]
    peers = {
        "do_bench": lambda run: triton.testing.do_bench(run, return_mode="median"),
        "do_bench_cudagraph": lambda run: triton.testing.do_bench_cudagraph(run, return_mode="median"),
    }
    if words.kernelbench:
        try:
            peers["kernelbench"] = kernelbench(words.kernelbench)
        except Exception as error:
            print(json.dumps({"kernelbench": f"{type(error).__name__}: {error}"[:200]}))
    for tag, kind, n, m in SHAPES:
        x, y = torch.rand(n, device="cuda") * 2 - 1, torch.empty(m, device="cuda")

        def run():
            code = call(x.data_ptr(), y.data_ptr(), kind, n, m, torch.cuda.current_stream().cuda_stream)
            if code:
                raise RuntimeError(f"CUDA error {code}")

        print(json.dumps({"tag": tag, **{name: guarded(lambda: peer(run)) for name, peer in peers.items()}}), flush=True)
        del x, y


main()
