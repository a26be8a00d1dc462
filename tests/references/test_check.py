#!/usr/bin/env python3
"""tools/references/check.py: one honest guide that passes, and for each rule a planted guide that breaks it."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import python_cases  # noqa: E402

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/references/check.py"
HEAD = """---
id: {id}
title: Planted
lanes: [cuda]
architectures: [sm_90]
families: [any]
findings: [memory_latency]
sources:
  - {{title: "A, with a comma", publisher: P, section: S, url: "https://example.org/a", checked: 2026-01-31}}
last_checked: 2026-01-31
versions: [CUDA 13.0]
---
"""
BODY = "# Planted\n" + "".join(f"## {s}\nwords\n" for s in
                               ["When to use", "When not", "How", "Signs of failure", "What to measure"])
SNIPPETS = "```cpp compile\nint twice(int x) { return 2 * x; }\n```\n```python compile\nx = 1\n```\n"


class Planted(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for name, text in {"src/profiles/playbook.cpp": 'Id{"memory_latency", "latency"} Play{"x", "", 0, 0, "y", "honest"}',
                           "src/arch/tables.cpp": '"sm_90"'}.items():
            (self.root / name).parent.mkdir(parents=True)
            (self.root / name).write_text(text)
        (self.root / "references").mkdir()
        (self.root / "references/routing.toml").write_text('[[family]]\nid = "gemm"\n\n[[rule]]\nguides = ["honest"]\n')
        self.write("honest", self.guide("honest"))

    def tearDown(self):
        self.folder.cleanup()

    def guide(self, name, head=HEAD, body=BODY, snippets=SNIPPETS, filler=70):
        return head.format(id=name) + body + snippets + "- a line\n" * filler

    def write(self, name, text):
        (self.root / f"references/{name}.md").write_text(text)

    def run_check(self, *words, env=None):
        done = subprocess.run([sys.executable, str(CHECK), "--root", str(self.root), *words], capture_output=True,
                              text=True, env=env)
        return done.returncode, done.stdout + done.stderr

    def refuses(self, text, words, snippets="none"):
        self.write("broken", text)
        code, out = self.run_check("--snippets", snippets)
        self.assertEqual(code, 1, out)
        self.assertIn(words, out)

    def test_the_honest_guide_passes_and_is_listed(self):
        code, out = self.run_check()
        self.assertEqual(code, 0, out)
        self.assertIn("1 cpp, 1 python", out)
        self.assertIn("A, with a comma. P. S. <https://example.org/a>", (self.root / "references/SOURCES.md").read_text())
        self.assertEqual(self.run_check("--check")[0], 0)

    def test_a_route_to_a_guide_that_is_not_written(self):
        with (self.root / "references/routing.toml").open("a") as file:
            file.write('\n[[rule]]\nguides = ["honest", "nowhere"]\n')
        code, out = self.run_check("--snippets", "none")
        self.assertEqual(code, 1)
        self.assertIn("no guide 'nowhere'", out)

    def test_a_move_that_names_a_guide_that_is_not_written(self):
        with (self.root / "src/profiles/playbook.cpp").open("a") as file:
            file.write('Play{"x", "", 0, 0, "y", "nowhere"}')
        self.assertIn("names guide 'nowhere'", self.run_check("--snippets", "none")[1])

    def test_a_family_that_no_route_knows(self):
        self.refuses(self.guide("broken", HEAD.replace("families: [any]", "families: [gem]")), "unknown family 'gem'")
        self.write("broken", self.guide("broken", HEAD.replace("families: [any]", "families: [gemm]")))
        self.assertEqual(self.run_check("--snippets", "none")[0], 0)

    def test_a_template_that_names_what_is_not_there(self):
        note = self.root / "templates/cuda/norm/NOTES.md"
        note.parent.mkdir(parents=True)
        for guides, findings, code in (("honest", "memory_latency", 0), ("nowhere", "memory_latency", 1),
                                       ("honest", "nothing", 1)):
            note.write_text(f"---\nid: cuda/norm\nfamilies: [gemm]\nguides: [{guides}]\nfindings: [{findings}]\n---\n")
            self.assertEqual(self.run_check("--snippets", "none")[0], code, (guides, findings))

    def test_a_stale_list_of_sources_is_refused(self):
        self.run_check("--snippets", "none")
        with open(self.root / "references/SOURCES.md", "a") as file:
            file.write("- one more\n")
        code, out = self.run_check("--check", "--snippets", "none")
        self.assertEqual(code, 1)
        self.assertIn("not up to date", out)

    def test_no_sources(self):
        head = "\n".join(line for line in HEAD.splitlines() if "example.org" not in line) + "\n"
        self.refuses(self.guide("broken", head), "no sources")

    def test_a_source_without_its_section(self):
        self.refuses(self.guide("broken", HEAD.replace("section: S, ", "")), "has no section")

    def test_a_source_that_is_no_document(self):
        self.refuses(self.guide("broken", HEAD.replace("https://example.org/a", "somewhere")), "allowed are https://")
        self.refuses(self.guide("broken", HEAD.replace("https://example.org/a", "project:gone.md")), "no such file")

    def test_a_finding_that_does_not_exist(self):
        self.refuses(self.guide("broken", HEAD.replace("memory_latency", "memory_lateness")), "unknown finding")

    def test_an_architecture_and_a_lane_that_do_not_exist(self):
        self.refuses(self.guide("broken", HEAD.replace("sm_90", "sm_91")), "unknown architecture 'sm_91'")
        self.refuses(self.guide("broken", HEAD.replace("[cuda]", "[metal]")), "unknown lane 'metal'")

    def test_an_id_twice(self):
        self.refuses(self.guide("honest"), "id 'honest' is not the file's name 'broken'")

    def test_a_key_is_missing(self):
        self.refuses(self.guide("broken", HEAD.replace("families: [any]\n", "")), "front matter lacks families")

    def test_too_short_and_too_long(self):
        self.refuses(self.guide("broken", filler=20), "allowed: 80 to 250")
        self.refuses(self.guide("broken", filler=300), "allowed: 80 to 250")

    def test_a_section_is_missing(self):
        self.refuses(self.guide("broken", body=BODY.replace("## When not", "## Whenever")), "no section '## When not'")

    def test_snippets_that_do_not_compile(self):
        self.refuses(self.guide("broken", snippets=SNIPPETS.replace("2 * x;", "2 * y;")), "does not compile", "host")
        self.refuses(self.guide("broken", snippets=SNIPPETS.replace("x = 1", "x = = 1")), "does not compile", "host")

    def test_a_python_snippet_is_run_where_it_says_so(self):
        wrong = "```python compile\nassert 1 + 1 == 3\n```\n"
        self.write("honest", self.guide("honest", snippets=wrong))
        self.assertEqual(self.run_check()[0], 0)
        self.refuses(self.guide("broken", snippets=wrong.replace("compile", "compile run")), "AssertionError", "host")

    def test_a_snippet_in_a_language_nobody_compiles(self):
        self.refuses(self.guide("broken", snippets="```text compile\nx\n```\n"), "cannot be compiled", "host")

    def test_an_empty_library_is_no_success(self):
        (self.root / "references/honest.md").unlink()
        self.assertEqual(self.run_check("--snippets", "none")[0], 1)

    def test_cuda_snippets_are_compiled_or_visibly_skipped(self):
        kernel = "```cuda compile arch=sm_90\n__global__ void f(int* p) { *p = 1; }\n```\n"
        self.write("honest", self.guide("honest", snippets=kernel))
        code, out = self.run_check("--snippets", "cuda")
        if "SKIPPED" in out:
            self.assertEqual(code, 77)
            return
        self.assertEqual(code, 0, out)
        self.assertIn("1 cuda", out)
        self.refuses(self.guide("broken", snippets=kernel.replace("*p = 1", "*q = 1")), "does not compile", "cuda")
        self.refuses(self.guide("broken", snippets=kernel.replace(" arch=sm_90", "")), "needs arch=", "cuda")

    def test_the_compiler_of_the_environment_is_used(self):
        kernel = "```cuda compile arch=sm_90\n__global__ void f(int* p) { *p = 1; }\n```\n"
        self.write("honest", self.guide("honest", snippets=kernel))
        code, out = self.run_check("--snippets", "cuda", env=os.environ | {"CUDACXX": sys.executable})
        self.assertEqual(code, 1, out)


if __name__ == "__main__":
    python_cases.main()
