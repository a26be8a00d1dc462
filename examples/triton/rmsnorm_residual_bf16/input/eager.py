"""As torch's own operators do it."""
import torch


def rmsnorm_residual(x, residual, weight, y, residual_out, M, H, eps):
    torch.add(x, residual, out=residual_out)
    y.copy_(torch.nn.functional.rms_norm(residual_out, (H,), weight, eps))
