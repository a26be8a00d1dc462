"""Streams of the scripted driver."""
import ctypes
import os
import time

_current = [None]


def driver():
    return ctypes.CDLL(os.path.join(os.environ["AKO_GPU_PATH"], "libcuda.so.1"))


def is_available():
    return os.environ.get("FAKE_TORCH") not in ("no_cuda", "driver")


def init():
    if not is_available():
        raise RuntimeError("The NVIDIA driver on your system is too old (found version 12020).\nPlease update it.")
    if os.environ.get("FAKE_TORCH") == "slow":
        time.sleep(3)
    if os.environ.get("FAKE_TORCH") == "greedy":
        take = ctypes.CDLL(None).mmap
        take.restype, take.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        private_anonymous_noreserve = 0x4022
        take(0x7e9000000000, 0x6000000000, 0, private_anonymous_noreserve, -1, 0)


def set_device(ordinal):
    _current[0] = None


def get_device_name(ordinal):
    return "Scripted device"


def get_device_capability(device=None):
    asked, out = driver().cuDeviceGetAttribute, []
    for which in (75, 76):  # major and minor, as the driver numbers them
        value = ctypes.c_int()
        asked(ctypes.byref(value), which, 0)
        out.append(value.value)
    return tuple(out)


class ExternalStream:
    def __init__(self, stream_ptr, device=None):
        self.cuda_stream = stream_ptr

    def __eq__(self, other):
        return isinstance(other, ExternalStream) and other.cuda_stream == self.cuda_stream


class Stream(ExternalStream):
    def __init__(self):
        made = ctypes.c_void_p()
        driver().cuStreamCreate(ctypes.byref(made), 1)
        super().__init__(made.value)


def set_stream(stream):
    _current[0] = stream


def current_stream(device=None):
    return _current[0]


def synchronize():
    driver().cuCtxSynchronize()


class Event:
    def record(self):
        pass

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return 1.0
