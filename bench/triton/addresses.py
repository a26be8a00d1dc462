"""How the driver answers wishes for addresses, before and after torch has memory: small reservations come from what it has in
hand, whatever address is asked for; large ones, and those after it has run out, lie where they are wanted."""
import ctypes

WANTED = 0x7E9000000000
u64, size = ctypes.c_uint64, ctypes.c_size_t
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuMemAddressReserve.argtypes = [ctypes.POINTER(u64), size, size, u64, ctypes.c_ulonglong]
cuda.cuMemAddressFree.argtypes = [u64, size]


def reserve(mebibytes, said):
    got = u64()
    code = cuda.cuMemAddressReserve(ctypes.byref(got), mebibytes << 20, 0, WANTED, 0)
    print(f"{said}: {mebibytes} MiB at {WANTED:#x}: {code}, {got.value:#x}{' as wanted' if got.value == WANTED else ''}")
    return got.value


def maps(said):
    total, large = 0, []
    for line in open("/proc/self/maps"):
        begin, end = (int(text, 16) for text in line.split()[0].split("-"))
        total += end - begin
        if end - begin >= 1 << 28:
            large.append(f"{begin:#x}+{(end - begin) >> 20}M")
    print(f"{said}: {total >> 30} GiB mapped; large: {' '.join(large)}")


def main():
    maps("at the start")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    for code in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0),
                 cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), cuda.cuCtxSetCurrent(context)):
        if code:
            raise SystemExit(f"the driver says {code}")
    maps("with a context")
    sizes = (64, 128, 1024, 98304, 393216)
    for mebibytes in sizes:
        cuda.cuMemAddressFree(reserve(mebibytes, "before torch"), mebibytes << 20)
    import torch
    held = [torch.zeros(1, device="cuda"), torch.zeros(64 << 20, device="cuda")]
    print("torch's own:", " ".join(hex(tensor.data_ptr()) for tensor in held))
    maps("with torch")
    for mebibytes in sizes:
        cuda.cuMemAddressFree(reserve(mebibytes, "after torch"), mebibytes << 20)
    for _ in range(6):
        reserve(64, "again, kept")


if __name__ == "__main__":
    main()
