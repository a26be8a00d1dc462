#!/usr/bin/env python3
"""Holds a release to its promise: it runs from any folder on any Linux with glibc 2.34.

    portable.py --source DIR --build DIR [--cmake CMAKE]   installs the build apart, moves it and checks what is there
    portable.py --source DIR --prefix DIR                  checks an unpacked release

Every program and library may need glibc's own libraries alone, at symbol versions up to the floor, and may name no
folder to search. What the sources promise must be there: a missing program is an error, never a skipped check.
Exit 0 when the promise holds.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

FLOOR = (2, 34)
GLIBC = re.compile(r"^(libc|libm|libdl|libpthread|librt|libutil|libresolv)\.so\.\d+$|^ld-linux[\w-]*\.so\.\d+$")


def readelf(path, *words):
    return subprocess.run(["readelf", "-W", *words, str(path)], capture_output=True, text=True, check=True).stdout


def elf_problems(path):
    """What keeps one program or library from running elsewhere."""
    problems = []
    dynamic = readelf(path, "-d")
    for needed in re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic):
        if not GLIBC.match(needed):
            problems.append(f"{path.name} needs {needed}; allowed: glibc alone")
    for kind, folder in re.findall(r"\((RPATH|RUNPATH)\).*\[(.*?)\]", dynamic):
        problems.append(f"{path.name} searches {folder} ({kind}); allowed: no folder")
    for version in sorted(set(re.findall(r"GLIBC_(\d+(?:\.\d+)+)", readelf(path, "-V")))):
        if tuple(map(int, version.split(".")))[:2] > FLOOR:
            names = re.findall(rf"\sUND\s+(\S+?)@GLIBC_{re.escape(version)}\b", readelf(path, "--dyn-syms"))
            problems.append(f"{path.name} needs GLIBC_{version} for {', '.join(sorted(names)) or '?'}; "
                            f"allowed: up to GLIBC_{FLOOR[0]}.{FLOOR[1]}")
    return problems


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def promised(source):
    """The files that a release of these sources must hold, by its folder."""
    files = ["include/ako/measure.h", "share/doc/ako/LICENSE"]
    if (source / "src/cli").is_dir():
        files.append("bin/ako")
    if (source / "src/child").is_dir():
        files += ["bin/ako-child", "lib/libako_measure.so"]
    if (source / "python").is_dir():
        files += ["lib/libako_worker.so.1", "share/ako/python/ako_worker/__main__.py"]
    for folder in ("templates", "references", "examples"):
        if (source / folder).is_dir():
            files.append(f"share/ako/{folder}")
    return files


def starts(program, *words):
    """Runs a program with an empty environment; the problem, or nothing."""
    try:
        run = subprocess.run([str(program), *words], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
                             timeout=60, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"{program.name} does not start: {error}"]
    if run.returncode != 0 or not run.stdout:
        return [f"{program.name} {' '.join(words)} ended with {run.returncode}: {run.stderr.strip()[:200]}"]
    return []


def problems_of(source, prefix):
    problems = [f"{name} is missing from the release" for name in promised(source) if not (prefix / name).exists()]
    elves = [path for folder in ("bin", "lib") if (prefix / folder).is_dir()
             for path in sorted((prefix / folder).rglob("*")) if path.is_file() and is_elf(path)]
    for path in elves:
        problems += elf_problems(path)
    if (prefix / "bin/ako").exists():
        problems += starts(prefix / "bin/ako", "--help")
    print(f"portable: {len(elves)} programs and libraries looked at")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--prefix", type=pathlib.Path)
    parser.add_argument("--cmake", default="cmake")
    words = parser.parse_args()
    if (words.build is None) == (words.prefix is None):
        parser.error("give one of --build and --prefix")
    with tempfile.TemporaryDirectory() as folder:
        prefix = words.prefix
        if prefix is None:
            first, prefix = pathlib.Path(folder) / "first", pathlib.Path(folder) / "moved elsewhere ü"
            install = subprocess.run([words.cmake, "--install", str(words.build), "--prefix", str(first),
                                      "--component", "release"], capture_output=True, text=True)
            if install.returncode != 0:
                print(f"portable: the build cannot be installed: {install.stderr.strip()[-500:]}")
                return 1
            first.rename(prefix)
        problems = problems_of(words.source, prefix)
    for problem in problems:
        print(f"portable: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
