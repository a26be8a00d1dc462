"""unpack.py CAPTURES TARGET: sorts what capture.sh packed into <name>.{raw,details}.csv and a manifest.

The half that a capture belongs to (tune or report) is decided by the SHA-256 of its name alone.
"""
import csv
import hashlib
import pathlib
import shutil
import subprocess
import sys

source, target = map(pathlib.Path, sys.argv[1:3])
here = pathlib.Path(__file__).parent
known = {}
lists = [subprocess.run([source.parent / "planted", "--list"], capture_output=True, text=True).stdout,
         subprocess.run([sys.executable, here / "plants_python.py", "--list"], capture_output=True, text=True).stdout]
for line in "".join(lists).splitlines():
    name, finding, kind = line.split()
    known[name] = (finding, kind)
target.mkdir(parents=True, exist_ok=True)
rows = []
for part in ("cuda_one", "cuda_two", "python"):
    launched = [l.split()[1] for l in (source / f"{part}.log").read_text().splitlines() if l.startswith("launched ")]
    kernels = list(csv.DictReader((source / f"{part}.raw.csv").open()))[1:]
    assert len(kernels) == len(launched), (part, len(kernels), len(launched))
    for index, (name, kernel) in enumerate(zip(launched, kernels)):
        for page in ("raw", "details"):
            shutil.copy(source / part / f"{index}.{page}.csv", target / f"{name}.{page}.csv")
        half = "tune" if hashlib.sha256(name.encode()).hexdigest()[0] < "8" else "report"
        rows.append([name, *known[name], half, kernel["Kernel Name"]])
with (target / "manifest.csv").open("w") as out:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "planted", "kind", "half", "kernel"])
    writer.writerows(sorted(rows))
