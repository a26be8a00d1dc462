"""torch, triton and numpy: imported before a candidate is, put onto the worker's device and stream, and looked after."""
import importlib
import os
import sys
import time

from ako_worker.abi import Refusal

# Kept under names of their own: what is loaded may replace those in the modules.
_now = time.monotonic_ns
TIMERS = (("time", "time"), ("time", "time_ns"), ("time", "perf_counter"), ("time", "perf_counter_ns"),
          ("time", "monotonic"), ("time", "monotonic_ns"), ("time", "process_time"), ("time", "sleep"),
          ("torch", "cuda.Event.elapsed_time"), ("torch", "cuda.Event.record"), ("torch", "cuda.Event.synchronize"),
          ("torch", "cuda.synchronize"), ("torch", "cuda.current_stream"), ("torch", "allclose"), ("torch", "equal"),
          ("triton", "testing.do_bench"), ("builtins", "print"), ("builtins", "open"), ("os", "fork"))
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Math modes of torch by their path; a reference runs with the exact ones, and all are on record.
EXACT = (("backends.cuda.matmul.allow_tf32", False), ("backends.cudnn.allow_tf32", False),
         ("backends.cuda.matmul.allow_bf16_reduced_precision_reduction", False),
         ("backends.cuda.matmul.allow_fp16_reduced_precision_reduction", False))


def _get(root, path):
    for part in path.split("."):
        root = getattr(root, part)
    return root


def _set(root, path, value):
    *way, last = path.split(".")
    for part in way:
        root = getattr(root, part)
    setattr(root, last, value)


def _version(module):
    return str(getattr(module, "__version__", "unknown"))


