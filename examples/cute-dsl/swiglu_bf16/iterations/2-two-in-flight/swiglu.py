"""Two times sixteen bytes on their way before the first is used."""
import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

THREADS, WIDE, TIMES = 256, 8, 2


def fused(gate, up, kind):
    g, u = gate.to(cutlass.Float32), up.to(cutlass.Float32)
    return (u * g / (1.0 + cute.exp(-g))).to(kind)


@cute.kernel
def swiglu_kernel(gate: cute.Tensor, up: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = block * THREADS * TIMES + thread
    if first + THREADS * (TIMES - 1) < cute.size(gate, mode=[1]):
        gates = [gate[None, first + THREADS * k].load() for k in range(TIMES)]
        ups = [up[None, first + THREADS * k].load() for k in range(TIMES)]
        for k in cutlass.range_constexpr(TIMES):
            out[None, first + THREADS * k].store(fused(gates[k], ups[k], out.element_type))
    else:
        for k in cutlass.range_constexpr(TIMES):
            if first + THREADS * k < cute.size(gate, mode=[1]):
                i = first + THREADS * k
                out[None, i].store(fused(gate[None, i].load(), up[None, i].load(), out.element_type))


@cute.jit
def launch(gate: cute.Tensor, up: cute.Tensor, out: cute.Tensor, stream: cuda.CUstream):
    gates, ups, outs = [cute.zipped_divide(each, (WIDE,)) for each in (gate, up, out)]
    blocks = cute.ceil_div(cute.size(gates, mode=[1]), THREADS * TIMES)
    swiglu_kernel(gates, ups, outs).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


compiled = []


def swiglu(gate, up, out, N, stream):
    tensors = [from_dlpack(each, assumed_align=16).mark_compact_shape_dynamic(mode=0, divisibility=WIDE)
               for each in (gate, up, out)]
    stream = cuda.CUstream(stream)
    if not compiled:
        compiled.append(cute.compile(launch, *tensors, stream))
    compiled[0](*tensors, stream)
