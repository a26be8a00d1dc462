"""Parts of python/ako_worker that need no other process."""

import ctypes
import gc
import importlib.util
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import python_cases  # noqa: E402
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
from ako_worker import arrays, bundle, choices, compiled, frameworks, interpreted, returned  # noqa: E402
from ako_worker.abi import Refusal  # noqa: E402


def description(dtype="float32", shape=(2, 3), strides=(3, 1), role="out", name="y"):
    return arrays.Description({"name": name, "role": role, "dtype": dtype, "shape": shape, "strides": strides})


class Memory:
    def __init__(self, count):
        self.bytes = (ctypes.c_ubyte * count)(*range(count))
        self.address = ctypes.addressof(self.bytes)


class Arrays(unittest.TestCase):
    def test_a_view_has_the_shape_and_writes_through(self):
        memory = Memory(24)
        array = arrays.Array(description(), memory.address, None)
        view = array.memoryview()
        self.assertEqual((view.format, view.shape), ("f", (2, 3)))
        view[1, 2] = 1.0
        self.assertEqual(bytes(memory.bytes[20:24]), b"\0\0\x80?")
        self.assertEqual((array.numel(), array.element_size(), array.stride(0)), (6, 4, 3))
        self.assertTrue(array.is_contiguous())

    def test_a_strided_one_is_flat_and_says_so(self):
        array = arrays.Array(description(strides=(8, 1)), Memory(64).address, None)
        self.assertFalse(array.is_contiguous())
        self.assertEqual(array.memoryview().shape, (11,))

    def test_four_bit_elements_come_packed(self):
        self.assertEqual(description("float4_e2m1fn", (4, 6), (6, 1)).shape, (4, 3))
        self.assertEqual(description("float4_e2m1fn", (4, 6), (6, 1)).strides, (3, 1))
        self.assertEqual(description("int4", (3, 3), (3, 1)).shape, (5,))
        self.assertEqual(description("int4", (2, 4), (8, 1)).shape, (4,), "rows that are not dense are flat")

    def test_types_without_a_format_stand_as_bits(self):
        self.assertEqual(arrays.Array(description("bfloat16"), Memory(12).address, None).memoryview().format, "H")
        self.assertEqual(arrays.Array(description("float8_e5m2"), Memory(6).address, None).memoryview().format, "B")

    def test_a_device_array_speaks_the_interface_alone(self):
        array = arrays.Array(description("bfloat16", strides=(4, 1)), 4096, 1)
        self.assertEqual(array.__cuda_array_interface__["typestr"], "<u2")
        self.assertEqual(array.__cuda_array_interface__["strides"], (8, 2))
        self.assertEqual(array.__dlpack_device__(), (2, 1))
        self.assertRaises(TypeError, array.memoryview)
        self.assertFalse(hasattr(arrays.Array(description(), 4096, None), "__cuda_array_interface__"))

    def test_a_capsule_holds_what_the_array_says(self):
        array = arrays.Array(description(strides=(8, 1)), 4096, 0)
        capsule = array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        managed = ctypes.cast(pointer(capsule, b"dltensor"), ctypes.POINTER(arrays.Managed))
        gc.collect()
        tensor = managed.contents.tensor
        self.assertEqual((tensor.data, tensor.device_type, tensor.ndim, tensor.code, tensor.bits), (4096, 2, 2, 2, 32))
        self.assertEqual([tensor.shape[0], tensor.shape[1], tensor.strides[0]], [2, 3, 8])
        held = len(arrays._kept)
        managed.contents.deleter(managed)
        self.assertEqual(len(arrays._kept), held - 1)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy here")
    def test_numpy_sees_the_same_memory(self):
        import numpy
        memory = Memory(64)
        array = arrays.numpy_array(numpy, description(strides=(8, 1)), memory.address)
        array[1, 2] = 3.0
        self.assertEqual(ctypes.c_float.from_address(memory.address + 40).value, 3.0)
        self.assertEqual(arrays.numpy_array(numpy, description("bool"), memory.address).dtype, numpy.bool_)


