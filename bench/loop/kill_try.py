#!/usr/bin/env python3
"""`ako try` killed at random moments: nothing on record is lost, and the next command carries on.

    bench/loop/kill_try.py [--ako PATH] [--kills 200] [--seed N]

A small task is checked and its baseline measured; then `ako try` is killed (SIGKILL, the process
alone, as the kernel's memory killer would) at moments drawn over the whole of its run, until --kills
of them came while it ran: a run that ended before its moment does not count and is followed by
another, up to three runs for each kill. After every run: `ako verify` passes; no event that was on record is gone; a file of the user's that ako does not
own is untouched; solution/ holds the candidate or the incumbent, nothing between; no child is left
after two seconds. Every tenth run, and the last one, is let run to its end.
"""
import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "judge"))
from blind_verdicts import KERNEL, make_task  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MARK = "AKO_KILL_BENCH"


def ako(program: str, folder: Path, *words: str) -> dict:
    done = subprocess.run([program, *words, "--json"], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"ako {' '.join(words)}: exit {done.returncode}, no JSON: {done.stderr[-400:]}")


def events(folder: Path) -> list[tuple]:
    path = next((folder / ".git/ako").glob("*/ledger.sqlite"))
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return db.execute("SELECT seq, hash FROM event ORDER BY seq").fetchall()


def children_left(mark: str) -> list[int]:
    left = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                if "Z" not in (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]:
                    left.append(int(entry.name))
        except OSError:
            continue
    return left


def until_landed(kills: int, one) -> tuple[int, int]:
    """Calls one(number, whole), which says whether its kill came while the try ran, until `kills` of them did; how many
    did, and the runs. Whole runs are the first, every tenth and the last one."""
    landed, number, whole = 0, 0, False
    most = 3 * kills + 10
    while (landed < kills and number < most) or not whole:
        number += 1
        whole = number % 10 == 1 or landed >= kills or number >= most
        landed += one(number, whole)
    return landed, number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ako", default=shutil.which("ako") or str(ROOT / "build/ci/bin/ako"))
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    options = parser.parse_args()
    options.ako = str(Path(options.ako).resolve())
    draw = random.Random(options.seed)
    faults: list[str] = []
    span = 3.0
    with tempfile.TemporaryDirectory(prefix="ako-kill-") as temporary:
        folder = Path(temporary) / "task"
        make_task(folder)
        contract = folder / "task.toml"
        contract.write_text(contract.read_text().replace("N = 16384", "N = 4096").replace("pairs = 60", "placements = 12\npairs = 10"))
        (folder / "mine.txt").write_text("the user's own\n")
        for words in (["check"], ["refs", "read", "--required"], ["baseline"]):
            for _ in range(8):
                reply = ako(options.ako, folder, *words)
                if reply["exit"] != 14: # the machine was too busy
                    break
            if reply["exit"] != 0:
                steps = [step for step in (reply["data"] or {}).get("steps", []) if not step["passed"]]
                sys.exit(f"ako {words[0]}: {reply['outcome']} {steps or reply['error']}")

        def one(number: int, whole: bool) -> bool:
            nonlocal span
            incumbent = (folder / "solution/poly.cpp").read_text()
            candidate = KERNEL.format(slow=0.0, mark=f"try{number}", out="float")
            (folder / "solution/poly.cpp").write_text(candidate)
            before = events(folder)
            begin = time.monotonic()
            process = subprocess.Popen([options.ako, "try", "--hypothesis", f"try {number}", "--cites", "loop", "--explore", "--json"], cwd=folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                       env={**os.environ, MARK: str(number)})
            if not whole:
                try:
                    process.wait(draw.uniform(0, span))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
            # Who was done between the moment and the signal was not killed.
            landed = process.wait() == -signal.SIGKILL and not whole
            if whole:
                span = time.monotonic() - begin
            deadline = time.monotonic() + 2
            while (left := children_left(str(number))) and time.monotonic() < deadline:
                time.sleep(0.02)
            where = f"run {number}"
            if left:
                faults.append(f"{where}: children left: {left}")
            after = events(folder)
            if after[:len(before)] != before:
                faults.append(f"{where}: recorded events are gone")
            verified = ako(options.ako, folder, "verify")
            if verified["exit"] != 0:
                faults.append(f"{where}: verify: {verified['error']}")
            if (folder / "mine.txt").read_text() != "the user's own\n":
                faults.append(f"{where}: the user's file was changed")
            if (folder / "solution/poly.cpp").read_text() not in (incumbent, candidate):
                # A win that was decided before makes an earlier candidate the incumbent.
                # So does, first of all, the kernel that the task began with.
                if not any((folder / "solution/poly.cpp").read_text() == KERNEL.format(slow=0.0, mark=mark, out="float")
                           for mark in ["old", *(f"try{n}" for n in range(1, number))]):
                    faults.append(f"{where}: solution/ is neither candidate nor incumbent")
            if whole and number > 1 and len(after) <= len(before):
                faults.append(f"{where}: the try after the kills recorded nothing")
            return landed

        landed, number = until_landed(options.kills, one)
        recorded = len(events(folder))
    if landed < options.kills:
        faults.append(f"only {landed} of {options.kills} kills came while a try ran, in {number} runs")
    print(f"{landed} kills landed of {options.kills} in {number} runs of about {span:.1f} s, seed {options.seed}; {recorded} events on record at the end")
    for fault in faults:
        print("FAULT: " + fault)
    print("held" if not faults else f"MISSED: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
