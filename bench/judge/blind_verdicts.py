#!/usr/bin/env python3
"""Real verdicts, blind: the same kernel against itself, or with 3 % or 5 % of its own time added.

    bench/judge/blind_verdicts.py [--ako PATH] [--verdicts 500] [--seed N] [--out FILE.json]

Half of the comparisons are A/A, a quarter each is slowed by 3 % and 5 %; the order is drawn. The
contract asks for a minimum gain of 1 % with warm caches and allows 60 pairs for each placement: on a
shared machine a call varies by several percent. ako sees two files and nothing else. A call takes some
microseconds; 500 verdicts take about 40 minutes. An error of ako is a verdict not given and counts as undecided.
Printed: outcomes by kind, and the bounds: at most one false `improved` in the A/A half, 95 % of the
slowed ones told apart (`regressed`), at most 10 % undecided. Exit 1 when a bound is missed.
"""
import argparse
import collections
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

CONTRACT = """\
format = 1
[kernel]
name = "poly"
lane = "cpu"
entry = { file = "solution/poly.cpp", symbol = "poly" }
flags = ["-O2"]
args = ["x", "y", "N"]
[axes]
N = { var = true, min = 1, max = 65536 }
[[tensor]]
name = "x"
role = "in"
dtype = "float32"
shape = ["N"]
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["N"]
compare = "close"
[[shape]]
tag = "one"
N = 512
weight = 1
[reference]
entry = { file = "input/reference.cpp", symbol = "poly" }
precision = "float64"
[[baseline]]
name = "first"
entry = { file = "input/poly.cpp", symbol = "poly" }
[tolerance]
accumulate = "16"
[accept]
cache = "warm"
min_gain = 0.01
max_regression = 0.01
[limits]
pairs = 60
"""

# 512 polynomials of degree 12: bound by the core. SLOW: that share of the call's own time is spun away.
KERNEL = """\
#include <cstdint>
#include <x86intrin.h>
void poly(const float* x, {out}* y, int64_t n) {{
  const uint64_t begin = __rdtsc();
  for (int64_t i = 0; i < n; ++i) {{
    {out} sum = 0;
    for (int k = 0; k < 12; ++k) sum = sum * ({out})x[i] + ({out})(k + 1);
    y[i] = sum;
  }}
  const double share = {slow};
  if (share > 0) {{
    const uint64_t end = __rdtsc();
    const uint64_t until = end + (uint64_t)(share * (double)(end - begin));
    while (__rdtsc() < until) {{}}
  }}
}}
const char* {mark} = "{mark}";
"""
KINDS = {"a/a": 0.0, "slower by 3 %": 0.03, "slower by 5 %": 0.05}


def make_task(folder: Path) -> None:
    for name in ("input", "solution"):
        (folder / name).mkdir(parents=True)
    (folder / "task.toml").write_text(CONTRACT)
    kernel = lambda slow, mark, out="float": KERNEL.format(slow=slow, mark=mark, out=out)
    (folder / "input/reference.cpp").write_text(kernel(0.0, "reference", "double"))
    for name in ("input/poly.cpp", "solution/poly.cpp", "old.cpp"):
        (folder / name).write_text(kernel(0.0, "old"))
    for i, slow in enumerate(KINDS.values()):
        (folder / f"new{i}.cpp").write_text(kernel(slow, f"new{i}"))
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ako", type=lambda p: str(Path(p).resolve()), default=shutil.which("ako") or str(ROOT / "build/ci/bin/ako"))
    parser.add_argument("--verdicts", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=0, help="stop after this long, with fewer verdicts")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--out")
    options = parser.parse_args()
    half = options.verdicts // 2
    truth = ["a/a"] * half + ["slower by 3 %"] * ((options.verdicts - half) // 2)
    truth += ["slower by 5 %"] * (options.verdicts - len(truth))
    random.Random(options.seed).shuffle(truth)
    rows, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ako-blind-") as temporary:
        folder = Path(temporary) / "task"
        make_task(folder)
        for kind in truth:
            if options.seconds and time.monotonic() - begin > options.seconds:
                break
            shutil.copy(folder / f"new{list(KINDS).index(kind)}.cpp", folder / "solution/poly.cpp")
            start = time.monotonic()
            done = subprocess.run([options.ako, "compare", "old.cpp", "solution/poly.cpp", "--json"], cwd=folder,
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
            reply = json.loads(done.stdout)
            verdict = (reply["data"] or {}).get("verdict") or {}
            rows.append({"kind": kind, "outcome": reply["outcome"] or "no verdict", "gain": verdict.get("gain"),
                         "interval": verdict.get("interval"), "placements": verdict.get("placements"),
                         "error": reply["error"], "seconds": time.monotonic() - start})
            if len(rows) == 1 and reply["error"]:
                sys.exit(f"ako compare: {reply['error']}")
    table = collections.Counter((row["kind"], row["outcome"]) for row in rows)
    outcomes = sorted({row["outcome"] for row in rows})
    print(f"{len(rows)} verdicts of {options.verdicts}, seed {options.seed}, "
          f"median {sorted(r['seconds'] for r in rows)[len(rows) // 2]:.2f} s each")
    print(f"{'':<16}" + "".join(f"{o:>20}" for o in outcomes))
    for kind in KINDS:
        print(f"{kind:<16}" + "".join(f"{table[kind, o]:>20}" for o in outcomes))
    slowed = [r for r in rows if r["kind"] != "a/a"]
    told = sum(r["outcome"] == "regressed" for r in slowed)
    false_wins = sum(r["outcome"] == "improved" for r in rows)
    undecided = sum(r["outcome"] not in ("improved", "equivalent", "regressed") for r in rows)
    checks = [("false `improved`", false_wins <= 1, f"{false_wins}, at most 1"),
              ("slowed ones told apart", told >= 0.95 * len(slowed), f"{told} of {len(slowed)}, at least 95 %"),
              ("undecided or invalid", undecided <= 0.1 * len(rows), f"{undecided} of {len(rows)}, at most 10 %")]
    for what, held, numbers in checks:
        print(f"{'held' if held else 'MISSED'}: {what}: {numbers}")
    if options.out:
        Path(options.out).write_text(json.dumps({"machine": platform.processor() or platform.machine(),
                                                 "cores": os.cpu_count(), "seed": options.seed, "rows": rows}, indent=0) + "\n")
    return 0 if all(held for _, held, _ in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
