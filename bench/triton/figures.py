"""figures.py OUT: the lane's figures from what run.sh left in OUT, each with its bound."""
import json
import pathlib
import sys


def read(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def said(value, bound, holds):
    return f"{value}   (bound {bound}: {'holds' if holds else 'MISSED'})"


def native(out):
    for cache in ("warm", "cold"):
        reply = read(out / "native" / f"{cache}.json")
        if reply is None:
            continue
        verdict = reply["data"].get("verdict", {}) if reply.get("data") else {}
        print(f"one cubin, launched by Triton and from C++, {cache}: {reply['outcome']}")
        for shape in verdict.get("shapes", []):
            triton, own = shape["old_ns"], shape["new_ns"]
            off = triton / own - 1
            print(f"  {shape['tag']:<12} Triton {triton / 1000:9.3f} us   C++ {own / 1000:9.3f} us   "
                  + said(f"{off:+.2%}", "2 %", abs(off) <= 0.02))
    usual = out / "native" / "usual.txt"
    if usual.exists():
        print("the usual tools on the same kernel in the same run, microseconds:\n  "
              + usual.read_text().strip().replace("\n", "\n  "))


def verdict(out):
    wall = out / "verdict" / "wall.txt"
    for line in wall.read_text().splitlines() if wall.exists() else []:
        run = line.split("run ")[1].split(":")[0]
        seconds = float(line.rsplit(",", 1)[1].split()[0])
        reply = read(out / "verdict" / f"try-{run}.json")
        if reply is None or not reply.get("data"):
            print(f"saved file to first verdict, run {run}: no verdict")
            continue
        data = reply["data"]
        timing, resources = data["timing"], data["resources"]
        importing = resources.get("import_ns", 0) / 1e9
        print(f"saved file to first verdict over {len(data['verdict']['shapes'])} shapes, run {run}: {reply['outcome']}, "
              + said(f"{seconds:.1f} s", "15 s without a warm pool", seconds <= 15))
        print(f"  building {timing['build_seconds']:.1f} s, starting {timing['load_ns'] / 1e9:.1f} s (of it importing torch and "
              f"Triton {importing:.1f} s, {importing / seconds:.0%} of all), judging {timing['judge_ns'] / 1e9:.1f} s, "
              f"measuring {timing['measure_ns'] / 1e9:.1f} s")


def loops(out):
    for folder in sorted(out.glob("loop=*")):
        print(f"{folder.name.split('=')[1]}:")
        for path in sorted(folder.glob("*/try-*.json")):
            reply = read(path)
            found = (reply or {}).get("data") or {}
            numbers = found.get("verdict", {})
            gain = f"{numbers['gain']:+8.2%} [{numbers['interval']['low']:+.2%}, {numbers['interval']['high']:+.2%}]" \
                if numbers.get("placements") else ""
            print(f"  {path.stem[4:]:<24} {(reply or {}).get('outcome') or 'nothing'!s:<14} {found.get('decision', ''):<8} {gain}")


def main():
    out = pathlib.Path(sys.argv[1])
    for part in (native, verdict, loops):
        part(out)
    for name in ("library/library.txt",):
        if (out / name).exists():
            print((out / name).read_text().strip())


if __name__ == "__main__":
    main()
