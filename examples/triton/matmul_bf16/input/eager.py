"""cuBLAS, through torch."""
import torch


def matmul(a, b, c, M, N, K):
    torch.matmul(a, b.t(), out=c)