class Returned(unittest.TestCase):
    def setUp(self):
        self.y = arrays.Array(description(), Memory(24).address, None)

    def test_the_given_tensors_may_be_returned_and_nothing_else(self):
        returned.check_written(self.y, {"y": self.y})
        returned.check_written([self.y], {"y": self.y})
        for strange, words in ((3, "no tensor (int 3)"),
                               (arrays.Array(description(shape=(3, 2), strides=(2, 1)), 64, None), "shape [3, 2] instead of [2, 3]"),
                               (arrays.Array(description("int32"), 64, None), "dtype int32 instead of float32"),
                               (arrays.Array(description(), self.y.address + 4, None), 'a view of "y"')):
            with self.assertRaises(Refusal) as caught:
                returned.check_written(strange, {"y": self.y})
            self.assertIn(words, caught.exception.message)
            self.assertEqual(caught.exception.kind, "returned_error")

    def test_a_reference_gives_one_answer_for_each_output(self):
        with self.assertRaises(Refusal) as caught:
            returned.take_results((self.y, self.y), {"y": self.y}, ["y"])
        self.assertIn("2 results", caught.exception.message)
        returned.take_results(self.y, {"y": self.y}, ["y"])


class Imports(unittest.TestCase):
    def needed(self, text):
        import ast
        found = bundle.Imports()
        found.visit(ast.parse(text))
        return [module for module, _, _, _, _, needed in found.found if needed]

    def test_only_what_stands_at_the_top_is_needed(self):
        self.assertEqual(self.needed("import a, b.c\nfrom d import e\n"), ["a", "b.c", "d"])
        self.assertEqual(self.needed("def f():\n    import a\n"), [])
        self.assertEqual(self.needed("try:\n    import a\nexcept ImportError:\n    import b\n"), [])
        self.assertEqual(self.needed("try:\n    import a\nfinally:\n    pass\n"), ["a"])
        self.assertEqual(self.needed("try:\n    import a\nexcept KeyError:\n    pass\n"), ["a"])
        self.assertEqual(self.needed("if TYPE_CHECKING:\n    import a\n"), [])


class Compiled(unittest.TestCase):
    def test_functions_are_found_below_their_decorators(self):
        class JITFunction:
            fn = staticmethod(len)

        class Autotuner:
            def __init__(self, fn):
                self.fn = fn

        for kind in (JITFunction, Autotuner):
            kind.__module__ = "triton.runtime"
        kernel = JITFunction()
        chain = compiled._unwrapped(Autotuner(Autotuner(kernel)))
        self.assertIs(chain[-1], kernel)
        self.assertEqual(len(chain), 3)
        self.assertEqual(compiled._unwrapped(types.SimpleNamespace(fn=kernel)), [])

    def test_compiling_afresh_leaves_the_surroundings_as_they_were(self):
        with mock.patch.dict(os.environ, {"TRITON_CACHE_DIR": "mine"}, clear=True):
            with compiled.afresh("shared"):
                self.assertEqual(dict(os.environ), {"TRITON_CACHE_DIR": "shared", "TRITON_ALWAYS_COMPILE": "1"})
            self.assertEqual(dict(os.environ), {"TRITON_CACHE_DIR": "mine"})
            with compiled.afresh(""):
                self.assertEqual(os.environ["TRITON_CACHE_DIR"], "mine")


class Config:
    def __init__(self, warps, pre_hook=None):
        self.warps, self.pre_hook = warps, pre_hook

    def all_kwargs(self):
        return {"num_warps": self.warps}

    def __str__(self):
        return f"num_warps: {self.warps}"


class Tuner:
    """As Triton's: tries every configuration at a key that its cache does not hold."""

    def __init__(self, best):
        self.configs, self.cache, self.best, self.tried = [Config(4), Config(8)], {}, best, 0
        self.base_fn = lambda: None
        self.arg_names, self.fn = ["n"], self

    def chosen(self, key):
        if key not in self.cache:
            self.tried += 1
            self.cache[key] = self.configs[self.best]
        return self.cache[key].warps

    def prune_configs(self, words):
        return [config for config in self.configs if config.warps >= words.get("least", 0)]


