"""What a win is measured against: the kernel as it stands today."""
import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

THREADS = 256


@cute.kernel
def scale_add_kernel(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, a: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        out[i] = (a * x[i].to(cutlass.Float32) + y[i].to(cutlass.Float32)).to(out.element_type)


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, a: cutlass.Float32, stream: cuda.CUstream):
    blocks = cute.ceil_div(cute.size(x), THREADS)
    scale_add_kernel(x, y, out, a).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


compiled = []  # once for all shapes: lengths are dynamic


def scale_add(x, y, out, N, a, stream):
    tensors = [from_dlpack(each).mark_layout_dynamic() for each in (x, y, out)]
    stream = cuda.CUstream(stream)
    if not compiled:
        compiled.append(cute.compile(launch, *tensors, a, stream))
    compiled[0](*tensors, a, stream)
