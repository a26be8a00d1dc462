"""verdict_task.py TASK: RMSNorm in Triton at five shapes. The baseline reads each row twice, the solution once: what is timed
is the way from a saved file to a first verdict on an edit that gains."""
import pathlib
import sys

TOML = """format = 1

[kernel]
name = "rmsnorm"
lane = "triton"
entry = {{ file = "solution/rmsnorm.py", symbol = "rmsnorm" }}
args = ["x", "weight", "y", "M", "H", "eps"]

[axes]
M = {{ var = true, min = 1, max = 65536 }}
H = {{ const = 4096 }}

[[tensor]]
name = "x"
role = "in"
dtype = "bfloat16"
shape = ["M", "H"]

[[tensor]]
name = "weight"
role = "in"
dtype = "bfloat16"
shape = ["H"]
lifetime = "static"
fill = {{ kind = "uniform", low = 0.5, high = 1.5 }}

[[tensor]]
name = "y"
role = "out"
dtype = "bfloat16"
shape = ["M", "H"]

[[scalar]]
name = "eps"
dtype = "float32"
value = 1e-5
{shapes}
[reference]
entry = {{ file = "input/reference.py", symbol = "rmsnorm" }}
precision = "float64"

[[baseline]]
name = "first"
entry = {{ file = "input/rmsnorm.py", symbol = "rmsnorm" }}

[tolerance]
accumulate = "H"

[accept]
min_gain = 0.005
second_opinion = false
"""
REFERENCE = """import torch


def rmsnorm(x, weight, y, M, H, eps):
    s = x.double()
    y.copy_(s * torch.rsqrt(s.square().mean(-1, keepdim=True) + eps) * weight.double())
"""
TWICE = """import triton
import triton.language as tl


@triton.jit
def rmsnorm_rows(x, weight, y, H, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * H
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for begin in range(0, H, BLOCK):
        s = tl.load(x + row + begin + tl.arange(0, BLOCK)).to(tl.float32)
        squares += s * s
    scale = tl.rsqrt(tl.sum(squares) / H + eps)
    for begin in range(0, H, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        s = tl.load(x + row + at).to(tl.float32)
        tl.store(y + row + at, (s * scale * tl.load(weight + at).to(tl.float32)).to(tl.bfloat16))


def rmsnorm(x, weight, y, M, H, eps):
    rmsnorm_rows[(M,)](x, weight, y, H, eps, BLOCK=1024)
"""


def main():
    task = pathlib.Path(sys.argv[1])
    text = (pathlib.Path(__file__).resolve().parents[1] / "gpu" / "triton_native" / "rmsnorm.py").read_text()
    for folder in ("solution", "input"):
        (task / folder).mkdir(parents=True)
    (task / "solution/rmsnorm.py").write_text(text)
    (task / "input/rmsnorm.py").write_text(TWICE)
    (task / "input/reference.py").write_text(REFERENCE)
    shapes = "".join(f'\n[[shape]]\ntag = "rows-{rows}"\nM = {rows}\n' for rows in (1, 16, 64, 512, 4096))
    (task / "task.toml").write_text(TOML.format(shapes=shapes))


if __name__ == "__main__":
    main()
