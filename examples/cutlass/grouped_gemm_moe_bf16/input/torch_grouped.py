"""torch's own grouped product: the ends of the groups lie on the device."""
import torch


def grouped_gemm(a, b, offsets, d, workspace, M, E, N, K):
    d.copy_(torch._grouped_mm(a, b.transpose(1, 2), offs=offsets[1:], out_dtype=torch.bfloat16))
