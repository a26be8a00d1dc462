#!/usr/bin/env python3
"""How long the commands themselves take on a ledger of 100,000 iterations, and how much memory: real processes, from their
start to their end, in a task whose git history holds a commit for every iteration.

    bench/ledger/commands.py [--bin build/release/bin] [--iterations 100000] [--runs 21]

One TSV line a command, as `bench_ledger` prints; memory is the largest resident set of the command or of a process that it
started. Exit 2 when `ako status` or `ako log` takes more than 50 ms in the median or more than 60 MB.
"""
import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWED_MS, ALLOWED_MB = 50, 60
COMMANDS = (("status",), ("log",), ("show", "77"), ("log", "--all"), ("verify",))
BOUNDED = (("status",), ("log",))


def commits(task, ledger):
    """The commits that the iterations would have made, with the trailers that name the ledger's heads."""
    with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True) as db:
        heads = db.execute("SELECT hash FROM event WHERE kind = 'iteration' ORDER BY seq").fetchall()
    who = "ako <ako@localhost>"
    with subprocess.Popen(["git", "-C", str(task), "fast-import", "--quiet"], stdin=subprocess.PIPE) as into:
        for number, (head,) in enumerate(heads, 1):
            words = f"[iter {number}] attempt {number}\n\nAko-Ledger-Head: {head}\n".encode()
            text = f"{number}\n".encode()
            into.stdin.write(b"commit refs/heads/main\ncommitter %s %d +0000\ndata %d\n%s" %
                             (who.encode(), 1700000000 + number, len(words), words))
            if number == 1:
                into.stdin.write(b"from refs/heads/main^0\n")
            into.stdin.write(b"M 100644 inline ITERATIONS.md\ndata %d\n%s\n" % (len(text), text))
        into.stdin.close()
    if into.returncode != 0:
        sys.exit("git fast-import failed")
    subprocess.run(["git", "-C", str(task), "reset", "-q", "--hard"], check=True)


def run(program, task, words):
    """(ms, MB) of one process."""
    with open(task.parent / "answer", "wb") as answer:
        begin = time.monotonic()
        process = subprocess.Popen([program, *words], cwd=task, stdout=answer, stdin=subprocess.DEVNULL)
        _, ended, used = os.wait4(process.pid, 0)
        spent = 1e3 * (time.monotonic() - begin)
    process.returncode = os.waitstatus_to_exitcode(ended)
    if process.returncode != 0 or (task.parent / "answer").stat().st_size == 0:
        sys.exit(f"ako {' '.join(words)} gave no answer: exit {process.returncode}")
    return spent, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin")
    parser.add_argument("--iterations", type=int, default=100000)
    parser.add_argument("--runs", type=int, default=21)
    options = parser.parse_args()
    program = str((options.bin / "ako").resolve())
    maker = str((options.bin / "bench_ledger").resolve())
    with tempfile.TemporaryDirectory(prefix="ako-commands-") as top:
        os.environ.update({"HOME": top, "XDG_CACHE_HOME": f"{top}/cache", "GIT_CONFIG_NOSYSTEM": "1"})
        task = Path(top) / "task"
        subprocess.run([program, "new", "task"], cwd=top, check=True, stdout=subprocess.DEVNULL)
        places = task / ".git/ako/task"
        places.mkdir(parents=True, exist_ok=True)
        for old in places.glob("ledger.sqlite*"):
            old.unlink()
        subprocess.run([maker, str(options.iterations), "0", str(places)], check=True)
        commits(task, places / "ledger.sqlite")
        met = True
        print("command\titerations\truns\tmedian_ms\tworst_ms\tpeak_rss_mb\tallowed_ms\tallowed_mb")
        for words in COMMANDS:
            runs = 1 if words == ("verify",) else 3 if words == ("log", "--all") else options.runs
            costs = [run(program, task, words) for _ in range(runs)]
            times = sorted(ms for ms, _ in costs)
            median, memory = times[len(times) // 2], max(mb for _, mb in costs)
            bounded = words in BOUNDED
            print(f"{' '.join(words)}\t{options.iterations}\t{runs}\t{median:.1f}\t{times[-1]:.1f}\t{memory:.1f}\t"
                  + (f"{ALLOWED_MS}\t{ALLOWED_MB}" if bounded else "-\t-"), flush=True)
            met = met and (not bounded or (median <= ALLOWED_MS and memory <= ALLOWED_MB))
    return 0 if met else 2


if __name__ == "__main__":
    sys.exit(main())
