"""Judges correctness: plain, in float64, by torch's own operators."""
import torch


def swiglu_reference(gate, up, out, N, stream):
    return torch.nn.functional.silu(gate.double()) * up.double()
