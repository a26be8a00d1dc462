#!/usr/bin/env python3
"""ako's clock against ncu and against the usual clocks, on the same real kernels in one run.

    truth.py OUT [--repeats 30] [--kernelbench FILE]     with ako, nvcc and ncu on PATH
    truth.py OUT --again                                 the table again, from OUT/truth.json

ako: `ako bench` on a task whose shapes are the kernels (cases.py), once with warm and once with cold-clean caches, means of the
records that it took. ncu, trimmed means: gpu__time_duration with --clock-control none and --cache-control none, of the same kernels in the same
two states, which the program itself brings about by reading (plain_main.cu). The other clocks stand beside them, with warm
caches, as they are commonly used (usual.py, plain_main.cu).

ako and ncu differ by one constant: the median of ncu - ako over the kernels below 10 us, in both states. What is left over must be at most 3 % of
ako's time or 0.1 us, whichever is more. A chain of three kernels against its fusion: what ako says is saved must agree within
0.2 us with what graphs of 100 say. Exit 1 when a bound is missed. Leaves OUT/truth.txt and OUT/truth.json with all samples.
"""
import argparse
import csv
import io
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from cases import SHAPES, contract

HERE = pathlib.Path(__file__).resolve().parent
CALLS = {9: 3}  # kernels a call, where it is not one


def run(*words, at=None, limit=300):
    done = subprocess.run([str(word) for word in words], cwd=at, capture_output=True, text=True, timeout=limit, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))[:200]}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def task_at(folder, architecture, cache):
    shutil.copy(HERE / "kernels.cuh", folder / "kernels.cuh")
    for name, symbol, kind in (("solution/truth.cu", "truth_call", "float"), ("input/reference.cu", "truth_reference", "double")):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text((HERE / "kernels.cuh").read_text().replace("#pragma once\n", "") + f"""
cudaError_t {symbol}(const float* x, {kind}* y, long long kind, long long n, long long m, cudaStream_t stream) {{
  return truth::launch<{kind}>(x, y, kind, n, m, stream);
}}
""")
    (folder / "kernels.cuh").unlink()
    text = contract(architecture, cache).replace("[accept]\n", "[accept]\nsecond_opinion = false\n")
    (folder / "task.toml").write_text(text + "[limits]\nplacements = 2\npairs = 10\nevaluation_seconds = 280\n")


def ours(architecture, cache):
    with tempfile.TemporaryDirectory() as folder:
        task_at(pathlib.Path(folder), architecture, cache)
        run("git", "init", "-q", ".", at=folder)
        reply = json.loads(run("ako", "bench", "--json", at=folder))
    return reply["data"]


def by_ncu(plain, repeats):
    """{(tag, state): microseconds of each call}; kernels of one call added up."""
    words = [str(value) for _, *numbers in SHAPES for value in numbers]
    text = run("ncu", "--clock-control", "none", "--cache-control", "none", "--metrics", "gpu__time_duration.sum", "--csv", "--page", "raw",
               "--print-units", "base", "-k", "regex:^case_", plain, "states", repeats, *words)
    rows = list(csv.DictReader(io.StringIO(text[text.index('"ID"'):])))
    times = [float(row["gpu__time_duration.sum"].replace(",", "")) / 1000 for row in rows[1:]]  # the first row names the units
    found, at = {}, 0
    for tag, kind, _, _ in SHAPES:
        kernels = CALLS.get(kind, 1)
        for state in ("warm", "cold"):
            part = times[at:at + repeats * kernels]
            found[tag, state] = [sum(part[i:i + kernels]) for i in range(0, len(part), kernels)]
            at += repeats * kernels
    if at != len(times):
        sys.exit(f"ncu saw {len(times)} kernels of {at}")
    return found


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def keep(out, name, text):
    (out / name).write_text(text + "\n")


def trimmed(values):
    """The mean without the tenth at either end: the first calls of a profiled program are slow."""
    cut = len(values) // 10
    return statistics.mean(sorted(values)[cut:len(values) - cut])


def compared(ako, ncu):
    """Rows of kernels that ncu can time as a whole: a chain's gaps are not in its figures."""
    rows = []
    for tag, kind, _, _ in SHAPES:
        if CALLS.get(kind, 1) > 1:
            continue
        for state in ("warm", "cold"):
            ours_us = ako[state][tag]["mean_ns"] / 1000
            rows.append({"tag": tag, "state": state, "ako_us": ours_us, "ncu_us": trimmed(ncu[f"{tag} {state}"])})
    constant = statistics.median(row["ncu_us"] - row["ako_us"] for row in rows if row["ako_us"] < 10)
    for row in rows:
        row["left_us"] = row["ncu_us"] - row["ako_us"] - constant
        row["room_us"] = max(0.03 * row["ako_us"], 0.1)
    return constant, rows


