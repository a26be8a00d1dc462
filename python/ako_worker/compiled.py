"""What Triton compiled and tuned: read from its functions' own caches, whatever their version keeps there."""
import contextlib
import hashlib
import os
import sys

from ako_worker import choices


@contextlib.contextmanager
def afresh(folder):
    """Triton compiles also what it compiled before. What belongs to no artifact is kept in `folder`."""
    words = {"TRITON_ALWAYS_COMPILE": "1"}
    if folder:
        words["TRITON_CACHE_DIR"] = folder
    before = {name: os.environ.get(name) for name in words}
    os.environ.update(words)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _unwrapped(value):
    """The chain of decorators around a jitted function, outermost first and the jitted function last."""
    chain = []
    while type(value).__module__.startswith("triton") and len(chain) < 8:
        chain.append(value)
        if type(value).__name__ == "JITFunction":
            return chain
        value = getattr(value, "fn", None)
    return []


class Watch:
    """Looks at the jitted functions of loaded modules."""

    def __init__(self, keep_dir):
        self.keep_dir = keep_dir
        self.seen = set()
        self.tuned = {}
        self.compile_ns = 0
        self.compilations = 0

    def listen(self):
        """Where Triton tells how long a compilation took, it is asked to."""
        triton = sys.modules.get("triton")
        knobs = getattr(triton, "knobs", None)
        if knobs is None or not hasattr(knobs, "compilation") or not hasattr(knobs.compilation, "listener"):
            return

        def heard(*_, **words):
            times = words.get("times")
            self.compilations += not words.get("cache_hit", False)
            self.compile_ns += int(getattr(times, "total", 0) * 1000) if times is not None else 0

        try:
            knobs.compilation.listener = heard
        except Exception:
            pass

    def keep_choices(self, modules, device):
        for chain in self.functions(modules) if self.keep_dir else ():
            for each in chain:
                if type(each).__name__ == "Autotuner":
                    choices.keep(each, self.keep_dir, device)

    def functions(self, modules):
        triton = sys.modules.get("triton")
        found, chains = set(), []
        for module in modules if triton else ():
            for value in list(vars(module).values()):
                chain = _unwrapped(value)
                if chain and id(value) not in found:
                    found.add(id(value))
                    chains.append(chain)
        return chains

    def report(self, modules):
        """New kernels and choices since the last report."""
        kernels, tuned = [], []
        for chain in self.functions(modules):
            for each in chain:
                if type(each).__name__ == "Autotuner":
                    tuned += self.choices(each)
            kernels += self.kernels(chain[-1])
        out = {}
        if kernels:
            out["compiled"] = kernels
        if tuned:
            out["tuned"] = tuned
        if out and self.compile_ns:
            out["compile_ns"], self.compile_ns = self.compile_ns, 0
        return out

    def choices(self, tuner):
        found = []
        for key, config in list(getattr(tuner, "cache", {}).items()):
            mark = (id(tuner), str(key))
            if mark in self.tuned:
                continue
            words = dict(getattr(config, "kwargs", {}))
            for name in ("num_warps", "num_stages", "num_ctas", "maxnreg"):
                if getattr(config, name, None) is not None:
                    words[name] = getattr(config, name)
            self.tuned[mark] = words
            found.append({"kernel": getattr(getattr(tuner, "base_fn", None), "__name__", "kernel"),
                          "key": [str(part) for part in (key if isinstance(key, tuple) else (key,))],
                          "config": {name: value if isinstance(value, (int, float, bool)) else str(value)
                                     for name, value in words.items()},
                          "of": len(getattr(tuner, "configs", ()))})
        return found

    def kernels(self, function):
        caches = getattr(function, "device_caches", None) or getattr(function, "cache", None) or {}
        found = []
        for held in list(caches.values()):
            held = held[0] if isinstance(held, tuple) else held
            for kernel in list(held.values()) if hasattr(held, "values") else ():
                if not hasattr(kernel, "asm") or id(kernel) in self.seen:
                    continue
                self.seen.add(id(kernel))
                found.append(self.described(kernel))
        return found

    def described(self, kernel):
        metadata = getattr(kernel, "metadata", None)
        out = {"kernel": getattr(kernel, "name", None) or getattr(metadata, "name", "kernel")}
        for word, name in (("num_warps", "warps"), ("num_stages", "stages"), ("num_ctas", "ctas"),
                           ("shared", "shared_bytes")):
            if getattr(metadata, word, None) is not None:
                out[name] = getattr(metadata, word)
        target = getattr(metadata, "target", None)
        if target is not None:
            out["architecture"] = f"sm_{target.arch}" if isinstance(getattr(target, "arch", None), int) else str(target)
        for word, name in (("n_regs", "registers"), ("n_spills", "spills")):
            value = getattr(kernel, word, None)
            if isinstance(value, int):
                out[name] = value
        for kind in ("ptx", "cubin"):
            image = kernel.asm.get(kind) if hasattr(kernel.asm, "get") else None
            if image:
                out.update(self.keep(kind, out["kernel"], image))
        return out

    def keep(self, kind, name, image):
        image = image.encode() if isinstance(image, str) else bytes(image)
        digest = hashlib.sha256(image).hexdigest()
        file = os.path.join("images", f"{name}-{digest[:12]}.{kind}")
        if self.keep_dir:
            path = os.path.join(self.keep_dir, file)
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if not os.path.exists(path):
                    with open(path + f".{os.getpid()}", "wb") as out:
                        out.write(image)
                    os.replace(path + f".{os.getpid()}", path)
            except OSError:
                file = ""
        return {f"{kind}_sha256": digest, f"{kind}_bytes": len(image), f"{kind}_file": file}
