#!/usr/bin/env python3
"""Holds the reference library to its rules, compiles its snippets and lists its sources.

    check.py [--root DIR]             checks guides and snippets, writes references/SOURCES.md
    check.py [--root DIR] --check     the same, but SOURCES.md must be up to date already
    check.py ... --snippets none|host|cuda|all     which snippets to compile (default: all)
    check.py ... --only ID[,ID]       snippets of these guides alone

A guide is references/<id>.md, so ids are unique by their names. Its front matter is the small part of YAML that `parse_front_matter` reads. A snippet is
compiled when its fence says so:

    ```cuda compile arch=sm_80,sm_90a      nvcc -std=c++20 -fatbin, once for each architecture
    ```cpp compile                         g++ -std=c++20 -fsyntax-only
    ```python compile                      python -m py_compile
    ```python compile run                  python, so that its assertions count

Exit 0 when all holds, 1 when something does not, 77 when `--snippets cuda` found no nvcc and so did nothing.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LANES = {"any", "cuda", "cutlass", "triton", "cute-dsl", "cpu"}
KEYS = ["id", "title", "lanes", "architectures", "families", "findings", "sources", "last_checked", "versions"]
SOURCE_KEYS = ["title", "publisher", "section", "url", "checked"]
SECTIONS = ["When to use", "When not", "How", "Signs of failure", "What to measure"]
LINES = (80, 250)
NOT_GUIDES = {"SOURCES.md", "MEASURED.md", "README.md"}
DATE = re.compile(r"\d{4}-\d{2}-\d{2}$")
SKIPPED = 77


class Broken(Exception):
    pass


def scalar(text):
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    return text


def split_top(text):
    """Splits at commas that stand outside quotes."""
    parts, part, quoted = [], "", False
    for c in text:
        quoted ^= c == '"'
        if c == "," and not quoted:
            parts.append(part)
            part = ""
        else:
            part += c
    return [p for p in (*parts, part) if p.strip()]


def flow_map(text):
    result = {}
    for part in split_top(text):
        key, colon, value = part.partition(":")
        if not colon:
            raise Broken(f"'{part.strip()}' is no `key: value`")
        result[key.strip()] = scalar(value)
    return result


def parse_front_matter(text):
    """`key: value`, `key: [a, b]`, and under a bare `key:` items `  - {key: value, ...}`. Returns (values, body)."""
    if not text.startswith("---\n") or "\n---\n" not in text:
        raise Broken("no front matter between two lines of ---")
    head, body = text[4:].split("\n---\n", 1)
    values, last = {}, None
    for line in head.splitlines():
        item = re.match(r"\s+- \{(.*)\}\s*$", line)
        if item and isinstance(values.get(last), list):
            values[last].append(flow_map(item[1]))
            continue
        entry = re.match(r"([a-z_]+):\s*(.*)$", line)
        if not entry:
            raise Broken(f"front matter line not understood: {line.strip()[:80]}")
        last, value = entry[1], entry[2].strip()
        if value.startswith("["):
            if not value.endswith("]"):
                raise Broken(f"{last}: the list must end on its line")
            values[last] = [scalar(v) for v in split_top(value[1:-1])]
        else:
            values[last] = scalar(value) if value else []
    return values, body


def source_problems(source, root):
    for key in SOURCE_KEYS:
        if not source.get(key):
            yield f"source '{source.get('title', '?')}' has no {key}"
    url = source.get("url", "")
    if url.startswith("project:"):
        if not (root / url[8:]).is_file():
            yield f"source {url}: there is no such file in this repository"
    elif not url.startswith(("https://", "toolkit:")):
        yield f"source url '{url}': allowed are https://, toolkit:PATH and project:PATH"
    checked = source.get("checked", "")
    if checked and not DATE.match(checked) and checked != "not reopened":
        yield f"source '{source.get('title')}': checked is '{checked}', allowed are a date and 'not reopened'"


def guide_problems(path, values, body, known, root):
    """Everything that is wrong with one guide, in words."""
    for key in KEYS:
        if key not in values:
            yield f"front matter lacks {key}"
    if values.get("id") != path.stem:
        yield f"id '{values.get('id')}' is not the file's name '{path.stem}'"
    for lane in values.get("lanes", []):
        if lane not in LANES:
            yield f"unknown lane '{lane}'; allowed: {', '.join(sorted(LANES))}"
    for one in values.get("architectures", []):
        if one != "any" and one not in known["architectures"]:
            yield f"unknown architecture '{one}'; src/arch has {', '.join(sorted(known['architectures']))}"
    for one in values.get("findings", []):
        if one not in known["findings"]:
            yield f"unknown finding '{one}'; src/profiles/playbook.cpp has no such id"
    if not DATE.match(str(values.get("last_checked", ""))):
        yield "last_checked is no date"
    sources = values.get("sources") or []
    if not sources:
        yield "no sources"
    for source in sources:
        yield from source_problems(source, root)
    lines = path.read_text().count("\n")
    if not LINES[0] <= lines <= LINES[1]:
        yield f"{lines} lines; allowed: {LINES[0]} to {LINES[1]}"
    headings = re.findall(r"^## (.+?)\s*$", body, re.M)
    for section in SECTIONS:
        if not any(h.startswith(section) for h in headings):
            yield f"no section '## {section}'"
    if body.count("\n```") % 2:
        yield "a code fence is not closed"


class Snippet:
    def __init__(self, path, line, language, words, text):
        self.path, self.line, self.language, self.text = path, line, language, text
        self.run = "run" in words
        self.arch = [a for w in words if w.startswith("arch=") for a in w[5:].split(",")]

    def __str__(self):
        return f"{self.path.name}:{self.line}"


def snippets_of(path):
    lines = path.read_text().splitlines()
    found, start = [], None
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if start is None:
            start = number
            continue
        words = lines[start - 1][3:].split()
        if "compile" in words[1:]:
            found.append(Snippet(path, start + 1, words[0], words[1:], "\n".join(lines[start:number - 1]) + "\n"))
        start = None
    return found


def find_nvcc():
    places = [os.environ.get("CUDACXX"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"]
    return next((p for p in places if p and pathlib.Path(p).is_file()), None)


def compile_snippet(snippet, nvcc, folder):
    """The compiler's complaint, or None."""
    suffix = {"cuda": ".cu", "cpp": ".cpp", "python": ".py"}.get(snippet.language)
    if not suffix:
        return f"language '{snippet.language}' cannot be compiled; allowed: cuda, cpp, python"
    file = pathlib.Path(folder) / f"{snippet.path.stem.replace('-', '_')}_{snippet.line}{suffix}"
    file.write_text(snippet.text)
    if snippet.language == "cuda":
        if not snippet.arch:
            return "a cuda snippet needs arch=sm_NN in its fence"
        # Host code is parsed and checked too; what is spared is g++ on it, half of the time.
        command = [nvcc, "-std=c++20", "-fatbin", "-o", str(file.with_suffix(".fatbin")), str(file)]
        for arch in snippet.arch:
            command.append(f"-gencode=arch=compute_{arch[3:]},code={arch}")
    elif snippet.language == "cpp":
        command = [os.environ.get("CXX", "g++"), "-std=c++20", "-Wall", "-Werror", "-fsyntax-only", str(file)]
    else:
        command = [sys.executable, *([] if snippet.run else ["-m", "py_compile"]), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    return None if done.returncode == 0 else (done.stderr + done.stdout)[-2000:]


def sources_text(guides):
    out = ["# Sources", "", "Generated by tools/references/check.py from the front matter of the guides; do not edit.",
           "The text of the guides is this project's own. `toolkit:` is a file of the installed CUDA toolkit, `project:` a file",
           "of this repository. *Not reopened*: named for the reader, not read again for this edition.", ""]
    for guide in guides:
        out += [f"## {guide['title']} (`{guide['id']}`)", ""]
        for s in guide["sources"]:
            where = s["url"] if not s["url"].startswith("https://") else f"<{s['url']}>"
            out.append(f"- {s['title']}. {s['publisher']}. {s['section']}. {where} ({s['checked']})")
        out.append("")
    return "\n".join(out)


def known_words(root):
    playbook = (root / "src/profiles/playbook.cpp").read_text()
    tables = (root / "src/arch/tables.cpp").read_text()
    return {"findings": set(re.findall(r'Id\{"(\w+)"', playbook)),
            "routes": set(re.findall(r'"([a-z0-9-]+)"\s*\}', playbook[playbook.find("Play{"):])),
            "architectures": set(re.findall(r'"(sm_\d+)"', tables))}


def routing_problems(root, guides, known):
    """What references/routing.toml and the templates' notes name must be there; every guide must be reachable."""
    file = root / "references/routing.toml"
    if not file.is_file():
        yield "references/routing.toml is missing"
        return
    text = file.read_text()
    ids = {g["id"] for g in guides}
    routed = {w for line in re.findall(r"^guides = \[(.*)\]$", text, re.M) for w in re.findall(r'"([^"]+)"', line)}
    families = set(re.findall(r'^\[\[family\]\]\nid = "([^"]+)"', text, re.M))
    for guide in sorted(routed - ids):
        yield f"routing.toml: no guide '{guide}'"
    for guide in sorted(known["routes"] - ids):
        yield f"src/profiles/playbook.cpp names guide '{guide}', which is not written"
    for guide in guides:
        for family in set(guide["families"]) - families - {"any"}:
            yield f"{guide['id']}.md: unknown family '{family}'; routing.toml has {', '.join(sorted(families))}"
    for note in sorted((root / "templates").glob("*/*/NOTES.md")):
        values, _ = parse_front_matter(note.read_text())
        for key, there in (("guides", ids), ("findings", known["findings"]), ("families", families)):
            for word in set(values.get(key, [])) - there:
                yield f"{note.relative_to(root)}: {key} names '{word}', which does not exist"


def check_guides(root, known, problems):
    guides = []
    for path in sorted((root / "references").glob("*.md")):
        if path.name in NOT_GUIDES:
            continue
        try:
            values, body = parse_front_matter(path.read_text())
        except Broken as wrong:
            problems.append(f"{path.name}: {wrong}")
            continue
        found = list(guide_problems(path, values, body, known, root))
        problems += [f"{path.name}: {p}" for p in found]
        if not found:
            guides.append(values | {"path": path})
    return guides


def check_snippets(guides, which, problems):
    """Compiles; returns how many of each language were compiled and how many were left out."""
    nvcc = find_nvcc()
    todo, done, left = [], {}, 0
    for snippet in (s for g in guides for s in snippets_of(g["path"])):
        cuda = snippet.language == "cuda"
        if which == "none" or (which == "host" and cuda) or (which == "cuda" and not cuda):
            continue
        if cuda and not nvcc:
            left += 1
            print(f"SKIPPED {snippet}: no nvcc here", file=sys.stderr)
            continue
        todo.append(snippet)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for snippet, wrong in zip(todo, pool.map(lambda s: compile_snippet(s, nvcc, folder), todo)):
            done[snippet.language] = done.get(snippet.language, 0) + 1
            if wrong:
                problems.append(f"{snippet}: does not compile\n{wrong}")
    return done, left


def check_sources(root, guides, must_be_current, problems):
    file, text = root / "references/SOURCES.md", sources_text(guides)
    if must_be_current:
        if not file.is_file() or file.read_text() != text:
            problems.append("references/SOURCES.md is not up to date; run tools/references/check.py and commit it")
    else:
        file.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--snippets", choices=["none", "host", "cuda", "all"], default="all")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    problems, known = [], known_words(args.root)
    guides = check_guides(args.root, known, problems)
    if not guides:
        problems.append("no guide passed: nothing was checked")
    if not problems:
        problems += list(routing_problems(args.root, guides, known))
    only = set(filter(None, args.only.split(",")))
    done, left = check_snippets([g for g in guides if not only or g["id"] in only], args.snippets, problems)
    if not problems:
        check_sources(args.root, guides, args.check, problems)
    for problem in problems:
        print(problem, file=sys.stderr)
    compiled = ", ".join(f"{n} {language}" for language, n in sorted(done.items())) or "none"
    print(f"{len(guides)} guides; snippets compiled: {compiled}; skipped: {left}; problems: {len(problems)}")
    answered = {f for g in guides for f in g["findings"]}
    print("findings without a guide:", ", ".join(sorted(known["findings"] - answered)) or "none")
    if problems:
        return 1
    return SKIPPED if args.snippets == "cuda" and left and not done else 0


if __name__ == "__main__":
    sys.exit(main())
