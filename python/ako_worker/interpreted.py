"""Triton's own interpreter, where kernels are judged without a device: what stands in its way, and what it must not do."""
import sys


def install():
    """What was mended, in words for the record; empty where nothing had to be."""
    interpreter = sys.modules.get("triton.runtime.interpreter")
    autotuner = sys.modules.get("triton.runtime.autotuner")
    mended = []
    if interpreter is not None and takes_no_single():
        if mend_index(interpreter):
            mended.append("one-element tensors as numbers: this numpy converts none that has a dimension")
    if interpreter is not None and round_to_nearest(interpreter):
        mended.append("float32 becomes bfloat16 rounded to nearest, as devices do")
    if interpreter is not None and multiply_bfloat16(interpreter):
        mended.append("products of bfloat16 are those of its values, not of its bits")
    if autotuner is not None and hasattr(autotuner, "Autotuner"):
        autotuner.Autotuner.run = first_choice
        mended.append("nothing is tuned: the first configuration runs")
    return mended


def takes_no_single():
    """numpy refuses to make a number of an array of one element, as the interpreter asks of it."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return False
    try:
        int(numpy.ones(1, numpy.int32))
    except TypeError:
        return True
    return False


def mend_index(interpreter):
    """The interpreter sets tensor.__index__ anew for every kernel: right after it has, it is set once more."""
    patch = getattr(interpreter, "_patch_lang_tensor", None)
    if patch is None:
        return False

    def mended(tensor, *scope):
        patch(tensor, *scope)
        tensor.__index__ = lambda self: int(self.handle.data.item())

    interpreter._patch_lang_tensor = mended
    return True


def round_to_nearest(interpreter):
    """The interpreter cuts what it makes bfloat16 of, and rounds ties away where it rounds; devices round to nearest, ties
    to even. Whether it had to be mended."""
    numpy, builder = sys.modules.get("numpy"), getattr(interpreter, "InterpreterBuilder", None)
    language = sys.modules.get("triton.language")
    if numpy is None or language is None or not hasattr(builder, "cast_impl"):
        return False

    def mended(cast):
        def convert(self, source, kind, *how):
            narrow = source.dtype.scalar == language.float32 and kind.scalar == language.bfloat16
            if not narrow or (how and "RTZ" in str(how[0])):
                return cast(self, source, kind, *how)
            return interpreter.TensorHandle(nearest_bfloat16(numpy, source.data), kind.scalar)
        return convert

    for name in ("cast_impl", "create_fp_to_fp"):
        if hasattr(builder, name):
            setattr(builder, name, mended(getattr(builder, name)))
    return True


def nearest_bfloat16(numpy, values):
    """The upper halves of float32 words, to nearest and ties to even; what is no number stays none."""
    words = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    rounded = (words + 0x7fff + ((words >> 16) & 1)) >> 16
    none = (words & 0x7fffffff) > 0x7f800000
    return numpy.where(none, (words >> 16) | 0x40, rounded).astype(numpy.uint16).reshape(numpy.shape(values))


def multiply_bfloat16(interpreter):
    """bfloat16 lies in the interpreter as 16-bit words, and its products are taken of those as they stand."""
    numpy, builder = sys.modules.get("numpy"), getattr(interpreter, "InterpreterBuilder", None)
    language = sys.modules.get("triton.language")
    if numpy is None or language is None or not hasattr(builder, "create_dot"):
        return False
    dot = builder.create_dot

    def widened(handle):
        if handle.dtype.scalar != language.bfloat16 or handle.data.dtype != numpy.uint16:
            return handle
        words = numpy.ascontiguousarray(handle.data).astype(numpy.uint32) << 16
        return interpreter.TensorHandle(words.view(numpy.float32).reshape(handle.data.shape), language.float32)

    builder.create_dot = lambda self, a, b, *more: dot(self, widened(a), widened(b), *more)
    return True


def first_choice(self, *arguments, **words):
    """In the place of Autotuner.run: trying configurations out is timing, and what is interpreted is never timed."""
    self.nargs = dict(zip(self.arg_names, arguments))
    fit = self.prune_configs(words) if len(self.configs) > 1 else self.configs
    config = list(fit)[0]
    if config.pre_hook is not None:
        config.pre_hook({**self.nargs, **words, **config.all_kwargs()})
    value = self.fn.run(*arguments, **words, **config.all_kwargs())
    self.nargs = None
    return value
