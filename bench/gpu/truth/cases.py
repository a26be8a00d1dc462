"""The kernels of kernels.cuh as shapes: tag, KIND, N, M. From below one microsecond to about ten milliseconds on an H200."""
M = 1 << 20
SHAPES = [
    ("one-warp", 1, 32, 32),
    ("map-64k", 1, 1 << 16, 1 << 16),
    ("rmsnorm-1", 2, 4096, 4096),
    ("rmsnorm-64", 2, 64 * 4096, 64 * 4096),
    ("rmsnorm-4096", 2, 16 * M, 16 * M),
    ("rmsnorm-16384", 2, 64 * M, 64 * M),
    ("softmax-2048", 3, 8 * M, 8 * M),
    ("row-sum-16384", 4, 64 * M, 16384),
    ("transpose-2048", 5, 4 * M, 4 * M),
    ("transpose-8192", 5, 64 * M, 64 * M),
    ("gather-32m", 6, 32 * M, 32 * M),
    ("stencil-32m", 7, 32 * M, 32 * M),
    ("map-128m", 1, 128 * M, 128 * M),
    ("product-256", 8, 2 * 256**2, 256**2),
    ("product-1024", 8, 2 * 1024**2, 1024**2),
    ("product-3072", 8, 2 * 3072**2, 3072**2),
    ("chain-1m", 9, M, M),
    ("fused-1m", 10, M, M),
]

CONTRACT = """\
format = 1
[kernel]
name = "truth"
lane = "cuda"
entry = { file = "solution/truth.cu", symbol = "truth_call" }
architectures = ["ARCHITECTURE"]
args = ["x", "y", "KIND", "N", "M"]
[axes]
KIND = { var = true, min = 1, max = 10 }
N = { var = true, min = 32, max = 268435456 }
M = { var = true, min = 32, max = 268435456 }
[[tensor]]
name = "x"
role = "in"
dtype = "float32"
shape = ["N"]
fill = { kind = "uniform", low = -1.0, high = 1.0 }
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["M"]
compare = "close"
[reference]
entry = { file = "input/reference.cu", symbol = "truth_reference" }
precision = "float64"
[[baseline]]
name = "same"
entry = { file = "solution/truth.cu", symbol = "truth_call" }
[tolerance]
accumulate = "4096"
[accept]
clock = "device"
cache = "CACHE"
min_gain = 0.005
"""


def contract(architecture, cache):
    text = CONTRACT.replace("ARCHITECTURE", architecture).replace("CACHE", cache)
    for tag, kind, n, m in SHAPES:
        text += f'[[shape]]\ntag = "{tag}"\nKIND = {kind}\nN = {n}\nM = {m}\nweight = 1\n'
    return text
