"""Writes dtypes.txt: what ml_dtypes and numpy say about codes and rounding.

Needs numpy and ml_dtypes. Lines:
  decode <dtype> <float64 bits of code 0> <of code 1> ...       "nan" for any NaN
  encode <dtype> <float32 bits>:<code> ...                      rounded from float32
Run: python make_dtypes.py > dtypes.txt
"""
import struct

import ml_dtypes
import numpy as np

NARROW = {
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
    "int4": ml_dtypes.int4,
}
WIDE = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def bits64(x):
    return "nan" if np.isnan(x) else "%x" % struct.unpack("<Q", struct.pack("<d", float(x)))[0]


def codes_of(name, dtype):
    count = 16 if name in ("float4_e2m1fn", "int4") else 256 if name in NARROW else 65536
    raw = np.arange(count, dtype=np.uint8 if count <= 256 else np.uint16)
    return raw.view(dtype)


def code_of(values, dtype):
    out = values.astype(dtype)
    return out.view(np.uint8 if out.dtype.itemsize == 1 else np.uint16)


def rounding_inputs(values):
    """Midpoints of neighbours, one float32 step to either side, and the ends of the range."""
    finite = np.unique(values[np.isfinite(values)])
    mid = (finite[1:] / 2 + finite[:-1] / 2).astype(np.float32)
    top = np.float32(finite[-1])
    step = np.float32(finite[-1] - finite[-2])
    with np.errstate(over="ignore"):
        ends = np.array([top, top + step / 2, top + step, top * 2, 3e38], dtype=np.float32)
    tiny = np.array([np.min(np.abs(finite[finite != 0]))], dtype=np.float32)
    base = np.concatenate([mid, ends, -ends, tiny / 2, tiny / 4, -tiny / 2, finite.astype(np.float32)])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-30], dtype=np.float32)
    near = [base, np.nextafter(base, np.float32(np.inf)), np.nextafter(base, np.float32(-np.inf))]
    return np.unique(np.concatenate(near + [special]).view(np.uint32))


def main():
    for name, dtype in NARROW.items():
        values = codes_of(name, dtype).astype(np.float64)
        print("decode", name, *[bits64(v) for v in values])
        if name == "int4":
            continue
        inputs = rounding_inputs(values)
        codes = code_of(inputs.view(np.float32), dtype)
        print("encode", name, *["%x:%x" % (i, c) for i, c in zip(inputs, codes)])
    rng = np.random.default_rng(7)
    for name, dtype in WIDE.items():
        values = codes_of(name, dtype).astype(np.float64)
        print("decode", name, *[bits64(values[c]) for c in range(0, 65536, 257)])
        inputs = rounding_inputs(values)
        keep = np.sort(np.concatenate([rng.choice(inputs, 1500, replace=False), inputs[-12:]]))
        with np.errstate(over="ignore"):
            codes = code_of(keep.view(np.float32), dtype)
        print("encode", name, *["%x:%x" % (i, c) for i, c in zip(keep, codes)])


if __name__ == "__main__":
    main()
