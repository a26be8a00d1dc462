#!/usr/bin/env python3
"""Names in the documents must exist: files, culprits and test cases between back quotes.

    names.py [--root DIR] [--culprits LANE] DOCUMENT...

A name with a slash or a source suffix is a file of the repository, or a culprit (tests/culprits/cpu/NAME.cpp, or
tests/culprits/NAME.cu with the lane's folder in front); a word
that is the name of a culprit's file in DOCUMENTs with culprits is one; Suite.Case is a GoogleTest case. In a table whose
last column is headed "shown by" every row names at least one culprit or case. With --culprits every culprit of that lane
is named in one of the documents. Exit 1 when something is missing, with its line.
"""
import argparse
import pathlib
import re
import sys

QUOTED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"^[\w.+-]+(/[\w.+-]+)+/?$|^[\w-]+\.(?:py|cpp|hpp|md|toml)$")
CASE = re.compile(r"^[A-Z]\w+\.[A-Z]\w+$")
CULPRIT_ROW = re.compile(r"^\|.*\|\s*((?:`[^`]+`\s*)+)\|\s*$")


def cases(root):
    """Every Suite.Case of the tests."""
    found = set()
    for path in (root / "tests").rglob("*.cpp"):
        for suite, case in re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", path.read_text(errors="replace")):
            found.add(f"{suite}.{case}")
    return found


def is_there(root, name, known_cases, culprit):
    if CASE.match(name):
        return name in known_cases
    culprits = root / "tests/culprits"
    if (culprits / "cpu" / f"{name}.cpp").is_file() or (culprits / f"{name}.cu").is_file():
        return True
    if culprit:
        return False
    return (root / name).exists() or name == "NAME.honest.cpp"


def missing(root, document):
    """(line, name) of each name that is nowhere. The last cell of a table row holds culprits and cases alone."""
    known = cases(root)
    for number, line in enumerate(document.read_text().split("\n"), 1):
        row = CULPRIT_ROW.match(line)
        shown = set(QUOTED.findall(row.group(1))) if row else set()
        for name in QUOTED.findall(line):
            if name in shown:
                if not is_there(root, name, known, culprit=True):
                    yield number, name
            elif (FILE.match(name) or CASE.match(name)) and not is_there(root, name, known, culprit=False):
                yield number, name


def unshown(document):
    """Lines of rows that no test stands behind, in tables headed "shown by"."""
    inside = False
    for number, line in enumerate(document.read_text().split("\n"), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[-1] == "shown by":
            inside = True
        elif inside and not set(cells[-1]) <= set("-: ") and not CULPRIT_ROW.match(line):
            yield number
        elif inside and not cells[-1]:
            yield number


def culprits_of(root, lane):
    """Their names, as documents write them: of the host without the lane's folder. Twins are not among them."""
    folder = root / "tests/culprits" / lane
    prefix = "" if lane == "cpu" else lane + "/"
    for path in sorted([*folder.glob("*.c*"), *folder.glob("*/*.c*")]):
        name = path.relative_to(folder).with_suffix("").as_posix()
        if path.suffix in (".cpp", ".cu") and not name.endswith(".honest"):
            yield prefix + name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--culprits", metavar="LANE", action="append", default=[])
    parser.add_argument("documents", nargs="+", type=pathlib.Path)
    given = parser.parse_args()
    bad = 0
    for document in given.documents:
        for number, name in missing(given.root, given.root / document):
            print(f"{document}:{number}: names: {name} is nowhere")
            bad += 1
        for number in unshown(given.root / document):
            print(f"{document}:{number}: names: no culprit and no test case shows this")
            bad += 1
    named = {name for document in given.documents for name in QUOTED.findall((given.root / document).read_text())}
    for name in (name for lane in given.culprits for name in culprits_of(given.root, lane)):
        if name not in named:
            print(f"tests/culprits: names: {name} is in no document")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
