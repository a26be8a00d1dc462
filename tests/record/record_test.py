"""The recorders, in Python and native."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["AKO_SOURCE_DIR"])
CXX = os.environ.get("CXX_FOR_TESTS", "g++")

PROGRAM = """
import os, sys
import ako_record

class T:
    def __init__(self, values, shape, dtype="torch.bfloat16"):
        self.values, self.shape, self.dtype = values, shape, dtype
    def stride(self): return (self.shape[-1], 1) if len(self.shape) == 2 else (1,)
    def tolist(self): return self.values

@ako_record.record(tensors=["rows"])
def gather(out, x, rows, eps=1e-5):
    return "done"

class Broken:
    shape = property(lambda self: 1 / 0)
    dtype = "x"

for m in [16] * 5 + [64] * 2:
    rows = T(list(range(m)), (m,), "torch.int64")
    assert gather(T(None, (m, 8)), T(None, (32, 8)), rows) == "done"
gather(T(None, (16, 8)), T(None, (32, 8)), T(list(range(16)), (16,), "torch.int64"), eps=0.5)
assert gather(Broken(), 1, 2) == "done"
assert ako_record.failures == 1
if os.fork() == 0:
    gather(1, 2, 3)
    sys.exit(0)
os.wait()
"""

NATIVE = """
#include <cstdio>
extern "C" int halve(const float* x, float* y, int n);
int main() { float x[8] = {}; int sum = 0; for (int i = 0; i < 5; ++i) sum += halve(x, x, i < 3 ? 4 : 8); std::printf("%d", sum); }
"""
LIBRARY = 'extern "C" int halve(const float* x, float* y, int n) { y[0] = x[0]; return n; }\n'
RECORDER = """
#include <ako/record.h>
AKO_RECORD_PRELOAD(int, halve, (const float* x, float* y, int n), (x, y, n), ako_record::tensor("x", "float32", {n}),
                   ako_record::number("N", n))
"""


class Recorders(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.calls = self.folder / "calls.jsonl"
        self.environment = {**os.environ, "AKO_RECORD": str(self.calls), "PYTHONPATH": str(SOURCE / "python"),
                            "HOME": str(self.folder)}

    def run_it(self, *words, **more):
        done = subprocess.run(list(map(str, words)), cwd=self.folder, env={**self.environment, **more}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done.stdout

    def lines(self):
        return [json.loads(line) for line in self.calls.read_text().splitlines()]

    def test_python_counts_each_signature_once(self):
        (self.folder / "program.py").write_text(PROGRAM)
        self.run_it(sys.executable, "program.py")
        lines = self.lines()
        counts = sorted(line["count"] for line in lines)
        self.assertEqual(counts, [1, 1, 2, 5])  # the fork's own call, another eps, 64 rows, 16 rows
        most = max(lines, key=lambda line: line["count"])
        self.assertEqual(most["kernel"], "gather")
        self.assertEqual(most["args"][1], {"name": "x", "dtype": "bfloat16", "shape": [32, 8], "strides": [8, 1]})
        saved = (self.folder / most["args"][2]["file"]).read_bytes()
        self.assertTrue(saved.startswith(b"\x93NUMPY\x01\x00"))
        head = int.from_bytes(saved[8:10], "little")
        self.assertEqual((10 + head) % 64, 0)
        self.assertIn(b"'descr': '<i8'", saved[:10 + head])
        self.assertEqual(saved[10 + head:], b"".join(i.to_bytes(8, "little") for i in range(16)))

    def test_native_is_preloaded_and_the_program_goes_on(self):
        for name, text in (("main.cpp", NATIVE), ("lib.cpp", LIBRARY), ("recorder.cpp", RECORDER)):
            (self.folder / name).write_text(text)
        self.run_it(CXX, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "lib.cpp", "-o", "libhalve.so")
        self.run_it(CXX, "-std=c++17", "main.cpp", "-o", "main", "-L.", "-lhalve", "-Wl,-rpath," + str(self.folder))
        self.run_it(CXX, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{SOURCE}/include", "recorder.cpp",
                    "-o", "recorder.so", "-ldl")
        self.assertEqual(self.run_it("./main"), "28")
        self.assertFalse(self.calls.exists())
        self.assertEqual(self.run_it("./main", LD_PRELOAD=str(self.folder / "recorder.so")), "28")
        self.run_it("./main", LD_PRELOAD=str(self.folder / "recorder.so"))
        self.assertEqual(sorted((line["args"][0]["shape"][0], line["count"]) for line in self.lines()), [(4, 3), (4, 3), (8, 2), (8, 2)])
        self.assertEqual(self.lines()[0]["args"][1], {"name": "N", "value": 4})


if __name__ == "__main__":
    unittest.main(verbosity=2)