class Kept(unittest.TestCase):
    def tuner(self, folder, best, device="GPU-1"):
        tuner = Tuner(best)
        choices.keep(tuner, folder, device)
        return tuner

    def test_what_was_chosen_first_is_what_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            first = self.tuner(folder, 1)
            self.assertEqual((first.chosen((128, "float32")), first.chosen((256,)), first.tried), (8, 8, 2))
            later = self.tuner(folder, 0)
            self.assertEqual((later.chosen((128, "float32")), later.tried), (8, 0))
            self.assertEqual([str(config) for config in later.cache.values()], ["num_warps: 8"], "and is reported")
            self.assertEqual((later.chosen((512,)), later.tried), (4, 1))
            other = self.tuner(folder, 0, "GPU-2")
            self.assertEqual((other.chosen((128, "float32")), other.tried), (4, 1), "another device chooses itself")

    def test_what_is_kept_badly_is_tuned_again(self):
        with tempfile.TemporaryDirectory() as folder:
            first = self.tuner(folder, 1)
            first.chosen((1,))
            for text in ("{", "[]", '{"(1,)": "num_warps: 16"}'):
                pathlib.Path(first.cache.file).write_text(text)
                again = self.tuner(folder, 0)
                self.assertEqual((again.chosen((1,)), again.tried), (4, 1), text)


class Interpreted(unittest.TestCase):
    """The part of Triton's interpreter that makes numbers of tensors, and a numpy that refuses as newer ones do."""

    class Handle:
        def __init__(self, value):
            self.value = value

        def item(self):
            return self.value

        def __int__(self):
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")

    def patched(self, numpy):
        class Tensor:
            handle = types.SimpleNamespace(data=self.Handle(5))

        def patch_lang_tensor(tensor, scope):
            tensor.__index__ = lambda self: int(self.handle.data)

        runtime = types.SimpleNamespace(_patch_lang_tensor=patch_lang_tensor)
        with mock.patch.dict(sys.modules, {"triton.runtime.interpreter": runtime, "numpy": numpy}):
            sys.modules.pop("triton.runtime.autotuner", None)
            said = interpreted.install()
        runtime._patch_lang_tensor(Tensor, None)
        return said, Tensor()

    def test_a_tensor_of_one_element_is_a_number(self):
        said, tensor = self.patched(types.SimpleNamespace(ones=lambda *_: self.Handle(1), int32=None))
        self.assertEqual(len(said), 1)
        self.assertEqual(list(range(0, tensor, 2)), [0, 2, 4])

    def test_where_numpy_converts_nothing_is_changed(self):
        said, tensor = self.patched(types.SimpleNamespace(ones=lambda *_: 1, int32=None))
        self.assertEqual(said, [])
        self.assertRaises(TypeError, range, tensor)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy here")
    def test_bfloat16_is_rounded_to_nearest_and_ties_to_even(self):
        import numpy
        words = numpy.array([[0x3f800000, 0x3f807fff], [0x3f808000, 0x3f818000], [0x3f808001, 0xbf80ffff],
                             [0x7f800000, 0x7f800001], [0x7f7fffff, 0x00000001]], numpy.uint32)
        got = interpreted.nearest_bfloat16(numpy, words.view(numpy.float32))
        self.assertEqual(got.dtype, numpy.uint16)
        self.assertEqual([[hex(word) for word in row] for row in got.tolist()],
                         [["0x3f80", "0x3f80"], ["0x3f80", "0x3f82"], ["0x3f81", "0xbf81"], ["0x7f80", "0x7fc0"],
                          ["0x7f80", "0x0"]])

    def test_nothing_is_tuned(self):
        tuner, ran, hooked = Tuner(1), [], []
        tuner.run = lambda *given, **words: ran.append((given, words))
        tuner.configs[1].pre_hook = hooked.append
        interpreted.first_choice(tuner, 3, least=8)
        self.assertEqual(ran, [((3,), {"least": 8, "num_warps": 8})])
        self.assertEqual(hooked, [{"n": 3, "least": 8, "num_warps": 8}])
        self.assertEqual(tuner.tried, 0)


class Started(unittest.TestCase):
    def test_libraries_are_told_how_many_threads_there_are_before_they_are_imported(self):
        with mock.patch.dict(os.environ, {"MKL_NUM_THREADS": "3"}, clear=True):
            frameworks.Frameworks([]).start(None, 2)
            told = {name: os.environ[name] for name in frameworks.THREADS}
        self.assertEqual(told, {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "3"})


if __name__ == "__main__":
    python_cases.main()
