#!/usr/bin/env python3
"""Holds the sources to the rules of the house. Standard library alone.

    lint.py [--root DIR] [CHECK...]        checks: layers sizes format words (all by default)

Prints one line per finding, "FILE:LINE: CHECK: what". Exit 0 without errors (warnings are printed), 1 with errors, 2
when it was called wrongly.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import functions

# The rooms and their levels; "c" is the child side. Folders of one level do not see one another.
LEVELS = {
    "base": 0, "model": 1, "arch": 2, "stats": 2, "inputs": 2,
    "judge": 3, "profiles": 3, "exchange": 3, "guides": 3,
    "lanes": 4, "executors": 4, "workspace": 4, "ledger": 4, "client": 4,
    "evaluation": 5, "loop": 6, "tune": 6, "report": 7, "cli": 8, "mcp": 8, "drive": 8,
    "child": "c", "protocol": "c", "measure": "c", "keeper": "c", "worker": "c",
    "launch": "c", "device": "c",
}
CHILD_SEES = {"base", "model", "inputs", "child", "protocol", "measure", "keeper", "worker", "launch", "device"}
CHILD_PARTS = {"protocol", "measure", "keeper", "worker", "launch", "device"}

FILE_WARN, FILE_FAIL = 400, 800
FUNCTION_WARN, FUNCTION_FAIL = 50, 80

SOURCES = {".cpp", ".hpp", ".c", ".h", ".cu", ".cuh"}
# Texts checked for words; a file of any other kind is data.
TEXTS = SOURCES | {".py", ".md", ".txt", ".cmake", ".toml", ".json", ".sh", ".sql", ".css", ".js", ".html", ""}
# What the project says of itself must hold on any machine. Each pattern is written so that it does not match itself.
WORDS = [
    (re.compile(r"/wor[k]/(?!\w*\$)[\w.]"), "a path of one machine"),
    (re.compile(r"/(?:home)/[a-z][\w-]*/"), "a path of one machine"),
    (re.compile(r"/tmp/(?:b-|house|pla[n]|bash_)"), "a path of one machine"),
    (re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b"), "a promise instead of the thing"),
    (re.compile(r"\bfor n[o]w\b", re.I), "a promise instead of the thing"),
    (re.compile(r"\bnot (?:yet )?im[p]lemented\b", re.I), "a promise instead of the thing"),
]
EXEMPT_TREES = ("references/", "examples/", "tests/golden/", "build/", "dist/", ".git/", "tests/lint/planted/")

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


class Findings:
    def __init__(self):
        self.errors = 0

    def error(self, where, check, what):
        self.errors += 1
        print(f"{where}: {check}: {what}")

    def warn(self, where, check, what):
        print(f"{where}: warning: {check}: {what}")


def tracked(root):
    """The files git knows or would add; the whole tree where there is no git."""
    try:
        out = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, check=True).stdout.decode()
        names = [name for name in out.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    return sorted(name for name in set(names) if not name.startswith(EXEMPT_TREES) and (root / name).is_file())


def room_of(name):
    """The room a source belongs to, or None outside src/. Parts of the child side are rooms of their own."""
    parts = pathlib.PurePosixPath(name).parts
    if len(parts) < 3 or parts[0] != "src":
        return None
    return parts[2] if parts[1] == "child" and len(parts) > 3 else parts[1]


def may_see(room, used):
    if used == room:
        return True
    mine, theirs = LEVELS[room], LEVELS[used]
    if mine == "c":
        return used in CHILD_SEES
    if theirs == "c":
        return room == "client" and used == "protocol"
    return theirs < mine


def check_layers(root, names, findings):
    for name in names:
        if not name.startswith("src/"):
            continue
        room = room_of(name)
        if room is None:
            continue
        if room not in LEVELS or (LEVELS[room] == "c") != name.startswith("src/child/"):
            findings.error(name, "layers", f"'{room}' is no room of the house")
            continue
        if pathlib.Path(name).suffix not in SOURCES:
            continue
        for number, line in enumerate(read(root / name).splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target, where = match.group(2), f"{name}:{number}"
            if ".." in target.split("/"):
                findings.error(where, "layers", f'"{target}" climbs out of its folder')
                continue
            first = target.split("/")[0]
            used = target.split("/")[1] if first == "child" and target.count("/") > 1 else first
            if "/" in target and used in LEVELS and not may_see(room, used):
                findings.error(where, "layers", f"'{room}' (level {LEVELS[room]}) may not include '{used}' "
                                                f"(level {LEVELS[used]})")


def check_sizes(root, names, findings):
    for name in names:
        if pathlib.Path(name).suffix not in SOURCES | {".py"}:
            continue
        text = read(root / name)
        lines = text.count("\n")
        if lines > FILE_FAIL:
            findings.error(name, "sizes", f"{lines} lines; allowed: {FILE_FAIL}")
        elif lines > FILE_WARN:
            findings.warn(name, "sizes", f"{lines} lines; aim below {FILE_WARN}")
        found = functions.python(text) if name.endswith(".py") else functions.cpp(text)
        for title, start, length in found:
            if length > FUNCTION_FAIL:
                findings.error(f"{name}:{start}", "sizes", f"{title}: {length} lines; allowed: {FUNCTION_FAIL}")
            elif length > FUNCTION_WARN:
                findings.warn(f"{name}:{start}", "sizes", f"{title}: {length} lines; aim below {FUNCTION_WARN}")


def check_format(root, names, findings):
    own = [n for n in names if pathlib.Path(n).suffix in {".cpp", ".hpp", ".h", ".c"}
           and n.startswith(("src/", "include/", "tests/", "bench/", "cmake/", "tools/"))]
    batches = [own[i::8] for i in range(8) if own[i::8]]

    def dry_run(batch):
        return subprocess.run(["clang-format", "--dry-run", "--style=file", *batch], cwd=root, capture_output=True,
                              text=True)

    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            results = list(pool.map(dry_run, batches))
    except FileNotFoundError:
        findings.error("clang-format", "format", "is not installed; run scripts/setup")
        return
    for result in results:
        if result.returncode != 0:
            findings.error("clang-format", "format", result.stderr.strip()[:300])
        seen = set()
        for match in re.finditer(r"^(.+?):(\d+):\d+: warning: code should be clang-formatted", result.stderr, re.M):
            if match.group(1) not in seen:  # one line per file is enough to act on
                seen.add(match.group(1))
                findings.error(f"{match.group(1)}:{match.group(2)}", "format", "run clang-format -i on this file")


def check_words(root, names, findings):
    for name in names:
        if pathlib.Path(name).suffix not in TEXTS or (root / name).stat().st_size > 1 << 20:
            continue
        for number, line in enumerate(read(root / name).splitlines(), 1):
            for pattern, why in WORDS:
                match = pattern.search(line)
                if match:
                    findings.error(f"{name}:{number}", "words", f"'{match.group(0)}' is {why}")


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


CHECKS = {"layers": check_layers, "sizes": check_sizes, "format": check_format, "words": check_words}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("checks", nargs="*")
    words = parser.parse_args()
    unknown = [check for check in words.checks if check not in CHECKS]
    if unknown:
        parser.error(f"unknown check '{unknown[0]}'; allowed: {' '.join(CHECKS)}")
    names, findings = tracked(words.root), Findings()
    if not any(name.startswith("src/") for name in names):
        print(f"{words.root}: no sources below src/: nothing would be checked")
        return 1
    for check in words.checks or CHECKS:
        CHECKS[check](words.root, names, findings)
    print(f"lint: {len(names)} files, {findings.errors} errors")
    return 1 if findings.errors else 0


if __name__ == "__main__":
    sys.exit(main())
