"""A stand-in for nvidia-cutlass-dsl: traces and compiles nothing, but goes the way the package goes, so that what looks on
from outside sees the same calls. A kernel is a Python function over arrays of the host."""
import os

from .base_dsl import compiler, dsl, jit_executor  # noqa: F401

__version__ = os.environ.get("FAKE_DSL_VERSION", "4.8.1")
CUDA_VERSION = os.environ.get("FAKE_DSL_CUDA", "13.0")
