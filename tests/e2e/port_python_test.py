"""A port into a Python target, on the scripted driver with stand-ins for torch and Triton: from a kept kernel to a branch
that is confirmed by the target's own modules, and one that the target does not take."""

import os
import pathlib
import shutil

from tool import WAIVED, Case, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE_GPU = pathlib.Path(os.environ["AKO_FAKE_GPU"])
KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def {name}(x, y, n):
    for i in range(n):
        y[i] = {answer}


def halve(x, y, n):
    {name}[(1,)](x, y, n)
"""
ENGINE = {
    "norms/__init__.py": "",
    "norms/old.py": KERNEL.format(name="halve_kernel", answer="0.5 * x[i]"),
    "norms/ops.py": '''"""The operators: halve(x, y, n) among them."""

from .old import (
    halve,
)


def halve_all(x, y, n):
    """What the model calls; halve(x, y, n) does the work."""
    halve(x, y, n)  # not halve (x)
''',
    "bench.py": """import json, os
import norms.ops
rate = {"old": 100.0, "new": 140.0}[os.environ["AKO_PORT_SIDE"]]
assert os.environ["NORMS_HALVE"] == os.environ["AKO_PORT_SIDE"]
with open("result.json", "w") as file:
    json.dump({"output_throughput": rate, "mean_ttft_ms": 1000 / rate}, file)
""",
    ".gitignore": "__pycache__/\nresult.json\n",
}
PORT = """
[port]
repository = "../engine"
folder = "norms/fast"
call_site = "norms/ops.py"
call = "halve"
switch = "NORMS_HALVE"
build = "python3 -B -c 'import norms.ops'"
measure = "norms.ops:halve_all"

[[gate]]
name = "serving"
command = "PYTHONDONTWRITEBYTECODE=1 python3 bench.py"
read = "file:result.json#sglang:output_throughput"
must = ">= 1.2*base"
"""


class PythonPort(Case):
    def setUp(self):
        super().setUp()
        gpu = self.folder / "gpu"
        gpu.mkdir()
        for name in ("libcuda.so.1", "libnvrtc.so.13", "libcupti.so.13", "libnvidia-ml.so.1"):
            (gpu / name).symlink_to(FAKE_GPU)
        (gpu / "script").write_text("duration halve_kernel 9000\nduration quick 3000\n")
        self.gpu = {"AKO_GPU_PATH": str(gpu), "PYTHONPATH": str(ROOT / "tests/fakes/python")}

    def make_engine(self):
        engine = self.folder / "engine"
        for name, text in ENGINE.items():
            (engine / name).parent.mkdir(parents=True, exist_ok=True)
            (engine / name).write_text(text)
        self.git(engine, "init", "-q", "-b", "main")
        self.git(engine, "add", "-A")
        self.git(engine, "commit", "-qm", "engine")
        (engine / "norms/ops.py").write_text(ENGINE["norms/ops.py"] + "# an edit of the owner's\n")
        return engine

    def kept(self):
        """A copy of a task whose quick kernel was kept, once for all cases."""
        cls = type(self)
        if not hasattr(cls, "kept_task"):
            cls.kept_task = self.keep(self.make_task(cls.top / "kept" / "task"))
        task = self.folder / "task"
        shutil.copytree(cls.kept_task, task, symlinks=True)
        return task, (task / "solution/halve.py").read_text()

    def keep(self, task):
        text = (task / "task.toml").read_text()
        text = text.replace('flags = ["-O1"]', 'lane = "triton"').replace(".cpp", ".py").replace('cache = "warm"', 'cache = "cold"')
        (task / "task.toml").write_text(text + PORT)
        for old in list(task.rglob("*.cpp")):
            old.unlink()
        (task / "input/reference.py").write_text(
            "import torch\n\n\ndef halve(x, y, n):\n    for i in range(n):\n        y[i] = 0.5 * x[i]\n")
        (task / "input/halve.py").write_text(KERNEL.format(name="halve_kernel", answer="0.5 * x[i]"))
        (task / "solution").mkdir(exist_ok=True)
        for attempt in range(8):
            text = KERNEL.format(name="quick", answer="x[i] / 2") + f"# {attempt}\n"
            (task / "solution/halve.py").write_text(text)
            reply = self.ako("try", "--hypothesis", "another kernel", *WAIVED, at=task, exit=(0, 10, 14), env=self.gpu)
            if reply.code == 0:
                return task
        self.skipTest(f"the machine is too busy to measure on: {reply}")

    def confirmed(self, task, exits):
        for _ in range(8):
            reply = self.ako("validate", *WAIVED, at=task, exit=(*exits, 10, 14), env=self.gpu)
            if reply.data["state"] != "integrated":
                return reply
        self.skipTest(f"the machine is too busy to measure on: {reply}")

    def test_the_targets_modules_are_judged_and_measured(self):
        engine = self.make_engine()
        task, text = self.kept()
        ported = self.ako("port", *WAIVED, at=task, exit=0, env=self.gpu).data
        self.assertEqual(ported["files"], ["norms/fast/halve_dispatch.py", "norms/fast/kernel/halve.py", "norms/ops.py"])
        self.assertEqual(self.git(engine, "show", "ako/task:norms/fast/kernel/halve.py"), text)
        site = self.git(engine, "show", "ako/task:norms/ops.py")
        self.assertIn(")\nfrom .fast.halve_dispatch import halve_or\n", site)
        self.assertIn("    halve_or(halve)(x, y, n)  # not halve (x)\n", site)
        self.assertIn('"""What the model calls; halve(x, y, n) does the work."""', site)
        self.assertIn("get_device_capability(device) == (9, 0)", self.git(engine, "show", "ako/task:norms/fast/halve_dispatch.py"))
        self.assertTrue((engine / "norms/ops.py").read_text().endswith("owner's\n"))

        valid = self.confirmed(task, (0,))
        self.assertEqual(valid.data["state"], "confirmed", valid)
        self.assertEqual([step["name"] for step in valid.data["steps"]][:4],
                         ["build:old", "build:new", "operator", "gate:serving"])
        self.assertAlmostEqual(valid.data["verdict"]["gain"], 2 / 3, delta=0.05)

    def test_a_dispatch_that_never_takes_the_kernel_is_not_confirmed(self):
        engine = self.make_engine()
        task, _ = self.kept()
        # The target names an argument, which the dispatch leaves to the old path: both sides run the same kernel.
        (engine / "norms/ops.py").write_text(ENGINE["norms/ops.py"].replace("    halve(x, y, n)  #", "    halve(x, y, n=n)  #"))
        self.git(engine, "commit", "-qam", "by name")
        self.ako("port", *WAIVED, at=task, exit=0, env=self.gpu)
        lost = self.confirmed(task, ())
        self.assertEqual(lost.data["state"], "rejected", lost)
        failed = [step["name"] for step in lost.data["steps"] if not step["passed"]]
        self.assertEqual(failed, ["operator"])

    def test_a_function_that_is_not_there_is_the_targets_fault(self):
        self.make_engine()
        task, _ = self.kept()
        self.edit(task / "task.toml", "norms.ops:halve_all", "norms.ops:halve_everything")
        self.ako("port", *WAIVED, at=task, exit=0, env=self.gpu)
        reply = self.ako("validate", *WAIVED, at=task, env=self.gpu)
        self.assertNotEqual(reply.code, 0)
        self.assertIn("halve_everything", reply.out)
        self.edit(task / "task.toml", "norms.ops:halve_everything", "norms.ops")
        self.refused("validate", *WAIVED, at=task, exit=2, says="package.module:function", env=self.gpu)


if __name__ == "__main__":
    main()
