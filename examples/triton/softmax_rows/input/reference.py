"""The definition, in float64, some rows at a time."""
import torch


def softmax_rows_reference(x, y, M, N):
    step = max(1, (1 << 26) // N)
    for begin in range(0, M, step):
        rows = x[begin:begin + step].double()
        e = torch.exp(rows - rows.amax(-1, keepdim=True))
        y[begin:begin + step] = e / e.sum(-1, keepdim=True)
