"""The answers to ako's questions, and the calls."""
import ctypes
import gc
import os
import sys
import time
import traceback

from ako_worker import abi, arrays, dsl, returned
from ako_worker.abi import RAISED, Refusal
from ako_worker.compiled import Watch
from ako_worker.frameworks import Frameworks
from ako_worker.loading import FOLDER, Loaded, read_bundle

_now = time.monotonic_ns


class Binding:
    """Arguments at one shape: one list of them a set."""

    def __init__(self):
        self.arguments, self.outputs, self.first = {}, {}, True


class Guest:
    def __init__(self, imports):
        self.frameworks = Frameworks(imports, os.environ.pop("AKO_SHARED_CACHE", ""))
        self.watch = Watch(os.environ.get("TRITON_CACHE_DIR"))
        self.dsl = dsl.Watch(os.environ.get("CUTE_DSL_CACHE_DIR"))
        self.ahead = os.environ.pop("AKO_COMPILE_FOR", "")
        self.loaded = None
        self.binding = Binding()
        self.raised = None
        self.first_call_ns = 0
        self.functions = {}

    # --- questions ---------------------------------------------------------------------------------------------

    def ready(self, request):
        if self.ahead and "cutlass" in self.frameworks.names:
            dsl.target(self.ahead)
        facts = self.frameworks.start(request.get("device"), request.get("threads", 0))
        self.dsl.listen()
        if self.ahead:
            if not dsl.compile_only() or "triton" in self.frameworks.names:
                from ako_worker import ahead
                ahead.install(self.ahead)
            facts["compiles_for"] = self.ahead
        elif request.get("device"):
            dsl.check_cuda()
        self.watch.listen()
        return facts

    def load(self, request):
        self.frameworks.keep_timers()
        bundle = read_bundle(request["path"])
        self.role = bundle["role"]
        if self.role == "reference":
            self.frameworks.pin_math()
        began = _now()
        self.loaded = Loaded(bundle)
        self.functions = {"call": self.loaded.function(bundle["entry"]["symbol"])}
        if bundle.get("slow_down"):
            from ako_worker import planted
            self.functions["call"] = planted.slowed(self.functions["call"], bundle["slow_down"], self.frameworks)
        for name in ("prepare", "plan"):
            if bundle.get(name):
                self.functions[name] = self.loaded.function(bundle[name])
        took = _now() - began
        interposed = self.frameworks.patched()
        self.watch.keep_choices(self.loaded.modules(), (self.frameworks.device or {}).get("uuid", ""))
        self.frameworks.capture()
        gc.collect()
        gc.freeze()
        modules, others = self.loaded.listed()
        return {"has_prepare": "prepare" in self.functions, "has_plan": "plan" in self.functions,
                "interposed": interposed, "modules": modules, "packages": others, "module_ns": took,
                "math": self.frameworks.math()}

    def use(self, request):
        described = request["described"]
        tensors = [arrays.Description(text) for text in described["tensors"]]
        device = None if self.frameworks.device is None else self.frameworks.device["ordinal"]
        if self.ahead and "cutlass" in self.frameworks.names:
            device = 0  # where the tensors would lie is part of what is compiled
        self.binding = Binding()
        kind = "plain" if self.ahead else self.loaded.bundle["arrays"]
        made = {}  # static tensors lie once
        for pointers in request["pointers"]:
            addresses = tuple(int(text, 16) for text in pointers)
            values = []
            for description, address in zip(tensors, addresses):
                if (description.name, address) not in made:
                    made[description.name, address] = arrays.make(kind, description, address, device,
                                                                  self.frameworks.modules)
                values.append(made[description.name, address])
            self.binding.arguments[addresses] = self.ordered(request, described, values)
            self.binding.outputs[addresses] = {description.name: value for description, value in zip(tensors, values)
                                               if description.is_output}
        self.by_address = {}
        self.count = len(tensors)

    def ordered(self, request, described, values):
        out = []
        for argument in self.loaded.bundle["arguments"]:
            index = argument["index"]
            if argument["kind"] == "tensor":
                out.append(values[index])
            elif argument["kind"] == "axis":
                out.append(request["integers"][index])
            elif argument["kind"] == "stream":
                out.append(int(self.frameworks.device["stream"], 16) if self.frameworks.device else 0)
            else:
                out.append(self.scalar(described["scalars"][index]["dtype"], request["scalars"][index]))
        return out

    @staticmethod
    def scalar(dtype, value):
        return bool(value) if dtype == "bool" else int(value) if "int" in dtype else float(value)

    def explain(self, _):
        error, self.raised = self.raised, None
        if isinstance(error, Refusal):
            raise error
        kind, message, data = self.words_of(error)
        raise Refusal(kind, message, **data)

    def restore(self, _):
        return {"changed": self.frameworks.restore()}

    def report(self, _):
        if self.loaded is None:
            return {}
        out = dsl.joined(self.watch.report(self.loaded.modules()), self.dsl.report())
        if self.first_call_ns:
            out["first_call_ns"], self.first_call_ns = self.first_call_ns, 0
        return out

    # --- calls -------------------------------------------------------------------------------------------------

    def called(self, tensors, integers, scalars, stream):
        return self.run("call", tensors)

    def prepared(self, tensors, integers, scalars, stream):
        return self.run("prepare", tensors)

    def planned(self, tensors, integers, scalars, stream):
        return self.run("plan", tensors)

    def run(self, name, tensors):
        try:
            if tensors not in self.by_address:
                addresses = tuple(address or 0 for address in (ctypes.c_void_p * self.count).from_address(tensors))
                self.by_address[tensors] = (self.binding.arguments[addresses], self.binding.outputs[addresses])
            arguments, outputs = self.by_address[tensors]
            if self.binding.first:
                self.first(name, arguments, outputs)
            else:
                self.taken(name, self.functions[name](*arguments), outputs)
            return 0
        except SystemExit as left:
            abi.leave(left)
        except BaseException as error:  # noqa: B902 - nothing may leave into C
            self.raised = error
        return RAISED

    def first(self, name, arguments, outputs):
        """The first call at a shape compiles and tunes; its time goes on record apart."""
        began = _now()
        self.taken(name, self.functions[name](*arguments), outputs)
        self.first_call_ns += _now() - began
        self.binding.first = name != "call"

    def taken(self, name, value, outputs):
        if value is None or name != "call":
            return
        if self.role == "reference":
            returned.take_results(value, outputs, list(outputs))
        else:
            returned.check_written(value, outputs)

    # --- words -------------------------------------------------------------------------------------------------

    def words_of(self, error):
        """(kind, sentence, data) of an exception, with the place in the module that it left."""
        kind = "threw"
        name = type(error).__name__
        if name in ("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "SyntaxError",
                    "IndentationError", "MLIRCompilationError", "PTXASError") or name in dsl.COMPILING:
            kind = "compile_failed"
        elif name in dsl.MACHINE:
            kind = "environment"
        elif name in ("OutOfResources", "IncompatibleTypeErrorImpl", "DSLCudaRuntimeError", "CUDADialectError"):
            kind = "returned_error"
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if f"{os.sep}{FOLDER}{os.sep}" in frame.filename]
        place = ""
        if ours:
            place = f" at {ours[-1].filename.split(os.sep + FOLDER + os.sep)[-1]}:{ours[-1].lineno}"
        text = " ".join(str(error).split())[:400]
        doing = "compiling" if kind == "compile_failed" else "an exception left the module"
        lines = traceback.format_exception(type(error), error, error.__traceback__)[-12:]
        data = {"exception": name, "text": str(error)[:2000], "traceback": "".join(lines)[-4000:]}
        if ours:
            data.update(file=ours[-1].filename.split(os.sep + FOLDER + os.sep)[-1], line=ours[-1].lineno)
        return kind, f"{doing}{place}: {name}: {text}".rstrip(": "), data
