"""The CuTe DSL (nvidia-cutlass-dsl): what it compiled, what it kept ahead of time, and calls that go through its implicit
JIT, whose price is the host's and is told apart from the kernel's."""
import glob
import hashlib
import os
import sys
import time

from ako_worker.abi import Refusal

_now = time.monotonic_ns
ARCHITECTURE = "CUTE_DSL_ARCH"
# Names of its errors: of sources that it does not compile, and of a machine that it does not run on.
COMPILING = ("DSLRuntimeError", "DSLAstPreprocessorError", "DSLNotImplemented", "DSLUserCodeError", "DSLUserCodeRuntimeError",
             "DSLUserCodeTypeError", "DSLOperationBuildError", "DSLTreeFlattenError", "CompilerDiagnosticError", "OpError")
MACHINE = ("CudaDriverDependencyError",)


def target(word):
    """Before the package is imported: for which device it is to compile where there is none."""
    os.environ[ARCHITECTURE] = word


def check_cuda():
    """Refuses a package that was built for a newer CUDA than the driver gives."""
    package = sys.modules.get("cutlass")
    built = major_of(str(getattr(package, "CUDA_VERSION", "")))
    if not built:
        return  # one build for all, or a version that does not say
    try:
        from cuda.bindings import driver
        status, version = driver.cuDriverGetVersion()
    except Exception:
        return  # its own first call will say so
    if int(status) == 0 and version // 1000 < built:
        raise Refusal("environment", f"nvidia-cutlass-dsl {getattr(package, '__version__', 'unknown')} of {sys.executable} is built "
                      f"for CUDA {built}, and the driver gives {version // 1000}.{version % 1000 // 10}; install "
                      f"nvidia-cutlass-dsl-libs-cu{version // 1000} there, or update the driver", built=built, driver=version)


def major_of(version):
    """13 of "13.0" or "CUDA 13.0.1"; 0 when it says none."""
    digits = "".join(c if c.isdigit() else " " for c in version).split()
    return int(digits[0]) if digits else 0


def joined(one, other):
    """Two reports as one: lists grow, numbers add up."""
    out = dict(one)
    for key, value in other.items():
        out[key] = out[key] + value if key in out else value
    return out


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
        place = self.place(this, arguments, words)
        began = _now()
        made = inner(this, *arguments, **words)
        took = _now() - began
        self.within = None
        self.add("compile_ns", took)
        self.compiled += self.described(made, took, place)
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

    def described(self, made, took, place):
        """One entry for each kernel of a compiled function."""
        whole = {"function": str(getattr(made, "function_name", "function")), "took_ns": took}
        architecture = os.environ.get(ARCHITECTURE)
        if architecture:
            whole["architecture"] = architecture
        whole.update(self.kept(made, place))
        names = [str(name) for name in (getattr(made, "kernel_info", None) or {})]
        return [{"kernel": name, **whole} for name in names] or [{"kernel": whole["function"], **whole}]

    # --- what is kept --------------------------------------------------------------------------------------------

    def place(self, this, arguments, words):
        """Where what is about to be compiled will lie, without an ending; the compiler is asked for the image too."""
        if not self.keep_dir:
            return None
        folder = os.path.join(self.keep_dir, "images")
        text = "".join(str(each) for each in (*arguments, *words.values()) if isinstance(each, str))
        place = os.path.join(folder, "k" + hashlib.sha256(text.encode()).hexdigest()[:12])
        try:
            os.makedirs(folder, exist_ok=True)
            options = this.compile_options.options
            option = next(options[kind] for kind in options if kind.__name__ == "KeepCUBIN")
            if not option.value:
                option.value, option.dump_path, option.full_cubin_path = True, place, place + ".cubin"
        except (OSError, AttributeError, TypeError, StopIteration):
            pass  # a version without the option: the image is not kept
        return place

    def kept(self, made, place):
        """The image, and, where the version can export what it compiled, header and object that run without a compiler."""
        out = {}
        if place is None:
            return out
        images = sorted(glob.glob(glob.escape(place) + "*.cubin"))
        if images:
            out.update(cubin_file=os.path.relpath(images[-1], self.keep_dir), cubin_sha256=digest_of(images[-1]))
        if getattr(made, "engine", None) is None:
            return out  # compiled for another device: there is nothing to export from
        try:
            self.export(made, *os.path.split(place))
            out.update(object_file=os.path.relpath(place + ".o", self.keep_dir), object_sha256=digest_of(place + ".o"))
        except Exception as error:
            out["not_exported"] = f"{type(error).__name__}: {str(error)[:200]}"
        return out

    @staticmethod
    def export(made, folder, name):
        if hasattr(made, "export_to_c"):
            return made.export_to_c(file_path=folder, file_name=name, function_prefix=name)
        from cutlass.cute.export import export_to_c
        return export_to_c(made, folder, name)


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


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
