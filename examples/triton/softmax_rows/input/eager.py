"""torch's own kernel."""
import torch


def softmax_rows(x, y, M, N):
    torch.softmax(x, dim=-1, out=y)
