"""make.py TASK: a task that holds a Triton kernel against its own cubin launched from C++."""
import pathlib
import shutil
import sys

import torch

import rmsnorm

HERE = pathlib.Path(__file__).resolve().parent
TOML = """format = 1

[kernel]
name = "rmsnorm_native"
lane = "cuda"
entry = {{ file = "solution/native.cu", symbol = "rmsnorm" }}
sources = ["solution/rmsnorm_rows.cubin"]
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
name = "triton"
entry = {{ file = "input/rmsnorm.py", symbol = "rmsnorm" }}

[tolerance]
accumulate = "H"

[accept]
cache = "{cache}"
min_gain = 0.005
second_opinion = false
"""
NATIVE = """#include <cuda_bf16.h>
#include <cuda_runtime.h>

extern "C" const char ako_image_rmsnorm_rows[];

cudaError_t rmsnorm(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y, int rows, int, float eps,
                    cudaStream_t stream) {{
  static cudaKernel_t kernel = [] {{
    cudaLibrary_t library = nullptr;
    cudaKernel_t found = nullptr;
    cudaLibraryLoadData(&library, ako_image_rmsnorm_rows, nullptr, nullptr, 0, nullptr, nullptr, 0);
    cudaLibraryGetKernel(&found, library, "{name}");
    return found;
  }}();
  void* scratch = nullptr; // Triton's two hidden arguments: this kernel uses neither
  void* arguments[] = {{&x, &weight, &y, &eps, &scratch, &scratch}};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(rows), dim3({threads}), arguments, {shared}, stream);
}}
"""
REFERENCE = """import torch


def rmsnorm(x, weight, y, M, H, eps):
    s = x.double()
    y.copy_(s * torch.rsqrt(s.square().mean(-1, keepdim=True) + eps) * weight.double())
"""


def main():
    task = pathlib.Path(sys.argv[1])
    cache = sys.argv[2] if len(sys.argv) > 2 else "warm"
    x = torch.randn(4, 4096, device="cuda", dtype=torch.bfloat16)
    kernel = rmsnorm.rmsnorm_rows[(4,)](x, x[0], torch.empty_like(x), 1e-5, H=4096, BLOCK=4096, num_warps=8)
    for folder in ("solution", "input"):
        (task / folder).mkdir(parents=True)
    (task / "solution/rmsnorm_rows.cubin").write_bytes(kernel.asm["cubin"])
    (task / "solution/native.cu").write_text(NATIVE.format(
        name=kernel.metadata.name, threads=32 * kernel.metadata.num_warps, shared=kernel.metadata.shared))
    shutil.copy(HERE / "rmsnorm.py", task / "input/rmsnorm.py")
    (task / "input/reference.py").write_text(REFERENCE)
    shapes = "".join(f'\n[[shape]]\ntag = "rows-{rows}"\nM = {rows}\n' for rows in (1, 64, 4096, 32768))
    (task / "task.toml").write_text(TOML.format(shapes=shapes, cache=cache))


if __name__ == "__main__":
    main()
