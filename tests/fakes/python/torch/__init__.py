"""A stand-in for torch: tensors over given memory, dtypes, streams. Enough for what ako's worker and a candidate ask of it
without a device; with the scripted driver its kernels run there. FAKE_TORCH says what is wrong with it:
  no_cuda    built without CUDA      driver     built for another CUDA than the driver's
  slow       takes three seconds to start
  greedy     takes the addresses where shared buffers are to lie, when it can
"""
import ctypes
import os

__version__ = "2.99.0"
_FORMATS = {"float64": "d", "float32": "f", "int64": "q", "int32": "i", "int16": "h", "int8": "b", "uint8": "B",
            "uint16": "H", "bool": "?", "float16": "e"}
_SIZES = {"float64": 8, "float32": 4, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "uint16": 2, "bool": 1,
          "float16": 2, "bfloat16": 2}


class dtype:
    def __init__(self, name):
        self.name, self.itemsize = name, _SIZES[name]
        self.is_floating_point = "float" in name

    def __repr__(self):
        return f"torch.{self.name}"


for _name in _SIZES:
    globals()[_name] = dtype(_name)
float, int = float32, int32  # noqa: F821 - as torch has them


class device(str):
    @property
    def type(self):
        return self.split(":")[0]


class Tensor:
    def __init__(self, address, kind, shape, strides, where, keep=None):
        self._address, self.dtype, self.shape, self.ndim = address, kind, tuple(shape), len(shape)
        self._strides, self.device, self._keep = tuple(strides), device(where), keep

    def is_contiguous(self):
        step = 1
        for extent, stride in zip(reversed(self.shape), reversed(self._strides)):
            if extent > 1 and stride != step:
                return False
            step *= extent
        return True

    def data_ptr(self):
        return self._address

    def stride(self, axis=None):
        return self._strides if axis is None else self._strides[axis]

    def size(self, axis=None):
        return self.shape if axis is None else self.shape[axis]

    def numel(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self):
        return self.numel() * self.dtype.itemsize

    def view(self, kind):
        count = self.numel() * self.dtype.itemsize // kind.itemsize
        return Tensor(self._address, kind, (count,), (1,), self.device, self._keep)

    def as_strided(self, shape, strides):
        return Tensor(self._address, self.dtype, shape, strides, self.device, self._keep)

    def _memory(self):
        span = 1 + sum((extent - 1) * stride for extent, stride in zip(self.shape, self._strides))
        raw = (ctypes.c_ubyte * (span * self.dtype.itemsize)).from_address(self._address)
        return memoryview(raw).cast("B").cast(_FORMATS[self.dtype.name])

    def __getitem__(self, index):
        return self._memory()[index]

    def __setitem__(self, index, value):
        self._memory()[index] = value

    def copy_(self, other):
        mine, theirs = self._memory(), other._memory()
        for index in range(self.numel()):
            mine[index] = theirs[index]
        return self


def _new(shape, kind, device="cpu"):
    shape = (shape,) if not isinstance(shape, (tuple, list)) else tuple(shape)
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    memory = (ctypes.c_ubyte * max(1, step * kind.itemsize))()
    return Tensor(ctypes.addressof(memory), kind, shape, strides, device, memory)


def empty(*shape, dtype=None, device="cpu"):
    return _new(shape[0] if len(shape) == 1 else shape, dtype or globals()["float32"], str(device))


zeros = empty


def empty_like(other, dtype=None):
    return _new(other.shape, dtype or other.dtype, other.device)


def frombuffer(memory, dtype):
    return Tensor(ctypes.addressof(memory), dtype, (len(memory) // dtype.itemsize,), (1,), "cpu", memory)


def as_tensor(value, device="cpu"):
    given = value.__cuda_array_interface__
    return Tensor(given["data"][0], globals()["uint8"], given["shape"], (1,), str(device), value)


class version:
    cuda = None if os.environ.get("FAKE_TORCH") == "no_cuda" else "13.0"


_state = {"grad": True, "dtype": "float32", "threads": 1, "deterministic": False, "precision": "high"}


def set_grad_enabled(value):
    _state["grad"] = value


def is_grad_enabled():
    return _state["grad"]


def set_default_dtype(value):
    _state["dtype"] = value


def get_default_dtype():
    return _state["dtype"]


def set_num_threads(value):
    _state["threads"] = value


def get_num_threads():
    return _state["threads"]


def are_deterministic_algorithms_enabled():
    return _state["deterministic"]


def use_deterministic_algorithms(value):
    _state["deterministic"] = value


def set_float32_matmul_precision(value):
    _state["precision"] = value


def get_float32_matmul_precision():
    return _state["precision"]


class _Modes:
    allow_tf32 = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_reduced_precision_reduction = True


class backends:
    class cuda:
        matmul = _Modes()
    cudnn = _Modes()


from . import cuda  # noqa: E402
