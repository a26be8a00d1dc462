#!/usr/bin/env python3
"""A rebuild of a CUTLASS kernel after a change of one line in its epilogue, and the same from the cache.

    bench/lanes/rebuild.py [--ako PATH] [--template cutlass/gemm] [--runs N] [--out FILE.json]

Makes a task of the template in an empty folder with a cache of its own, builds it once, and then N times: changes one line of
the epilogue's functor, times `ako check --build-only` (the baselines and the reference come from the cache: what is left is the
kernel's build and ako's own time), and times it again with nothing changed. No GPU is needed. Bounds: 60 s on two cores, 0.2 s.
"""
import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LINE = "__fdividef(x, 1.0f + __expf(-x))"
BOUNDS = {"rebuild": 60.0, "cached": 0.2}


def ako(program: str, folder: Path, *words: str) -> tuple[dict, float]:
    begin = time.monotonic()
    done = subprocess.run([program, *words, "--json"], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    try:
        reply = json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"ako {' '.join(words)}: exit {done.returncode}, no JSON: {done.stderr[-400:]}")
    if reply["exit"] != 0:
        sys.exit(f"ako {' '.join(words)}: {json.dumps(reply.get('error') or reply.get('data'))[:2000]}")
    return reply, seconds


def without_library(task: Path) -> None:
    """A slim toolkit brings no cuBLASLt: the baseline that needs it is not what is timed here."""
    contract = task / "task.toml"
    contract.write_text(re.sub(r'(?s)\[\[baseline\]\]\nname = "cublaslt".*?\n\n', "", contract.read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ako", default="ako")
    parser.add_argument("--template", default="cutlass/gemm")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ako-rebuild-") as folder:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        made, _ = ako(given.ako, Path(folder), "new", "rebuild", "--template", given.template)
        task = Path(made["data"]["task"])
        without_library(task)
        kernel = task / "solution/kernel.cu"
        text = kernel.read_text()
        if LINE not in text:
            sys.exit(f"{given.template}: its epilogue has no line {LINE}")
        _, first = ako(given.ako, task, "check", "--build-only")
        print(f"first build, all sides: {first:.1f} s")
        rows = []
        for run in range(given.runs):
            kernel.write_text(text.replace(LINE, f"{LINE} + {run + 1}e-30f"))
            _, rebuild = ako(given.ako, task, "check", "--build-only")
            _, cached = ako(given.ako, task, "check", "--build-only")
            rows.append({"rebuild_seconds": round(rebuild, 3), "cached_seconds": round(cached, 3)})
            print(f"rebuild {rebuild:6.1f} s   cached {cached:.3f} s")
        worst = {"rebuild": max(row["rebuild_seconds"] for row in rows), "cached": max(row["cached_seconds"] for row in rows)}
        held = {name: worst[name] <= BOUNDS[name] for name in BOUNDS}
        print(f"worst: rebuild {worst['rebuild']:.1f} s (bound {BOUNDS['rebuild']:.0f}), "
              f"cached {worst['cached']:.3f} s (bound {BOUNDS['cached']})")
        if given.out:
            record = {"machine": platform.platform(), "cores": os.cpu_count(), "template": given.template,
                      "first_build_seconds": round(first, 3), "runs": rows, "worst": worst, "bounds": BOUNDS, "held": held}
            Path(given.out).write_text(json.dumps(record, indent=1) + "\n")
        sys.exit(0 if all(held.values()) else 1)


if __name__ == "__main__":
    main()
