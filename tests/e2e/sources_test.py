"""Sources that cannot be, arguments that do not fit, and paths as people have them. Nothing here needs a measurement: gates
are waived."""

import os
import pathlib
import subprocess

from tool import SANITIZED, WAIVED, Case, main


class Sources(Case):
    def refused_try(self, task, says, exit=2, **more):
        before, events = self.picture(task), self.events(task)
        reply = self.refused("try", "--hypothesis", "h", *WAIVED, at=task, exit=exit, says=says, **more)
        self.assertEqual(self.intact(task, before, events), events, "a refusal waives nothing")
        return reply

    def not_built(self, task, says):
        """Recorded as build_failed, with words that name the candidate's own line; solution/ is left to be mended."""
        tried = (task / "solution/halve.cpp").read_text()
        events = self.events(task)
        reply = self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=13)
        self.assertEqual(reply.json["outcome"], "build_failed")
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, reply.data["verdict"]["outcome"]["reason"])
        self.assertEqual((task / "solution/halve.cpp").read_text(), tried)
        self.assertEqual(self.events(task)[:len(events)], events)
        self.ako("verify", at=task, exit=0)
        return reply

    def test_arguments_that_would_be_narrowed(self):
        task = self.make_task()
        self.edit(task / "solution/halve.cpp", "int n)", "short n)")
        self.not_built(task, ("solution/halve.cpp", "short", "N"))

    def test_arguments_of_another_type(self):
        for old, new, says in (("const float* x", "const double* x", "double"), ("const float* x", "float* x", "x"),
                               ("int n)", "float n)", "float")):
            task = self.make_task()
            self.edit(task / "solution/halve.cpp", old, new)
            self.not_built(task, ("solution/halve.cpp", says))
            task.rename(self.folder / f"done-{new.replace(' ', '-').replace('*', '')}")

    def test_wider_integers_are_lawful(self):
        task = self.make_task()
        self.edit(task / "solution/halve.cpp", "int n)", "long n)")
        self.edit(task / "solution/halve.cpp", "y[i] = 0.5f * x[i]", "y[i] = 0")
        self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11)

    def test_too_few_and_too_many_arguments(self):
        for new in ("const float* x, float* y)", "const float* x, float* y, int n, int m)"):
            task = self.make_task()
            self.edit(task / "solution/halve.cpp", "const float* x, float* y, int n)", new)
            self.not_built(task, "halve")
            task.rename(self.folder / f"done-{len(new)}")

    def test_an_absent_entry(self):
        task = self.make_task()
        self.edit(task / "solution/halve.cpp", "void halve", "void havle")
        self.not_built(task, ("halve", "solution/halve.cpp"))

    def test_empty_sources(self):
        task = self.make_task()
        (task / "solution/halve.cpp").write_text("")
        self.not_built(task, ("solution/halve.cpp", "no function at all", "kernel.entry.symbol"))
        for side, key in (("reference", "reference.entry.symbol"), ("halve", "[[baseline]]")):
            task = self.make_task(self.folder / side)
            (task / f"input/{side}.cpp").write_text("")
            before = self.picture(task)
            reply = self.ako("check", at=task, exit=2)
            words = " ".join(reply.error.values()) if reply.error else str(reply.data["steps"])
            self.assertIn(f"input/{side}.cpp", words)
            self.assertIn(key, words)
            self.intact(task, before, [])

    def test_no_source_at_all(self):
        task = self.make_task()
        (task / "solution/halve.cpp").unlink()
        self.refused_try(task, says=("solution/halve.cpp", "does not exist"))

    def test_an_include_from_outside_the_task(self):
        task = self.make_task()
        (self.folder / "outside.hpp").write_text("inline float half() { return 0.5f; }\n")
        for include in ("../../outside.hpp", str(self.folder / "outside.hpp")):
            (task / "solution/halve.cpp").write_text(f'#include "{include}"\n' + (task / "input/halve.cpp").read_text())
            reply = self.not_built(task, "outside.hpp")
            self.assertEqual(reply.data["verdict"]["outcome"]["fault"], "candidate")

    def test_symbolic_links_out_of_the_task(self):
        task = self.make_task()
        outside = self.folder / "outside.cpp"
        outside.write_text((task / "solution/halve.cpp").read_text())
        (task / "solution/extra.hpp").symlink_to(outside)
        self.refused_try(task, says=("solution/extra.hpp", "symbolic link"))
        (task / "solution/extra.hpp").unlink()
        (task / "solution/halve.cpp").unlink()
        (task / "solution/halve.cpp").symlink_to(outside)
        self.refused_try(task, says=("halve.cpp", "symbolic link"))
        self.assertTrue(outside.exists())

    def test_folders_that_lead_out_of_the_task(self):
        for name in ("solution", "input"):
            task = self.make_task(self.folder / name)
            (task / name).rename(self.folder / f"{name}-outside")
            (task / name).symlink_to(self.folder / f"{name}-outside")
            self.refused_try(task, says=(name, "symbolic link"))

    def test_what_ako_writes_stays_in_the_task(self):
        """Links that lead out, and things of another kind, where ITERATIONS.md, context/ and bench/ belong: told before
        anything is done."""
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "mine.md").write_text("mine\n")
        for name in ("context", "bench", "ITERATIONS.md"):
            task = self.make_task(self.folder / name)
            self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = -1;")
            (task / name).symlink_to(outside / "mine.md" if name.endswith(".md") else outside)
            self.refused_try(task, says=(f"{task}/{name}", "symbolic link", "inside the task"))
            self.refused("baseline", "--waive", "w", at=task, exit=2, says=(f"{task}/{name}", "symbolic link"))
            (task / name).unlink()
            if name.endswith(".md"):
                (task / name).mkdir()
            else:
                (task / name).write_text("a file\n")
            self.refused_try(task, says=(f"{task}/{name}", "move it away"))
        self.assertEqual([path.name for path in outside.iterdir()], ["mine.md"])
        self.assertEqual((outside / "mine.md").read_text(), "mine\n")
        task = self.make_task(self.folder / "within")
        (task / "docs").mkdir()
        (task / "context").symlink_to("docs")
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = -1;")
        self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11)
        self.assertTrue((task / "docs/halve_notes.md").is_file())

    def test_a_link_inside_the_task_is_lawful(self):
        task = self.make_task()
        (task / "input/shared.hpp").write_text("inline float zero() { return 0; }\n")
        (task / "solution/shared.hpp").symlink_to("../input/shared.hpp")
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = zero();", extra='#include "shared.hpp"\n')
        self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11)

    def test_pipes_and_folders_are_no_sources(self):
        task = self.make_task()
        os.mkfifo(task / "solution/pipe.hpp")
        self.refused_try(task, says="solution/pipe.hpp")

    def test_two_gigabytes_are_not_read(self):
        task = self.make_task()
        with open(task / "solution/big.hpp", "wb") as file:
            file.truncate(2 << 30)
        reply = self.refused_try(task, says=("solution/big.hpp", "2147483648"))
        self.assertLess(reply.seconds, 5)
        (task / "solution/big.hpp").unlink()
        with open(task / "solution/halve.cpp", "r+b") as file:
            file.truncate(2 << 30)
        self.assertLess(self.refused_try(task, says="solution/halve.cpp").seconds, 5)
        for name in ("input/reference.cpp", "input/halve.cpp"):
            task = self.make_task(self.folder / name.replace("/", "-"))
            with open(task / name, "wb") as file:
                file.truncate(2 << 30)
            before = self.picture(task)
            reply = self.refused("check", at=task, exit=2, says=(name, "2147483648"))
            self.assertLess(reply.seconds, 5)
            self.intact(task, before, [])

    def test_the_microbench_compiles_by_its_first_line_and_runs(self):
        if SANITIZED:
            self.skipTest("a library with a sanitizer wants a program with one")
        task = self.make_task()
        self.solution(task, rounds=1000, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11)
        self.microbench_runs(task)

    def test_the_microbench_compiles_where_names_have_spaces(self):
        if SANITIZED:
            self.skipTest("a library with a sanitizer wants a program with one")
        task = self.make_task()
        (task / "input/my headers").mkdir()
        (task / "input/my headers/zero.hpp").write_text("float zero();\n")
        (task / "solution/it's zero.cpp").write_text('#include "zero.hpp"\nfloat zero() { return ZERO; }\n')
        self.edit(task / "task.toml", 'flags = ["-O1"]',
                  'flags = ["-O1", "-DZERO=(0 + 0)"]\nsources = ["solution/it\'s zero.cpp"]\ninclude_dirs = ["input/my headers"]')
        self.edit(task / "task.toml", '[[baseline]]\n', '[[baseline]]\nflags = ["-O1"]\n')
        self.solution(task, rounds=1000, body="  for (int i = 0; i < n; ++i) y[i] = zero();", extra='#include "zero.hpp"\n')
        self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11)
        self.microbench_runs(task)

    def microbench_runs(self, task):
        line = (task / "bench/bench_halve.cpp").read_text().splitlines()[0]
        self.assertTrue(line.startswith("// g++ "), line)
        prefix = self.folder / "installed"
        prefix.mkdir()
        (prefix / "include").symlink_to(pathlib.Path(__file__).resolve().parents[2] / "include")
        (prefix / "lib").symlink_to(pathlib.Path(os.environ["AKO_MEASURE"]).parent)
        done = subprocess.run(["sh", "-ec", line.removeprefix("// ") + " && bench/bench_halve"], cwd=task, capture_output=True,
                              text=True, env={**self.environment, "AKO": str(prefix)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"N=256\s.*[1-9]")

    def test_crlf_sources(self):
        task = self.make_task()
        path = task / "solution/halve.cpp"
        path.write_bytes(path.read_text().replace("0.5f * x[i]", "0").replace("\n", "\r\n").encode())
        self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11)


if __name__ == "__main__":
    main()
