"""The keeper's buffers as what a module works with: torch tensors, numpy arrays, or plain arrays that speak the buffer
protocol, __cuda_array_interface__ and DLPack. Nothing is copied."""
import ctypes

BITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16, "float8_e4m3fn": 8, "float8_e5m2": 8,
        "float8_e8m0fnu": 8, "float4_e2m1fn": 4, "int64": 64, "int32": 32, "int16": 16, "int8": 8, "uint64": 64,
        "uint32": 32, "uint16": 16, "uint8": 8, "int4": 4, "bool": 8}
# (code, bits) of DLPack; 4-bit types travel as bytes.
DLPACK = {"float64": (2, 64), "float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16), "int64": (0, 64),
          "int32": (0, 32), "int16": (0, 16), "int8": (0, 8), "uint64": (1, 64), "uint32": (1, 32), "uint16": (1, 16),
          "uint8": (1, 8), "bool": (6, 8)}
# Of arrays without a framework: formats of struct, and what stands for the types that have none.
FORMATS = {"float64": "d", "float32": "f", "float16": "e", "int64": "q", "int32": "i", "int16": "h", "int8": "b",
           "uint64": "Q", "uint32": "I", "uint16": "H", "uint8": "B", "bool": "?"}


def bits_instead(dtype):
    """The unsigned type that holds the bits of one that is not to be had."""
    return "uint16" if BITS[dtype] == 16 else "uint8"


class Description:
    """One tensor at one shape. 4-bit elements come packed, two a byte: the last extent is halved where it is even and
    the rows are dense, else the tensor is flat."""

    def __init__(self, text):
        self.name, self.role, self.dtype = text["name"], text["role"], text["dtype"]
        self.shape, self.strides = tuple(text["shape"]), tuple(text["strides"])
        self.bits = BITS[self.dtype]
        if self.bits == 4:
            self.pack()

    def pack(self):
        elements = 1
        for extent in self.shape:
            elements *= extent
        dense, step = True, 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            dense = dense and (stride == step or extent == 1)
            step *= extent
        if dense and self.shape and self.shape[-1] % 2 == 0:
            self.shape = (*self.shape[:-1], self.shape[-1] // 2)
            self.strides = (*(stride // 2 for stride in self.strides[:-1]), 1)
        else:
            self.shape, self.strides = ((elements + 1) // 2,), (1,)

    @property
    def item_bytes(self):
        return max(1, self.bits // 8)

    @property
    def span_bytes(self):
        last = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides))
        return (last + 1) * self.item_bytes

    @property
    def is_output(self):
        return self.role in ("out", "inout")


class Word(str):
    """The contract's word for a dtype, with what else a dtype is asked for."""

    itemsize = property(lambda self: max(1, BITS[self] // 8))
    is_floating_point = property(lambda self: "float" in self)


class Array:
    """A tensor without a framework. `dtype` is the contract's word."""

    def __init__(self, description, address, device):
        self.name, self.dtype = description.name, Word(description.dtype)
        self.shape, self.strides = description.shape, description.strides
        self.itemsize, self.nbytes = description.item_bytes, description.span_bytes
        self.address, self.device = address, device  # device: ordinal, or None for the host

    def data_ptr(self):
        return self.address

    def stride(self, axis=None):
        return self.strides if axis is None else self.strides[axis]

    def size(self, axis=None):
        return self.shape if axis is None else self.shape[axis]

    def dim(self):
        return len(self.shape)

    def numel(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def element_size(self):
        return self.itemsize

    def is_contiguous(self):
        step = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True

    def memoryview(self):
        """Host alone: a view with the array's format and shape; bytes where the type has no format."""
        if self.device is not None:
            raise TypeError(f"{self.name} lies on a device: take __cuda_array_interface__ or __dlpack__")
        raw = memoryview((ctypes.c_ubyte * self.nbytes).from_address(self.address)).cast("B")
        word = FORMATS.get(self.dtype, FORMATS[bits_instead(self.dtype)])
        return raw.cast(word, self.shape) if self.shape and self.is_contiguous() else raw.cast(word)

    @property
    def __cuda_array_interface__(self):
        if self.device is None:
            raise AttributeError("__cuda_array_interface__")
        kind = "f" if self.dtype.startswith("float") and self.dtype in FORMATS else \
            "i" if self.dtype.startswith("int") else "b" if self.dtype == "bool" else "u"
        return {"shape": self.shape, "typestr": f"{'<' if self.itemsize > 1 else '|'}{kind}{self.itemsize}",
                "data": (self.address, False), "version": 3,
                "strides": tuple(stride * self.itemsize for stride in self.strides)}

    def __dlpack_device__(self):
        return (1, 0) if self.device is None else (2, self.device)

    def __dlpack__(self, stream=None, **_):
        return capsule(self)


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]
_kept = {}  # handed-out descriptions by address, until their deleter is called


@DELETER
def _forget(managed):
    _kept.pop(ctypes.addressof(managed.contents), None)


def capsule(array):
    """A DLPack capsule of an Array; the memory stays ako's."""
    code, bits = DLPACK.get(array.dtype) or DLPACK[bits_instead(array.dtype)]
    rank = len(array.shape)
    shape, strides = (ctypes.c_int64 * rank)(*array.shape), (ctypes.c_int64 * rank)(*array.strides)
    kind, ordinal = array.__dlpack_device__()
    managed = Managed(DLTensor(array.address, kind, ordinal, rank, code, bits, 1, shape, strides, 0), None, _forget)
    _kept[ctypes.addressof(managed)] = (managed, shape, strides)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(managed), b"dltensor", None)


class Bytes:
    """Device memory as bytes, for torch.as_tensor."""

    def __init__(self, address, count):
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": "|u1", "data": (address, False), "version": 3,
                                         "strides": None}


def numpy_array(numpy, description, address):
    try:
        dtype = numpy.dtype(description.dtype)
    except TypeError:
        dtype = numpy_extension(numpy, description.dtype)
    memory = (ctypes.c_ubyte * description.span_bytes).from_address(address)
    steps = tuple(stride * dtype.itemsize for stride in description.strides)
    return numpy.ndarray(description.shape, dtype, buffer=memory, strides=steps)


def numpy_extension(numpy, dtype):
    """bfloat16 and its like come from ml_dtypes; without it the bits stand as unsigned integers."""
    if BITS[dtype] == 4:
        return numpy.dtype("uint8")
    try:
        import ml_dtypes
        return numpy.dtype(getattr(ml_dtypes, dtype))
    except (ImportError, AttributeError):
        return numpy.dtype(bits_instead(dtype))


def torch_tensor(torch, description, address, device):
    if device is None:
        memory = (ctypes.c_ubyte * description.span_bytes).from_address(address)
        flat = torch.frombuffer(memory, dtype=torch.uint8)
    else:
        flat = torch.as_tensor(Bytes(address, description.span_bytes), device=f"cuda:{device}")
    dtype = None if description.bits == 4 else getattr(torch, description.dtype, None)
    if dtype is None:
        dtype = getattr(torch, bits_instead(description.dtype), torch.uint8)
    return flat.view(dtype).as_strided(description.shape, description.strides)


def make(kind, description, address, device, modules):
    if kind == "torch" and modules.get("torch"):
        return torch_tensor(modules["torch"], description, address, device)
    if kind == "numpy" and device is None and modules.get("numpy"):
        return numpy_array(modules["numpy"], description, address)
    return Array(description, address, device)
