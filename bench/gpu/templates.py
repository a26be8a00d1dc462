#!/usr/bin/env python3
"""Judges and measures the GPU templates on this machine's device, in one run.

    templates.py OUT SECONDS [ID...]        with ako on PATH; no template is begun after SECONDS

Each template becomes a task as `ako new --template` makes it, is built with all others at the same time, and its kernel goes through `ako try` against its first baseline: the contract's shapes and edge shapes judged, then
measured in pairs. The gates are waived and said to be: nothing here is a claim of a task's own. Where a library
stands as a baseline, it is timed as well (`ako bench`). What time is left goes to `ako check`, one template after another.

Leaves OUT/templates.txt (the table), OUT/templates.json (figures and replies), OUT/doctor.txt, OUT/calibrate.json.
Share: bytes of the contract over the time, over the copy bandwidth that `ako calibrate` found on this device; for
products, TFLOP/s and the time over the library's.
"""
import concurrent.futures
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TEMPLATES = pathlib.Path(__file__).resolve().parents[2] / "templates"
LIMITS = {"placements": 2, "pairs": 4, "evaluation_seconds": 150, "build_seconds": 300}
NAMES = {"ceildiv": lambda a, b: -(-a // b), "min": min, "max": max}


def ako(*words, at=None, limit=600):
    """(exit code, data or error, seconds); the JSON envelope's content."""
    begin = time.monotonic()
    try:
        done = subprocess.run(["ako", *map(str, words), "--json"], cwd=at, capture_output=True, text=True, timeout=limit, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return 124, {"error": f"stopped after {limit:.0f} s"}, time.monotonic() - begin
    try:
        reply = json.loads(done.stdout)
    except ValueError:
        reply = {"error": (done.stdout + done.stderr)[-2000:]}
    return done.returncode, reply, time.monotonic() - begin


def short_run(task):
    """Fewer placements, no second opinion: figures for a table, not for a record."""
    path = task / "task.toml"
    text = path.read_text()
    text = re.sub(r"(?m)^\[accept\]\n", "[accept]\nsecond_opinion = false\n", text)
    if "[limits]" not in text:
        text += "\n[limits]\n"
    for key, value in LIMITS.items():
        text = re.sub(rf"(?m)^{key} = .*\n", "", text)
        text = text.replace("[limits]\n", f"[limits]\n{key} = {value}\n")
    path.write_text(text)


def value(expression, axes):
    """A cost of the contract at one shape."""
    return eval(expression.replace("/", "//"), {"__builtins__": {}}, {**NAMES, **axes}) if expression else 0


def axes_of(contract, shape):
    """All axes of one shape, those that follow from others included."""
    axes = dict(shape["axes"])
    for name, axis in contract["axes"].items():
        if "const" in axis:
            axes[name] = axis["const"]
    for name, axis in contract["axes"].items():
        if "expr" in axis:
            axes[name] = value(axis["expr"], axes)
    return axes


def figures(contract, verdict, copy):
    """One row a shape: times, gain, bytes and operations a second, share of the copy bandwidth."""
    rows = []
    shapes = {shape["tag"]: shape for shape in contract["shapes"]}
    for shape in verdict.get("shapes", []):
        new = shape.get("new_ns")
        if not new:
            continue
        axes = axes_of(contract, shapes[shape["tag"]])
        moved, done = value(contract["cost"]["bytes"], axes), value(contract["cost"]["flops"], axes)
        rows.append({"tag": shape["tag"], "old_ns": shape["old_ns"], "new_ns": new, "bytes_per_s": 1e9 * moved / new,
                     "flops_per_s": 1e9 * done / new, "share_of_copy": 1e9 * moved / new / copy if copy else None})
    return rows


class Run:
    def __init__(self, out, seconds, wanted):
        self.out, self.end, self.wanted = out, time.monotonic() + seconds, wanted
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ako-templates-"))
        self.results, self.copy = {}, 0.0

    def left(self):
        return self.end - time.monotonic()

    def say(self, line):
        print(line, flush=True)
        with (self.out / "templates.txt").open("a") as file:
            file.write(line + "\n")

    def prepare(self):
        (self.out / "doctor.txt").write_text(subprocess.run(["ako", "doctor"], capture_output=True, text=True).stdout)
        code, reply, _ = ako("calibrate", "--device", "0", limit=120)
        (self.out / "calibrate.json").write_text(json.dumps(reply, indent=1))
        self.copy = (reply.get("data") or {}).get("copy_bytes_per_s") or 0.0
        ids = sorted(f"{note.parent.parent.name}/{note.parent.name}" for note in TEMPLATES.glob("*/*/NOTES.md"))
        ids = [one for one in ids if not one.startswith("cpu/") and (not self.wanted or one in self.wanted)]
        self.say(f"{len(ids)} templates; copy {self.copy / 1e9:.0f} GB/s")
        for one in ids:
            task = self.folder / one.replace("/", "-")
            shutil.copytree(TEMPLATES / one, task)
            short_run(task)
            for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=ako", "-c", "user.email=ako@localhost", "commit", "-qm", "template"]):
                subprocess.run(["git", *words], cwd=task, check=True)
            self.results[one] = {"task": task}
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            built = pool.map(lambda one: ako("check", "--build-only", at=self.results[one]["task"], limit=400), ids)
            for one, (code, reply, took) in zip(ids, built):
                self.results[one]["build"] = {"exit": code, "seconds": took}
                if code != 0:
                    self.say(f"{one}: does not build: {json.dumps(reply)[:1500]}")
        self.say(f"built in {time.monotonic() - begin:.0f} s")

    def judge(self, one):
        result = self.results[one]
        task = result["task"]
        code, reply, took = ako("check", "--echo", at=task)
        contract = reply["data"]["contract"]
        code, reply, took = ako("try", "--hypothesis", "the template's kernel", "--waive", "a table of templates", at=task,
                                limit=max(30, min(240, self.left())))
        data = reply.get("data") or {}
        verdict = data.get("verdict") or {}
        result.update(exit=code, seconds=took, outcome=reply.get("outcome"), error=reply.get("error"), verdict=verdict,
                      resources=data.get("resources"), timing=data.get("timing"), rows=figures(contract, verdict, self.copy))
        reason = (verdict.get("outcome") or {}).get("reason") or json.dumps(reply.get("error"))
        self.say(f"{one}: {reply.get('outcome')} (exit {code}, {took:.0f} s): {reason[:300]}")
        for row in result["rows"]:
            self.say(f"    {row['tag']:<18} {row['new_ns'] / 1e3:10.1f} us  baseline {row['old_ns'] / 1e3:10.1f} us  "
                     f"{row['bytes_per_s'] / 1e9:7.0f} GB/s {100 * (row['share_of_copy'] or math.nan):5.1f} % of copy  "
                     f"{row['flops_per_s'] / 1e12:7.1f} TFLOP/s")
        for baseline in contract["baselines"]:
            if baseline["kind"] != "library":
                continue
            code, reply, took = ako("bench", "baseline:" + baseline["name"], at=task, limit=120)
            result["library"] = reply.get("data") or reply.get("error")
            for shape in (reply.get("data") or {}).get("shapes", []):
                mine = next((row["new_ns"] for row in result["rows"] if row["tag"] == shape["tag"]), None)
                if mine:
                    self.say(f"    {shape['tag']:<18} {baseline['name']} {shape['p50_ns'] / 1e3:.1f} us: {mine / shape['p50_ns']:.3f} of its time")

    def check(self, one):
        code, reply, took = ako("check", at=self.results[one]["task"], limit=max(30, self.left()))
        data = reply.get("data") or {}
        broken = [step for step in data.get("steps", []) if not step["passed"]]
        self.results[one]["check"] = {"exit": code, "seconds": took, "steps": data.get("steps"), "error": reply.get("error")}
        self.say(f"{one}: check exit {code} ({took:.0f} s){': ' + json.dumps(broken)[:600] if broken else ''}")

    def save(self):
        whole = {one: {key: entry for key, entry in result.items() if key != "task"} for one, result in self.results.items()}
        (self.out / "templates.json").write_text(json.dumps({"copy_bytes_per_s": self.copy, "templates": whole}, indent=1))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    run = Run(out.resolve(), float(sys.argv[2]), sys.argv[3:])
    run.prepare()
    for step in (run.judge, run.check):
        for one in run.results:
            if run.left() < 20:
                run.say(f"{one}: no time left for {step.__name__}")
                continue
            step(one)
            run.save()
    run.save()
    wrong = [one for one, result in run.results.items() if result.get("outcome") not in ("improved", "equivalent", "undecided", "regressed")]
    run.say(f"{len(run.results) - len(wrong)} of {len(run.results)} correct on this device" + (": not " + ", ".join(wrong) if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