def measure(words):
    build = pathlib.Path(tempfile.mkdtemp())
    common = ["nvcc", "-O3", "-std=c++17", f"-arch={words.architecture}", HERE / "plain_main.cu"]
    run(*common, "-o", build / "plain")
    run(*common, "-DLIBRARY", "-shared", "-Xcompiler", "-fPIC", "-o", build / "libtruth.so")
    record = {"device": run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()[0],
              "tools": run("nvcc", "--version").splitlines()[-2] + ", " + run("ncu", "--version").splitlines()[-1]}
    record["ako"] = {cache: ours(words.architecture, cache) for cache in ("warm", "cold")}
    record["ncu"] = {f"{tag} {state}": times for (tag, state), times in by_ncu(build / "plain", words.repeats).items()}
    numbers = [str(value) for _, *rest in SHAPES for value in rest]
    clocks = json_lines(run(build / "plain", "clocks", words.repeats, *numbers))
    more = ["--kernelbench", words.kernelbench] if words.kernelbench else []
    usual = json_lines(run(sys.executable, HERE / "usual.py", build / "libtruth.so", *more))
    record["notes"] = [row for row in usual if "tag" not in row]
    timed = [{k: v for k, v in row.items() if k != "tag"} for row in usual if "tag" in row]
    record["others"] = {tag: {**clock, **row} for (tag, *_), clock, row in zip(SHAPES, clocks, timed)}
    keep(words.out, "truth.json", json.dumps(record, indent=1))
    return record


def table(record):
    """(lines, whether all bounds held)"""
    ako = {cache: {row["tag"]: row for row in data["shapes"]} for cache, data in record["ako"].items()}
    constant, rows = compared(ako, record["ncu"])
    lines = [record["device"], record["tools"], "", f"ncu - ako: constant {constant:.3f} us",
             f"{'kernel':16} {'caches':6} {'ako us':>10} {'ncu us':>10} {'left us':>9} {'room us':>9}"]
    missed = 0
    for row in rows:
        bad = abs(row["left_us"]) > row["room_us"]
        missed += bad
        lines.append(f"{row['tag']:16} {row['state']:6} {row['ako_us']:10.3f} {row['ncu_us']:10.3f} {row['left_us']:9.3f} {row['room_us']:9.3f}{'  MISSED' if bad else ''}")
    others = record["others"]
    names = list(next(iter(others.values())))
    lines += ["", "the usual clocks, warm, us, and ako's beside them", f"{'kernel':16} {'ako':>10} " + " ".join(f"{name[:19]:>19}" for name in names)]
    for tag, row in others.items():
        lines.append(f"{tag:16} {ako['warm'][tag]['mean_ns'] / 1000:10.3f} " + " ".join(f"{row[name]:19.3f}" if isinstance(row.get(name), float) else f"{'-':>19}" for name in names))
    lines += [json.dumps(note) for note in record["notes"]]
    by_ako = (ako["warm"]["chain-1m"]["mean_ns"] - ako["warm"]["fused-1m"]["mean_ns"]) / 1000
    by_graph = others["chain-1m"]["graph_100"] - others["fused-1m"]["graph_100"]
    lines += ["", f"three kernels against their fusion: saved {by_ako:.3f} us by ako, {by_graph:.3f} us by graphs of 100: {abs(by_ako - by_graph):.3f} us apart (bound 0.2)"]
    lines.append(f"{len(rows)} comparisons, {missed} beyond the room")
    return lines, missed == 0 and abs(by_ako - by_graph) <= 0.2


def main():
    words = argparse.ArgumentParser()
    words.add_argument("out", type=pathlib.Path)
    words.add_argument("--repeats", type=int, default=30)
    words.add_argument("--kernelbench")
    words.add_argument("--architecture", default="sm_90a")
    words.add_argument("--again", action="store_true")
    words = words.parse_args()
    words.out.mkdir(parents=True, exist_ok=True)
    record = json.loads((words.out / "truth.json").read_text()) if words.again else measure(words)
    lines, good = table(record)
    keep(words.out, "truth.txt", "\n".join(lines))
    print("\n".join(lines))
    sys.exit(0 if good else 1)


main()