class Frameworks:
    def __init__(self, names, shared_cache=""):
        self.names = names
        self.shared_cache = shared_cache  # of what is compiled before anything of an artifact is there
        self.modules = {}
        self.device = None  # {ordinal, uuid, architecture, stream}
        self.stream = None  # torch's view of the worker's stream
        self.state = {}
        self.forks = 0

    def start(self, device, threads=0):
        """Imports what will be needed; facts for the record. `threads`: of a call on the host, 0 = as many as there are
        cores; libraries that start theirs at import are told before."""
        began = _now()
        self.device = device
        self.threads = threads or len(os.sched_getaffinity(0))
        for name in THREADS:
            os.environ.setdefault(name, str(self.threads))
        for name in self.names:
            try:
                self.modules[name] = importlib.import_module(name)
            except Exception as error:  # a library that is not there, or another CUDA's
                raise Refusal("environment", f"{name} cannot be imported by {sys.executable} "
                              f"({sys.version.split()[0]}): {error}; install it there, or name another interpreter in "
                              "kernel.compiler or AKO_PYTHON", module=name) from None
        imported = _now() - began
        facts = {"python": sys.version.split()[0], "executable": sys.executable, "import_ns": imported,
                 "versions": {name: _version(module) for name, module in self.modules.items()}}
        if "torch" in self.modules:
            facts.update(self.start_torch(self.modules["torch"]))
        if "triton" in self.modules and os.environ.get("TRITON_INTERPRET") == "1":
            from ako_worker import interpreted
            facts["interpreted"] = interpreted.install()
        os.register_at_fork(after_in_parent=self.forked, after_in_child=lambda: os._exit(0))
        facts["ready_ns"] = _now() - began
        return facts

    def forked(self):
        self.forks += 1

    def start_torch(self, torch):
        torch.set_grad_enabled(False)
        cuda = getattr(getattr(torch, "version", None), "cuda", None)
        if self.device is None:
            torch.set_num_threads(self.threads)
            return {"torch_cuda": cuda}
        if not cuda:
            raise Refusal("environment", f"torch {_version(torch)} of {sys.executable} was built without CUDA; install "
                          "a build of torch for CUDA, or name another interpreter in kernel.compiler or AKO_PYTHON",
                          torch=_version(torch))
        began = _now()
        ordinal = self.device["ordinal"]
        try:
            torch.cuda.init()
            torch.cuda.set_device(ordinal)
            self.stream = torch.cuda.ExternalStream(int(self.device["stream"], 16), device=f"cuda:{ordinal}")
            torch.cuda.set_stream(self.stream)
        except Exception as error:
            raise Refusal("environment", f"torch {_version(torch)}, built for CUDA {cuda}, cannot use the device "
                          f"{self.device['uuid']}: {str(error).strip().splitlines()[0]}; install a torch for the CUDA "
                          "that the driver gives (ako doctor shows it)", torch=_version(torch), cuda=cuda) from None
        self.warm_triton(torch, ordinal)
        return {"torch_cuda": cuda, "device_name": self.name_of(torch, ordinal), "context_ns": _now() - began}

    def warm_triton(self, torch, ordinal):
        """Triton's compiler sets its signal handlers, and its driver builds and loads helpers, when first used: before
        anything of the candidate is there, so that neither is taken for the candidate's doing. It compiles also when it
        did before, for the handlers come with compiling."""
        if not hasattr(self.modules.get("triton"), "compiler"):
            return
        from ako_worker import compiled, planted_kernels
        with compiled.afresh(self.shared_cache):
            planted_kernels.begin[(1,)](torch.zeros(1, dtype=torch.int64, device=f"cuda:{ordinal}"), num_warps=1)
            torch.cuda.synchronize()

    def name_of(self, torch, ordinal):
        try:
            return torch.cuda.get_device_name(ordinal)
        except Exception:
            return "unknown"

    def pin_math(self):
        """For a reference: no reduced precision behind its back."""
        torch = self.modules.get("torch")
        if torch is None:
            return
        for path, value in EXACT:
            try:
                _set(torch, path, value)
            except AttributeError:
                pass
        if hasattr(torch, "set_float32_matmul_precision"):
            torch.set_float32_matmul_precision("highest")

    def math(self):
        torch = self.modules.get("torch")
        found = {}
        for path, _ in EXACT if torch else ():
            try:
                found[path] = bool(_get(torch, path))
            except AttributeError:
                pass
        if torch and hasattr(torch, "get_float32_matmul_precision"):
            found["float32_matmul_precision"] = str(torch.get_float32_matmul_precision())
        return found

    # --- what a module has no business changing ------------------------------------------------------------------

    def timers(self):
        found = {}
        for module, path in TIMERS:
            if module in sys.modules:
                try:
                    found[f"{module}.{path}"] = _get(sys.modules[module], path)
                except AttributeError:
                    pass
        return found

    def keep_timers(self):
        self.kept = self.timers()

    def patched(self):
        """Names of timers and comparisons that are others now; put back."""
        now = self.timers()
        changed = [name for name, value in self.kept.items() if now.get(name) is not value]
        for name in changed:
            module, path = name.split(".", 1)
            try:
                _set(sys.modules[module], path, self.kept[name])
            except (AttributeError, TypeError):
                pass
        return changed

    def capture(self):
        self.state = self.settings()

    def settings(self):
        torch = self.modules.get("torch")
        found = {"sys.path": list(sys.path), "recursion_limit": sys.getrecursionlimit(),
                 "switch_interval": sys.getswitchinterval()}
        if torch is None:
            return found
        for name in ("is_grad_enabled", "get_default_dtype", "get_num_threads", "are_deterministic_algorithms_enabled"):
            if hasattr(torch, name):
                found[f"torch.{name}"] = getattr(torch, name)()
        found.update({f"torch.{name}": value for name, value in self.math().items()})
        return found

    def put_back(self, name, value):
        torch = self.modules.get("torch")
        setters = {"torch.is_grad_enabled": "set_grad_enabled", "torch.get_default_dtype": "set_default_dtype",
                   "torch.get_num_threads": "set_num_threads",
                   "torch.are_deterministic_algorithms_enabled": "use_deterministic_algorithms",
                   "torch.float32_matmul_precision": "set_float32_matmul_precision"}
        if name == "sys.path":
            sys.path[:] = value
        elif name == "recursion_limit":
            sys.setrecursionlimit(value)
        elif name == "switch_interval":
            sys.setswitchinterval(value)
        elif name in setters:
            getattr(torch, setters[name])(value)
        elif name.startswith("torch."):
            _set(torch, name[len("torch."):], value)

    def restore(self):
        """Names of settings that differ from what they were; put back."""
        changed = [f"patched:{name}" for name in self.patched()]
        now = self.settings()
        for name, value in self.state.items():
            if now.get(name) != value:
                changed.append(name)
                self.put_back(name, value)
        if self.forks:
            changed.append("forked")
            self.forks = 0
        torch = self.modules.get("torch")
        if self.stream is not None and torch.cuda.current_stream(self.device["ordinal"]) != self.stream:
            changed.append("torch.current_stream")
            torch.cuda.set_stream(self.stream)
        return changed
