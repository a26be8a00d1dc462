"""The CuTe DSL (nvidia-cutlass-dsl): what it compiled, what it kept ahead of time, and calls that go through its implicit
JIT, whose price is the host's and is told apart from the kernel's."""
import hashlib
import os
import re
import sys
import time

_now = time.monotonic_ns
ARCHITECTURE = "CUTE_DSL_ARCH"


def target(word):
    """Before the package is imported: for which device it is to compile where there is none."""
    os.environ[ARCHITECTURE] = word


def _classes(module, method):
    """Classes of a module that define a method of their own."""
    return [value for value in list(vars(module).values())
            if isinstance(value, type) and value.__module__ == module.__name__ and method in vars(value)]


class Watch:
    """Between the module and the package: sees compilations and calls, changes neither."""

    def __init__(self, keep_dir):
        self.keep_dir = keep_dir
        self.depth = 0  # of calls of jitted functions
        self.within = None  # ns of the compiled program in the call that is going on; None = it compiled
        self.compiled, self.counts, self.functions = [], {}, []
        self.names = set()

    def listen(self):
        """False where the package is not there, or has other insides than those known."""
        dsl = sys.modules.get("cutlass.base_dsl.dsl")
        executor = sys.modules.get("cutlass.base_dsl.jit_executor")
        base = getattr(dsl, "BaseDSL", None)
        if base is None or executor is None or not hasattr(base, "_func") or not hasattr(base, "compile_and_cache"):
            return False
        self.wrap(base, "_func", self.call)
        self.wrap(base, "compile_and_cache", self.compile)
        for kind in _classes(executor, "run_compiled_program"):
            self.wrap(kind, "run_compiled_program", self.run)
        return True

    @staticmethod
    def wrap(kind, name, around):
        inner = getattr(kind, name)

        def outer(this, *arguments, **words):
            return around(inner, this, *arguments, **words)

        outer.__wrapped__ = inner
        setattr(kind, name, outer)

    # --- what is seen --------------------------------------------------------------------------------------------

    def call(self, inner, this, function, *arguments, **words):
        """A jitted function, called or handed to cute.compile."""
        if self.depth or words.get("compile_only"):
            return self.nested(inner, this, function, *arguments, **words)
        self.within = 0
        began = _now()
        value = self.nested(inner, this, function, *arguments, **words)
        took = _now() - began
        if self.within is not None:  # a call that compiled is no call's price
            self.add("implicit_calls", 1)
            self.add("implicit_overhead_ns", max(0, took - self.within))
            name = getattr(function, "__name__", "function")
            if name not in self.names:
                self.names.add(name)
                self.functions.append(name)
        return value

    def nested(self, inner, this, function, *arguments, **words):
        self.depth += 1
        try:
            return inner(this, function, *arguments, **words)
        finally:
            self.depth -= 1

    def compile(self, inner, this, *arguments, **words):
        began = _now()
        made = inner(this, *arguments, **words)
        took = _now() - began
        self.within = None
        self.add("compile_ns", took)
        self.compiled += self.described(made, took)
        return made

    def run(self, inner, this, *arguments, **words):
        if self.within is None or self.depth != 1:
            return inner(this, *arguments, **words)
        before, began = self.within, _now()
        value = inner(this, *arguments, **words)
        if self.within is not None:
            self.within = before + _now() - began if before == 0 else before  # the outermost alone
        return value

    def add(self, name, value):
        self.counts[name] = self.counts.get(name, 0) + value

    # --- the report ----------------------------------------------------------------------------------------------

    def report(self):
        """New since the last report."""
        out = dict(self.counts)
        if self.compiled:
            out["compiled"] = self.compiled
        if self.functions:
            out["implicit_functions"] = self.functions
        self.compiled, self.counts, self.functions = [], {}, []
        return out

    def described(self, made, took):
        """One entry for each kernel of a compiled function."""
        whole = {"function": str(getattr(made, "function_name", "function")), "took_ns": took}
        architecture = os.environ.get(ARCHITECTURE)
        if architecture:
            whole["architecture"] = architecture
        whole.update(self.keep(made))
        names = [str(name) for name in (getattr(made, "kernel_info", None) or {})]
        return [{"kernel": name, **whole} for name in names] or [{"kernel": whole["function"], **whole}]

    def keep(self, made):
        """Where the version can export what it compiled, header and object are kept: they run without a compiler."""
        if not self.keep_dir:
            return {}
        name = "k" + hashlib.sha256(re.sub(r"0x[0-9a-f]+", "", str(getattr(made, "function_name", ""))).encode()).hexdigest()[:12]
        folder = os.path.join(self.keep_dir, "images")
        path = os.path.join(folder, name + ".o")
        try:
            os.makedirs(folder, exist_ok=True)
            self.export(made, folder, name)
            with open(path, "rb") as file:
                image = file.read()
        except Exception as error:
            return {"not_kept": f"{type(error).__name__}: {str(error)[:200]}"}
        return {"cubin_file": os.path.join("images", name + ".o"), "object_sha256": hashlib.sha256(image).hexdigest(),
                "object_bytes": len(image)}

    @staticmethod
    def export(made, folder, name):
        if hasattr(made, "export_to_c"):
            return made.export_to_c(file_path=folder, file_name=name, function_prefix=name)
        from cutlass.cute.export import export_to_c
        return export_to_c(made, folder, name)


def compile_only():
    """Compiled programs are made and not run: there is no device. False where the package is not there."""
    executor = sys.modules.get("cutlass.base_dsl.jit_executor")
    if executor is None:
        return False
    for kind in _classes(executor, "run_compiled_program"):
        kind.run_compiled_program = lambda self, *arguments, **words: None
    for kind in _classes(sys.modules["cutlass.base_dsl.compiler"], "jit"):
        kind.jit = lambda self, *arguments, **words: None  # it would link against the driver
    return True
