#!/usr/bin/env python3
"""The chart of a report as a file of its own, as the README shows it.

    picture.py REPORT.html OUT.svg

Takes the first chart and the style rules that it uses; light and dark follow the reader's setting.
"""
import re
import sys
from pathlib import Path


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    page = Path(sys.argv[1]).read_text()
    chart = re.search(r'<svg class="chart".*?</svg>', page, re.S)
    style = re.search(r"<style>(.*?)</style>", page, re.S)
    if not chart or not style:
        sys.exit(f"{sys.argv[1]} holds no chart: a report of at least one iteration has one")
    rules = "\n".join(re.findall(r"\.chart[^{}]*\{[^{}]*\}", style[1])) + "\ntext{font-family:system-ui,sans-serif}"
    # Not every viewer knows variables: each setting gets its colours spelled out.
    light, dark = (dict(re.findall(r"--(\w+):([^;}]+)", line)) for line in re.findall(r"^.*:root\{[^}]*\}", style[1], re.M)[:2])
    spelled = lambda colours: re.sub(r"var\(--(\w+)\)", lambda m: colours[m[1]], rules)
    css = f"{spelled(light)}\n@media (prefers-color-scheme:dark){{{spelled(dark)}}}"
    svg = chart[0].replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    svg = re.sub(r"(<svg[^>]*>)", lambda m: f"{m[1]}<style>{css}</style>", svg, count=1)
    Path(sys.argv[2]).write_text(svg + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
