"""torch's fused attention."""
import torch


def attention(q, k, v, o, B, S, C):
    o.copy_(torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=C == 2))
