#!/usr/bin/env python3
"""From saved file to verdict on the cpu lane, and where the time goes.

    bench/loop/saved_to_verdict.py [--ako PATH] [--runs N] [--out FILE.json]

Two tasks made from examples/cpu/rmsnorm_bf16: all its shapes with cold caches, and its smallest
shape warm. Each is checked and its baseline measured; then the first iteration of the example is
tried, N times in fresh copies. Printed per run: wall time of `ako try`, the compiler's part, judging,
measuring, the second opinion, and the rest, which is ako's own. Bounds: cold 15 s; warm compile + 1 s;
the rest 150 ms.
"""
import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/cpu/rmsnorm_bf16"
FIRST = EXAMPLE / "iterations/1-eight-sums/rmsnorm.cpp"


def one_warm_shape(text: str) -> str:
    """The contract with its first shape alone, warm."""
    parts = re.split(r"(?m)^(?=\[)", text)
    shapes = [p for p in parts if p.startswith("[[shape]]")]
    kept = [p for p in parts if not p.startswith("[[shape]]") or p is shapes[0]]
    return "".join(kept).replace('cache = "cold"', 'cache = "warm"')


def ako(program: str, folder: Path, *words: str) -> tuple[dict, float]:
    begin = time.monotonic()
    done = subprocess.run([program, *words, "--json"], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    try:
        return json.loads(done.stdout), seconds
    except json.JSONDecodeError:
        sys.exit(f"ako {' '.join(words)}: exit {done.returncode}, no JSON: {done.stderr[-400:]}")


def prepare(program: str, folder: Path, warm: bool) -> None:
    shutil.copytree(EXAMPLE, folder)
    if warm:
        contract = folder / "task.toml"
        contract.write_text(one_warm_shape(contract.read_text()))
    run = lambda *words: subprocess.run(words, cwd=folder, check=True, capture_output=True)
    run("git", "init", "-q", ".")
    run("git", "add", "-A")
    run("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "start")
    for words in (["check"], ["refs", "read", "--required"], ["baseline"]):
        reply, _ = ako(program, folder, *words)
        if reply["exit"] != 0:
            sys.exit(f"ako {words[0]} ended with {reply['exit']}: {reply['outcome']} {reply['error']}")


def measure(program: str, folder: Path, run: int) -> dict:
    # An edit of this run's own, so that nothing comes from the cache of builds.
    source = FIRST.read_text() + f"\n// run {run} of {os.getpid()}, {time.time_ns()}\nextern \"C\" const int ako_bench_run_{run} = {run};\n"
    (folder / "solution/rmsnorm.cpp").write_text(source)
    reply, wall = ako(program, folder, "try", "--hypothesis", "eight running sums", "--cites", "cpu-kernels")
    timing = reply["data"]["timing"]
    parts = {name: timing[name] / 1e9 for name in ("judge_ns", "measure_ns", "second_opinion_ns")}
    build = timing["build_seconds"]
    outcome = reply["data"]["verdict"]["outcome"]
    return {"outcome": reply["outcome"], "reason": outcome.get("reason", ""), "evidence": outcome.get("evidence", []), "wall_s": wall, "compile_s": build,
            **{name.replace("_ns", "_s"): value for name, value in parts.items()},
            "own_s": wall - build - sum(parts.values()), "cached": timing["build_cached"],
            "placements": reply["data"]["verdict"]["placements"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ako", default=shutil.which("ako") or str(ROOT / "build/ci/bin/ako"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out")
    options = parser.parse_args()
    record = {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count(),
              "kernel": platform.release(), "runs": {}}
    print(f"{'task':<12}{'outcome':<12}{'wall':>8}{'compile':>9}{'judge':>8}{'measure':>9}{'second':>8}{'own':>8}  placements")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="ako-bench-") as folder:
        for name, warm in (("all-cold", False), ("small-warm", True)):
            origin = Path(folder) / name
            prepare(options.ako, origin, warm)
            rows = record["runs"].setdefault(name, [])
            for run in range(options.runs):
                copy = Path(folder) / f"{name}-{run}"
                prepare(options.ako, copy, warm) if run else origin.rename(copy)
                row = measure(options.ako, copy, run)
                rows.append(row)
                print(f"{name:<12}{row['outcome']:<12}{row['wall_s']:>7.2f}s{row['compile_s']:>8.2f}s{row['judge_s']:>7.2f}s"
                      f"{row['measure_s']:>8.2f}s{row['second_opinion_s']:>7.2f}s{1e3 * row['own_s']:>6.0f}ms  {row['placements']}")
                if row["outcome"] != "improved":  # a real gain of more than half
                    missed += 1
                    print(f"    MISSED: not improved: {row['reason']}")
            median = lambda key: sorted(row[key] for row in rows)[len(rows) // 2]
            wall, bound = median("wall_s"), 15 if not warm else median("compile_s") + 1
            own = median("own_s")
            missed += (wall > bound) + (own > 0.15)
            print(f"{name}: median wall {wall:.2f} s, bound {bound:.2f} s: {'held' if wall <= bound else 'MISSED'}; "
                  f"ako's own {1e3 * own:.0f} ms, bound 150 ms: {'held' if own <= 0.15 else 'MISSED'}")
    if options.out:
        Path(options.out).write_text(json.dumps(record, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
