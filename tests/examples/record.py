#!/usr/bin/env python3
"""Makes the record that a finished example of the cpu lane ships. For a quiet machine; takes some minutes.

    record.py --ako PATH EXAMPLE_DIR [--write]

Runs the steps of steps.txt in a copy of the task: check, reading, baseline, then every `ako try`. A step whose measurement the
machine disturbed is on record as such: all of it is then begun anew, ATTEMPTS times in all. The record is good when improved,
equivalent and regressed are among the outcomes and a candidate was incorrect at a shape that the contract does not name (a
tail). Then, with --write, record/ is made anew from it: ledger.sqlite, ITERATIONS.md, report.md. Exit 1: it is not good, and what
is there stays.
"""
import argparse
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 8
ATTEMPTS = 3
TAIL = "edge:"


class Disturbed(Exception):
    pass


def ako(program, folder, *words):
    for _ in range(REPEATS):
        done = subprocess.run([program, "-C", str(folder), *words, "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if not done.stdout:
            sys.exit(f"ako {' '.join(words)}: exit {done.returncode}: {done.stderr[-600:]}")
        reply = json.loads(done.stdout)
        if words[0] == "try" and reply["data"] and reply["fault"] == "machine":
            raise Disturbed(reply["data"]["verdict"]["outcome"]["reason"])
        if reply["fault"] != "machine":
            break
    if reply["fault"] == "machine" or reply["error"]:
        sys.exit(f"ako {' '.join(words)}: {reply['outcome'] or reply['error']}")
    return reply


def git(folder, *words):
    subprocess.run(["git", "-C", str(folder), "-c", "user.name=ako", "-c", "user.email=ako@localhost", *words], check=True)


def run_steps(program, example, task):
    shutil.copytree(example, task, ignore=shutil.ignore_patterns("record"))
    git(task, "init", "-q", "-b", "main")
    git(task, "add", "-A")
    git(task, "commit", "-qm", "the task as it starts")
    ako(program, task, "check")
    ako(program, task, "refs", "read", "--required")
    ako(program, task, "baseline")
    outcomes = []
    for step in (task / "steps.txt").read_text().splitlines():
        folder, hypothesis, cites = step.split("|")
        for source in (task / "iterations" / folder).glob("*.cpp"):
            shutil.copy(source, task / "solution")
        reply = ako(program, task, "try", "--hypothesis", hypothesis, "--cites", cites)
        outcome = reply["data"]["verdict"]["outcome"]
        outcomes.append((outcome["kind"], outcome["reason"]))
        print(f"{len(outcomes)}  {outcome['kind']:<11} {outcome['reason'][:150]}", flush=True)
    return outcomes


def lacking(outcomes):
    kinds = {kind for kind, _ in outcomes}
    out = sorted({"improved", "equivalent", "regressed"} - kinds)
    if not any(kind == "incorrect" and TAIL in reason for kind, reason in outcomes):
        out.append("incorrect at a tail")
    return out


def write(task, record):
    (ledger,) = (task / ".git/ako").glob("*/ledger.sqlite")
    record.mkdir(exist_ok=True)
    (record / "ledger.sqlite").unlink(missing_ok=True)
    with sqlite3.connect(ledger) as db:
        db.execute("VACUUM INTO ?", (str(record / "ledger.sqlite"),))
    db.close()
    for name in ("ITERATIONS.md", "report.md"):
        shutil.copy(task / name, record)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ako", required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("example", type=Path)
    options = parser.parse_args()
    program = str(Path(options.ako).resolve())
    with tempfile.TemporaryDirectory(prefix="ako-record-") as top:
        for attempt in range(ATTEMPTS):
            task = Path(top) / str(attempt) / options.example.name
            try:
                outcomes = run_steps(program, options.example, task)
                break
            except Disturbed as disturbed:
                print(f"disturbed: {disturbed}", flush=True)
        else:
            print("no record is made: the machine was never quiet for long enough")
            return 1
        lacks = lacking(outcomes)
        if lacks:
            print(f"no record is made: {', '.join(lacks)} is missing among the outcomes")
            return 1
        ako(program, task, "verify")
        ako(program, task, "report")
        if options.write:
            write(task, options.example / "record")
            print(f"made anew: {options.example}/record")
    return 0


if __name__ == "__main__":
    sys.exit(main())
