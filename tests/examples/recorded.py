#!/usr/bin/env python3
"""The records that finished examples ship hold together: nothing is measured.

    recorded.py --ako PATH EXAMPLE_DIR...

Of each: `ako verify` passes, a changed copy of the record does not, and the sources under iterations/N-name/ are byte for byte
those whose hashes the record holds.
"""
import argparse
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path


def ako(program, folder, *words):
    done = subprocess.run([program, "-C", str(folder), *words, "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if not done.stdout:
        sys.exit(f"ako {' '.join(words)}: exit {done.returncode}: {done.stderr[-600:]}")
    return json.loads(done.stdout)


def copy_of(example, place):
    shutil.copytree(example, place)
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    return place


def wrong_sources(program, task):
    """What is not as recorded, and how many files were looked at."""
    wrong, seen = [], 0
    for row in ako(program, task, "log", "--all")["data"]["rows"]:
        recorded = ako(program, task, "show", str(row["number"]))["data"]["iteration"]["snapshot"]["files"]
        folders = list((task / "iterations").glob(f"{row['number']}-*"))
        if len(folders) != 1:
            wrong.append(f"iteration {row['number']}: {len(folders)} folders")
            continue
        for file in recorded:
            path = folders[0] / Path(file["path"]).name
            seen += 1
            if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != file["hash"]:
                wrong.append(f"{path.relative_to(task)} is not {file['path']} of iteration {row['number']}")
    return wrong, seen


def check(program, example, top):
    task = copy_of(example, top / example.name)
    verified = ako(program, task, "verify")
    failures = [] if verified["exit"] == 0 and verified["data"]["events"] > 0 else [f"verify: {verified['error']}"]
    wrong, seen = wrong_sources(program, task)
    failures += wrong if seen else ["the record names no source at all"]
    # The check itself must be able to fail: one word of the record, one byte of a source.
    spoilt = copy_of(example, top / f"{example.name}-spoilt")
    with sqlite3.connect(spoilt / "record/ledger.sqlite") as db:
        db.execute("DROP TRIGGER event_no_update")
        db.execute("UPDATE event SET json = replace(json, 'hypothesis', 'hypothesys') WHERE kind = 'iteration'")
    db.close()
    if ako(program, spoilt, "verify")["exit"] != 14:
        failures.append("a changed record verifies")
    source = next((task / "iterations").glob("1-*/*.cpp"))
    source.write_text(source.read_text() + "\n")
    if not wrong_sources(program, task)[0]:
        failures.append("a changed source goes unnoticed")
    print(f"{example.name}: {verified['data']['events'] if verified['data'] else 0} events, {seen} sources: "
          + ("as recorded" if not failures else "; ".join(failures)))
    return not failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ako", required=True)
    parser.add_argument("examples", type=Path, nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ako-recorded-") as top:
        good = [check(options.ako, example, Path(top)) for example in options.examples]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
