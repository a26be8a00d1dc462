"""A stand-in for Triton: a jitted function runs as a kernel of the scripted driver, on the stream that torch says is the
current one. A kernel's body is Python that works on whole tensors; its first launch with a configuration 'compiles' it."""
import ctypes
import hashlib

import torch

from . import language, testing  # noqa: F401

__version__ = "3.99.0"
_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_queued = []  # bodies in flight must not go away


class CompilationError(Exception):
    pass


class OutOfResources(Exception):
    pass


class _Metadata:
    def __init__(self, name, warps, stages):
        self.name, self.num_warps, self.num_stages, self.num_ctas, self.shared = name, warps, stages, 1, 2048


class CompiledKernel:
    def __init__(self, name, warps, stages):
        self.name, self.metadata = name, _Metadata(name, warps, stages)
        self.n_regs, self.n_spills = 40, 0
        text = f"// ptx of {name} with {warps} warps"
        self.asm = {"ptx": text, "cubin": hashlib.sha256(text.encode()).digest()}


class JITFunction:
    def __init__(self, fn):
        self.fn, self.__name__ = fn, fn.__name__
        self.device_caches = {0: ({}, None)}

    def __getitem__(self, grid):
        return lambda *arguments, **words: self.run(*arguments, grid=grid, **words)

    def run(self, *arguments, grid=None, num_warps=4, num_stages=3, **words):
        if getattr(self.fn, "_does_not_compile", None):
            raise CompilationError(self.fn._does_not_compile)
        key = (num_warps, num_stages, tuple(sorted(words.items())))
        self.device_caches[0][0].setdefault(key, CompiledKernel(self.__name__, num_warps, num_stages))
        body = _BODY(lambda _: self.fn(*arguments, **words))
        _queued.append(body)
        launch = torch.cuda.driver().fake_gpu_launch
        launch.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _BODY, ctypes.c_void_p, ctypes.c_size_t]
        stream = torch.cuda.current_stream()
        code = launch(stream.cuda_stream if stream else None, self.__name__.encode(), body, b"", 0)
        if code:
            raise RuntimeError(f"Triton Error [CUDA]: {code}")


def jit(fn):
    return JITFunction(fn)


class Config:
    def __init__(self, kwargs, num_warps=4, num_stages=3):
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages


class Autotuner:
    def __init__(self, fn, configs, key):
        self.fn, self.base_fn, self.configs, self.keys, self.cache = fn, fn.fn, configs, key, {}

    def __getitem__(self, grid):
        return lambda *arguments, **words: self.run(*arguments, grid=grid, **words)

    def run(self, *arguments, grid=None, **words):
        names = self.base_fn.__code__.co_varnames
        key = tuple(arguments[names.index(name)] for name in self.keys)
        if key not in self.cache:
            for config in self.configs:  # each is tried: on the very outputs
                self.fn.run(*arguments, grid=grid, num_warps=config.num_warps, num_stages=config.num_stages,
                            **config.kwargs)
                torch.cuda.synchronize()
            self.cache[key] = self.configs[-1]
        best = self.cache[key]
        self.fn.run(*arguments, grid=grid, num_warps=best.num_warps, num_stages=best.num_stages, **best.kwargs)


def autotune(configs, key):
    return lambda fn: Autotuner(fn, configs, key)


def cdiv(a, b):
    return -(-a // b)


for _class in (JITFunction, Autotuner, CompiledKernel):
    _class.__module__ = "triton.runtime"
