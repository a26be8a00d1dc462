"""The device's side of a planted slow-down."""
import triton
import triton.language as tl


@triton.jit
def now():
    return tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def begin(clock):
    tl.store(clock, now())


@triton.jit
def spin(clock, share):
    end = now()
    wait = (end - tl.load(clock)) // share
    at = end
    while at - end < wait:
        at = now()
