"""A planted slow-down: each call takes a share longer, for `ako check` to prove that a slower candidate is seen."""
import time

_now = time.monotonic_ns


def slowed(function, share, frameworks):
    return on_device(function, share, frameworks) if frameworks.device else on_host(function, share)


def on_host(function, share):
    def call(*arguments):
        begin = _now()
        value = function(*arguments)
        end = _now()
        while _now() - end < (end - begin) // share:
            pass
        return value
    return call


def on_device(function, share, frameworks):
    """One thread notes the time before, and spins for the share of what passed after: both in the call's stream."""
    from ako_worker import planted_kernels
    torch = frameworks.modules["torch"]
    clock = torch.zeros(1, dtype=torch.int64, device=f"cuda:{frameworks.device['ordinal']}")

    def call(*arguments):
        planted_kernels.begin[(1,)](clock, num_warps=1)
        value = function(*arguments)
        planted_kernels.spin[(1,)](clock, share, num_warps=1)
        return value
    return call
