"""References in Python, and the triton lane on the scripted driver with stand-ins for torch and Triton."""

import os
import pathlib
import subprocess
import sys

from tool import WAIVED, Case, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE_GPU = pathlib.Path(os.environ["AKO_FAKE_GPU"])
REFERENCE = """
def halve(x, y, n):
    a, b = x.memoryview(), y.memoryview()
    for i in range(n):
        b[i] = 0.5 * a[i]
"""
NUMPY = """
import numpy as np


def halve(x, y, n):
    return np.float64(0.5) * x
"""
KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def halve_kernel(x, y, n):
    for i in range(n):
        y[i] = {answer}


def halve(x, y, n):
    halve_kernel[(1,)](x, y, n)
"""


def with_numpy():
    """An interpreter that has numpy: what scripts/setup installs."""
    for path in ("/usr/bin/python3", sys.executable):
        if subprocess.run([path, "-c", "import numpy"], capture_output=True).returncode == 0:
            return path
    return None


class References(Case):
    def python_task(self, text=REFERENCE):
        task = self.make_task()
        (task / "input/reference.py").write_text(text)
        self.edit(task / "task.toml", "input/reference.cpp", "input/reference.py")
        return task

    def wrong(self, task, exit=11, **more):
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0.4f * x[i];", rounds=10)
        return self.ako("try", "--hypothesis", "less is more", *WAIVED, at=task, exit=exit, **more)

    def test_it_judges_a_candidate_in_another_language(self):
        task = self.python_task()
        built = self.ako("check", "--build-only", at=task, exit=0)
        sides = {side["label"]: side["resources"] for side in built.data["sides"]}
        self.assertIn("Python 3.", sides["reference"]["python"]["version"])
        self.assertEqual(built.data["contract"]["reference"]["lane"], "triton")
        reply = self.wrong(task)
        self.assertEqual(reply.json["outcome"], "incorrect")
        self.assertIn("y", reply.data["verdict"]["outcome"]["reason"])
        self.solution(task, rounds=10)
        right = self.ako("try", "--hypothesis", "fewer rounds", *WAIVED, at=task, exit=(0, 10, 14))
        self.assertNotEqual(right.json["outcome"], "incorrect")

    def test_numpy_judges_too(self):
        path = with_numpy()
        self.assertIsNotNone(path, "scripts/setup installs python3-numpy")
        env = {"AKO_PYTHON": path}
        task = self.python_task(NUMPY)
        self.assertEqual(self.wrong(task, env=env).json["outcome"], "incorrect")
        self.solution(task, rounds=10)
        right = self.ako("try", "--hypothesis", "fewer rounds", *WAIVED, at=task, exit=(0, 10, 14), env=env)
        self.assertNotEqual(right.json["outcome"], "incorrect")

    def test_one_that_cannot_be_is_the_tasks_fault(self):
        broken = self.python_task("def halve(x, y, n:\n")
        self.refused("check", "--build-only", at=broken, exit=2, says="input/reference.py:1")

    def test_one_that_raises_is_the_tasks_fault(self):
        task = self.python_task(REFERENCE + "    raise ValueError('never right')\n")
        reply = self.wrong(task, exit=2)
        self.assertEqual((reply.json["outcome"], reply.json["fault"]), ("task_error", "task"))
        self.assertIn("never right", reply.data["verdict"]["outcome"]["reason"])

    def test_the_interpreter_that_is_named_must_be_there(self):
        task = self.python_task()
        self.refused("check", "--build-only", at=task, exit=3, says="/nowhere/python", env={"AKO_PYTHON": "/nowhere/python"})


class Scripted(Case):
    """The lane from contract to verdict, without a device."""

    def setUp(self):
        super().setUp()
        gpu = self.folder / "gpu"
        gpu.mkdir()
        for name in ("libcuda.so.1", "libnvrtc.so.13", "libcupti.so.13", "libnvidia-ml.so.1"):
            (gpu / name).symlink_to(FAKE_GPU)
        self.script = gpu / "script"
        self.script.write_text("duration halve_kernel 9000\n")
        self.gpu = {"AKO_GPU_PATH": str(gpu), "PYTHONPATH": str(ROOT / "tests/fakes/python")}

    def triton_task(self):
        task = self.make_task()
        text = (task / "task.toml").read_text()
        text = text.replace('flags = ["-O1"]', 'lane = "triton"').replace(".cpp", ".py").replace('cache = "warm"', 'cache = "cold"')
        (task / "task.toml").write_text(text)
        for old in list(task.rglob("*.cpp")):
            old.unlink()
        (task / "input/reference.py").write_text(
            "import torch\n\n\ndef halve(x, y, n):\n    for i in range(n):\n        y[i] = 0.5 * x[i]\n")
        (task / "input/halve.py").write_text(KERNEL.format(answer="0.5 * x[i]"))
        return task

    def tried(self, task, answer, exit, name="halve_kernel"):
        (task / "solution").mkdir(exist_ok=True)
        (task / "solution/halve.py").write_text(KERNEL.format(answer=answer).replace("halve_kernel", name))
        return self.ako("try", "--hypothesis", "another kernel", *WAIVED, at=task, exit=exit, env=self.gpu)

    def test_a_wrong_kernel_is_incorrect_and_a_faster_one_is_seen(self):
        task = self.triton_task()
        self.assertEqual(self.tried(task, "0.4 * x[i]", 11).json["outcome"], "incorrect")
        self.script.write_text("duration halve_kernel 9000\nduration quick 3000\n")
        reply = self.tried(task, "x[i] / 2", (0, 10, 14), name="quick")
        self.assertIn(reply.json["outcome"], ("improved", "undecided", "invalid_measurement"), reply)
        compiled = reply.data["resources"]["compiled"]
        self.assertEqual({kernel["kernel"] for kernel in compiled}, {"quick"})
        self.assertGreater(reply.data["resources"]["first_call_ns"], 0)
        if reply.json["outcome"] == "improved":
            self.assertAlmostEqual(reply.data["verdict"]["gain"], 2 / 3, delta=0.05)

    def test_without_the_driver_the_device_is_named(self):
        task = self.triton_task()
        (task / "solution").mkdir(exist_ok=True)
        (task / "solution/halve.py").write_text(KERNEL.format(answer="0.5 * x[i]"))
        env = {**self.gpu, "AKO_GPU_PATH": str(self.folder)}
        self.refused("try", "--hypothesis", "none", *WAIVED, at=task, exit=3, env=env)

    def test_two_files_are_compared_by_a_line(self):
        old, new = self.folder / "old.py", self.folder / "new.py"
        old.write_text(KERNEL.format(answer="0.5 * x[i]"))
        new.write_text(KERNEL.format(answer="x[i] / 2").replace("halve_kernel", "quick"))
        hint = self.refused("compare", old, new, exit=2, env=self.gpu)
        self.assertIn("halve(x: DTYPE[...], y: DTYPE[...], n: DTYPE[...])", hint.error["next"])
        self.script.write_text("duration halve_kernel 9000\nduration quick 3000\n")
        line = "halve(x: float32[N], y: out float32[N], N) @ N=256"
        reply = self.ako("compare", old, new, "--contract", line, exit=(0, 10, 14), env=self.gpu)
        self.assertNotIn(reply.json["outcome"], ("incorrect", "task_error"), reply)


if __name__ == "__main__":
    main()
