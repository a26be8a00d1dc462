"""Compiling for a named target where there is no device: launches compile and launch nothing."""
import re

from ako_worker.abi import Refusal


class Target:
    """What Triton asks of a driver, for a device that is not here."""

    def __init__(self, target):
        self.target = target

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=None):
        return 0

    def get_device_capability(self, device=None):
        return divmod(self.target.arch, 10)

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")


def target_of(word):
    """"sm_90a" as Triton names it: the suffix is Triton's own choice."""
    match = re.fullmatch(r"sm_(\d+)[a-z]?", word)
    if not match:
        raise Refusal("environment", f"Triton compiles for no target '{word}'; allowed: sm_80, sm_90, sm_100 and the like")
    from triton.backends.compiler import GPUTarget
    return GPUTarget("cuda", int(match.group(1)), 32)


def install(word):
    try:
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.driver import driver
        from triton.runtime.jit import JITFunction
        driver.set_active(Target(target_of(word)))
    except (ImportError, AttributeError) as error:
        raise Refusal("environment", f"this Triton does not compile for a target that is not here: {error}") from None
    launch = JITFunction.run

    def compile_only(self, *arguments, grid=None, warmup=False, **words):
        return launch(self, *arguments, grid=grid, warmup=True, **words)

    def every_choice(self, *arguments, **words):
        self.nargs = dict(zip(self.arg_names, arguments))
        for config in self.prune_configs(words):
            if config.pre_hook is not None:
                config.pre_hook({**self.nargs, **words, **config.all_kwargs()})
            self.fn.run(*arguments, **words, **config.all_kwargs())
        self.nargs = None

    JITFunction.run = compile_only
    Autotuner.run = every_choice
