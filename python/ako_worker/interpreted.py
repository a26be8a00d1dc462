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
