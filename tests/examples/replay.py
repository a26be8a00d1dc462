#!/usr/bin/env python3
"""Judges the recorded candidates of a finished example again and must reach the recorded outcomes.

    replay.py --ako PATH EXAMPLE_DIR

The record is read by `ako log`; each iteration's sources (iterations/N-name/) are put against those
that were the incumbent then, by `ako compare` in a fresh copy of the task. improved, regressed and
incorrect must come out as recorded. A draw on record (equivalent or undecided) must not become a
claim: how near to nothing it is measured is a matter of noise, that it is no win is not. A run that the machine disturbed, or in which
a recorded win or loss came out undecided, is repeated, at most REPEATS times a candidate and SECONDS in
all; what is then still open is not settled, and the exit 77. Any other outcome than the recorded one fails,
and so does a run that settles less than half of them, or leaves one open that needs no quiet: `incorrect`.
"""
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DRAW = {"equivalent", "undecided"}
LIMITS = "\n[limits]\nplacements = 8\n"
REPEATS = 4
SECONDS = 240
UNSETTLED = 77


def ako(program: str, folder: Path, *words: str) -> dict:
    done = subprocess.run([program, "-C", str(folder), *words, "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if not done.stdout:
        sys.exit(f"ako {' '.join(words)}: exit {done.returncode}: {done.stderr[-600:]}")
    return json.loads(done.stdout)


def sources(example: Path, number: int) -> Path:
    """Folder of iteration `number`; 0 is the baseline that the task starts from."""
    if number == 0:
        return example / "input"
    (folder,) = (example / "iterations").glob(f"{number}-*")
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ako", required=True)
    parser.add_argument("example", type=Path)
    options = parser.parse_args()
    rows = sorted(ako(options.ako, options.example, "log")["data"]["rows"], key=lambda row: row["number"])
    recorded = {row["outcome"] for row in rows}
    missing = {"improved", "regressed", "incorrect"} - recorded
    if len(rows) < 5 or missing or not recorded & DRAW:
        sys.exit(f"the record of {options.example.name} holds {len(rows)} iterations and outcomes {sorted(recorded)}: "
                 "at least five are due, with improved, a draw, regressed and incorrect among them")
    incumbent, failures, again, unsettled = 0, 0, 0, 0
    end = time.monotonic() + SECONDS
    with tempfile.TemporaryDirectory(prefix="ako-replay-") as temporary:
        task = Path(temporary) / options.example.name
        shutil.copytree(options.example, task, ignore=shutil.ignore_patterns("record"))
        contract = task / "task.toml"
        contract.write_text(contract.read_text() + LIMITS)
        for row in rows:
            entry = next(sources(options.example, row["number"]).glob("*.cpp")).name
            old = sources(options.example, incumbent) / entry
            shutil.copy(old, task / "old.cpp")
            shutil.copy(sources(options.example, row["number"]) / entry, task / "solution" / entry)
            for attempt in range(1 + REPEATS):  # a machine that was not quiet settles nothing
                reply = ako(options.ako, task, "compare", "old.cpp", f"solution/{entry}")
                still_open = reply["fault"] == "machine" or (reply["outcome"] == "undecided" and row["outcome"] in {"improved", "regressed"})
                if not still_open or attempt == REPEATS or time.monotonic() > end:
                    break
                again += 1
            if still_open:
                unsettled += 1
                failures += row["outcome"] == "incorrect"
                print(f"UNKNOWN {row['number']}  recorded {row['outcome']:<11} the machine was never quiet enough: {reply['outcome']}")
                incumbent = row["number"] if row["decision"] == "keep" else incumbent
                continue
            outcome = reply["outcome"]
            same = outcome == row["outcome"] or (row["outcome"] in DRAW and outcome in DRAW)
            failures += not same
            verdict = (reply["data"] or {}).get("verdict") or {}
            gain = verdict.get("gain")
            print(f"{'ok' if same else 'FAILED':<7} {row['number']}  recorded {row['outcome']:<11} again {outcome}"
                  + (f"  gain {100 * gain:+.1f} %" if verdict.get("placements") else "")
                  + ("" if same else f"  {(verdict.get('outcome') or {}).get('reason') or reply['error']}"))
            if row["decision"] == "keep":
                incumbent = row["number"]
    if 2 * unsettled > len(rows):
        failures += 1
        print("FAILED  too few are settled for a replay to say anything")
    print(f"{len(rows) - failures - unsettled} of {len(rows)} recorded outcomes reached again, {unsettled} not settled; "
          f"{again} runs repeated on a busy machine")
    return 1 if failures else UNSETTLED if unsettled else 0


if __name__ == "__main__":
    sys.exit(main())
