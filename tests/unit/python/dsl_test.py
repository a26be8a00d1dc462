"""What the worker sees of the CuTe DSL: compilations, kept files, implicit calls and their price."""

import importlib
import pathlib
import sys
import tempfile
import time
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "tests/fakes/python"))
from ako_worker import dsl  # noqa: E402
from ako_worker.abi import Refusal  # noqa: E402
from ako_worker.guest import Guest  # noqa: E402


def fresh():
    """The stand-in as if just imported: nothing of an earlier watch is around its functions."""
    for name in [name for name in sys.modules if name == "cutlass" or name.startswith("cutlass.")]:
        del sys.modules[name]
    importlib.import_module("cutlass")
    return sys.modules["cutlass.base_dsl.dsl"].BaseDSL()


def launch(ran, seconds=0.0):
    ran.append(1)
    time.sleep(seconds)


class Seen(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dsl = fresh()
        self.watch = dsl.Watch(self.folder.name)
        self.assertTrue(self.watch.listen())

    def test_a_function_compiled_once_is_reported_once_and_called_without_a_price(self):
        ran = []
        made = self.dsl._func(launch, compile_only=True)
        report = self.watch.report()
        self.assertEqual([each["kernel"] for each in report["compiled"]], ["kernel_launch_0"])
        self.assertGreater(report["compile_ns"], 0)
        for _ in range(3):
            made(ran)
        self.assertEqual(len(ran), 3)
        self.assertEqual(self.watch.report(), {}, "an executor goes by no implicit way")

    def test_implicit_calls_are_counted_and_priced_without_what_the_program_takes(self):
        ran = []
        self.dsl._func(launch, ran, 0.02)  # compiles: no call's price
        first = self.watch.report()
        self.assertNotIn("implicit_calls", first)
        self.assertEqual(len(first["compiled"]), 1)
        for _ in range(5):
            self.dsl._func(launch, ran, 0.02)
        report = self.watch.report()
        self.assertEqual((report["implicit_calls"], report["implicit_functions"]), (5, ["launch"]))
        each = report["implicit_overhead_ns"] / 5e9
        tracing = sys.modules["cutlass.base_dsl.dsl"].TRACING
        self.assertGreaterEqual(each, tracing)
        self.assertLess(each, 0.02, "the program's own time is not the wrapper's")
        self.assertEqual(len(ran), 6)

    def test_a_jitted_function_inside_another_is_part_of_it(self):
        ran = []

        def outer():
            self.dsl.inside = True
            self.dsl._func(launch, ran)
            self.dsl.inside = False

        self.dsl._func(outer)
        self.dsl._func(outer)
        report = self.watch.report()
        self.assertEqual((report["implicit_calls"], report["implicit_functions"]), (1, ["outer"]))

    def test_image_header_and_object_are_kept(self):
        self.dsl._func(launch, compile_only=True)
        kernel = self.watch.report()["compiled"][0]
        for key in ("cubin_file", "object_file"):
            path = pathlib.Path(self.folder.name) / kernel[key]
            self.assertTrue(path.is_file(), kernel)
        self.assertEqual(len(kernel["cubin_sha256"]), 64)
        self.assertTrue(path.with_suffix(".h").is_file())

    def test_without_a_folder_nothing_is_kept_and_all_the_rest_is_seen(self):
        self.dsl = fresh()
        watch = dsl.Watch(None)
        self.assertTrue(watch.listen())
        self.dsl._func(launch, compile_only=True)
        kernel = watch.report()["compiled"][0]
        self.assertNotIn("cubin_file", kernel)
        self.assertEqual(kernel["kernel"], "kernel_launch_0")

    def test_compiling_for_a_device_that_is_not_here_runs_nothing_and_exports_nothing(self):
        self.assertTrue(dsl.compile_only())
        ran = []
        made = self.dsl._func(launch, compile_only=True)
        made(ran)
        self.dsl._func(launch, ran)
        self.assertEqual(ran, [])
        kernel = self.watch.report()["compiled"][0]
        self.assertIn("cubin_file", kernel)
        self.assertNotIn("object_file", kernel)

    def test_a_package_with_other_insides_is_left_alone(self):
        base = sys.modules["cutlass.base_dsl.dsl"].BaseDSL
        del base.compile_and_cache
        before = base._func
        self.assertFalse(dsl.Watch(None).listen())
        self.assertIs(base._func, before)


class Cuda(unittest.TestCase):
    def refused(self, built, driver):
        fresh()
        sys.modules["cutlass"].CUDA_VERSION = built
        binding = types.ModuleType("cuda.bindings.driver")
        binding.cuDriverGetVersion = lambda: (0, driver)
        packages = {"cuda": types.ModuleType("cuda"), "cuda.bindings": types.ModuleType("cuda.bindings"),
                    "cuda.bindings.driver": binding}
        packages["cuda.bindings"].driver = binding
        kept = {name: sys.modules.get(name) for name in packages}
        sys.modules.update(packages)
        try:
            dsl.check_cuda()
        except Refusal as refusal:
            self.assertEqual(refusal.kind, "environment")
            return refusal.message
        finally:
            for name, module in kept.items():
                sys.modules.pop(name)
                if module is not None:
                    sys.modules[name] = module
        return None

    def test_a_package_for_a_newer_cuda_than_the_drivers_is_named(self):
        said = self.refused("13.0", 12080)
        for word in ("CUDA 13", "12.8", "nvidia-cutlass-dsl-libs-cu12"):
            self.assertIn(word, said)
        self.assertIsNone(self.refused("12.9", 13000))
        self.assertIsNone(self.refused("13.0", 13000))
        self.assertIsNone(self.refused("", 12080), "one build for all does not say")

    def test_versions_are_read(self):
        self.assertEqual([dsl.major_of(text) for text in ("13.0", "CUDA 12.9.1", "", "unknown")], [13, 12, 0, 0])


class Words(unittest.TestCase):
    def test_its_errors_are_told_by_kind(self):
        guest = Guest([])
        for name, kind in (("DSLRuntimeError", "compile_failed"), ("DSLCudaRuntimeError", "returned_error"),
                           ("CudaDriverDependencyError", "environment"), ("ValueError", "threw")):
            error = type(name, (Exception,), {})("why")
            self.assertEqual(guest.words_of(error)[0], kind, name)

    def test_reports_are_joined(self):
        self.assertEqual(dsl.joined({"compiled": [1], "compile_ns": 2, "tuned": [3]}, {"compiled": [4], "compile_ns": 5}),
                         {"compiled": [1, 4], "compile_ns": 7, "tuned": [3]})


if __name__ == "__main__":
    unittest.main()
