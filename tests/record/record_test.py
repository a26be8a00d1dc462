"""The recorders, in Python and native, and what `ako scope --calls` makes of what they write."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["AKO_SOURCE_DIR"])
CXX = os.environ.get("CXX_FOR_TESTS", "g++")
AKO = os.environ["AKO"]

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
gather(1, 2, 3, eps=float("inf"))
assert gather(Broken(), 1, 2) == "done"
assert ako_record.failures == 1
ako_record._lock.acquire()  # as another thread may have it at that moment
if os.fork() == 0:
    gather(1, 2, 3)
    sys.exit(0)
ako_record._lock.release()
os.wait()
"""

NATIVE = """
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>
extern "C" int halve(const float* x, float* y, int n);
int main() {
  float x[8] = {};
  int sum = 0;
  for (int i = 0; i < 5; ++i) sum += halve(x, x, i < 3 ? 4 : 8);
  if (fork() == 0) return 0;
  wait(nullptr);
  std::printf("%d", sum);
}
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
        def no_json(word):
            self.fail(f"{word} is no JSON")
        return [json.loads(line, parse_constant=no_json) for line in self.calls.read_text().splitlines()]

    def test_python_counts_each_signature_once(self):
        (self.folder / "program.py").write_text(PROGRAM)
        self.run_it(sys.executable, "program.py")
        lines = self.lines()
        counts = sorted(line["count"] for line in lines)
        self.assertEqual(counts, [1, 1, 1, 2, 5])  # the fork's own call, two more eps, 64 rows, 16 rows
        self.assertIn({"name": "eps", "text": "inf"}, [line["args"][-1] for line in lines])
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
        reply = json.loads(self.run_it(AKO, "scope", "--calls", self.calls, "--json"))
        self.assertEqual([(s["axes"], s["weight"]) for s in reply["data"]["shapes"]], [({"x_0": 4}, 6.0), ({"x_0": 8}, 4.0)])

    def test_calls_become_shapes_of_a_contract(self):
        task = self.folder / "task"
        (task / "solution").mkdir(parents=True)
        (task / "input").mkdir()
        for file in ("solution/g.cpp", "input/g.cpp"):
            (task / file).write_text("")
        (task / "task.toml").write_text("""format = 1
[kernel]
entry = { file = "solution/g.cpp", symbol = "g" }
[axes]
M = { var = true, max = 100 }
H = { const = 8 }
T = { dtype = ["bfloat16", "float32"] }
K = { var = true }
[[tensor]]
name = "x"
role = "in"
dtype = "T"
shape = ["M", "H"]
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["M"]
[[shape]]
M = 1
T = "bfloat16"
K = 1
[reference]
entry = { file = "input/g.cpp", symbol = "g" }
""")
        x = lambda m, h=8, dtype="bfloat16": {"name": "x", "dtype": dtype, "shape": [m, h]}
        k = lambda value: {"name": "K", "value": value}
        calls = [("g", 3, [x(16), k(2)]), ("g", 4, [x(64), k(2)]), ("g", 5, [x(16), k(2)]), ("g", 2, [x(16, dtype="float32"), k(2)]),
                 ("g", 1, [x(16)]), ("g", 7, [x(16, h=9), k(2)]), ("g", 9, [x(200), k(2)]), ("g", 1, [x(16, dtype="float16"), k(2)])]
        self.calls.write_text("".join(json.dumps({"kernel": n, "count": c, "args": a}) + "\n" for n, c, a in calls))
        reply = json.loads(self.run_it(AKO, "-C", task, "scope", "--calls", self.calls, "--into", "shapes.toml", "--json"))
        data = reply["data"]
        self.assertEqual([(s["axes"], s["weight"]) for s in data["shapes"]],
                         [({"K": 2, "M": 16, "T": "bfloat16"}, 8.0), ({"K": 2, "M": 64, "T": "bfloat16"}, 4.0),
                          ({"K": 2, "M": 16, "T": "float32"}, 2.0)])
        self.assertEqual((data["calls"], data["covered"]), (32, 14))
        self.assertTrue(any("axis K" in each for each in data["unknown"]), data["unknown"])
        self.assertEqual(len(data["misfits"]), 3, data["misfits"])
        self.assertIn('tag = "K=2,M=16,T=bfloat16"\n', (task / "shapes.toml").read_text())
        # What it wrote is lawful where it goes.
        contract = (task / "task.toml").read_text()
        head, tail = contract.index("[[shape]]"), contract.index("[reference]")
        (task / "task.toml").write_text(contract[:head] + (task / "shapes.toml").read_text() + contract[tail:])
        again = json.loads(self.run_it(AKO, "-C", task, "scope", "--calls", self.calls, "--json"))
        self.assertEqual(again["data"]["shapes"], data["shapes"])
        self.assertEqual(again["warnings"], [])

    def test_lines_that_are_no_calls_are_named(self):
        self.calls.write_text('{"kernel": "g", "args": []}\n{"count": 3}\n')
        done = subprocess.run([AKO, "scope", "--calls", str(self.calls), "--json"], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("calls.jsonl:2", json.loads(done.stdout)["error"]["where"])

    def test_sites_are_found_by_symbol_and_usage(self):
        repo = self.folder / "engine"
        (repo / "py").mkdir(parents=True)
        (repo / "norm.cu").write_text(
            "// rms_norm in words\n__global__ void rms_norm_kernel(float* y) { y[0] = 1; }\nnamespace eng {\n"
            "void rms_norm(float* y) {\n  rms_norm_kernel<<<1, 32>>>(y);\n}\n}\n")
        (repo / "norm.h").write_text("namespace eng { void rms_norm(float* y); }\n")
        (repo / "engine.cpp").write_text('#include "norm.h"\nvoid step(float* y) {\n  eng::rms_norm(y);\n}\n')
        (repo / "bind.cpp").write_text('void bind(int m) { m.def("rms_norm", 1); }\n')
        (repo / "py/layer.py").write_text("from ops import rms_norm\n\ndef forward(x):\n    return rms_norm(x)  # rms_norm\n")
        (repo / "notes.md").write_text("rms_norm\n")
        self.run_it("git", "init", "-q", repo)
        subprocess.run(["git", "-C", str(repo), "add", "-A"], check=True, env=self.environment)
        reply = json.loads(self.run_it(AKO, "scope", "--sites", "engine::eng::rms_norm", "--json"))
        found = [(s["kind"], s["file"], s["line"], s["function"]) for s in reply["data"]["sites"]]
        self.assertEqual(found, [("definition", "norm.cu", 4, "eng::rms_norm"), ("call", "engine.cpp", 3, "step"),
                                 ("call", "py/layer.py", 4, "forward"), ("binding", "bind.cpp", 1, "bind"),
                                 ("declaration", "norm.h", 1, ""), ("import", "py/layer.py", 1, "")])
        reply = json.loads(self.run_it(AKO, "scope", "--sites", "engine::rms_norm_kernel", "--json"))
        self.assertEqual([s["kind"] for s in reply["data"]["sites"]], ["definition", "launch"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
