"""Every command: its envelope, its text, its help, and what it leaves behind."""

import pathlib
import re
import sqlite3

from tool import AKO, WAIVED, Case, Reply, main

# Of them no list may lose one; the program's own says what else there is.
KNOWN = {"new", "check", "doctor", "calibrate", "baseline", "try", "bench", "status", "log", "show", "report", "verify", "compare",
         "diagnose", "refs", "mcp", "skill", "drive", "scope", "profile", "lane", "preflight", "port", "validate"}


class Help(Case):
    def commands(self):
        """What `ako --help` lists."""
        reply = self.run_text("--help")
        self.assertEqual(reply.code, 0)
        self.assertRegex(reply.out, r"(?mi)^subcommands:$")
        listed = re.findall(r"(?m)^  ([a-z]+) {2,}\S", re.split(r"(?mi)^subcommands:$", reply.out)[1])
        self.assertGreaterEqual(set(listed), KNOWN)
        self.assertEqual(len(listed), len(set(listed)))
        return listed

    def test_every_command_has_examples_in_its_help(self):
        for command in self.commands():
            reply = self.run_text(command, "--help")
            self.assertEqual(reply.code, 0, command)
            examples = reply.out[reply.out.index("Examples:"):]
            self.assertRegex(examples, rf"(?m)^ +ako (-C \S+ )?{command}\b", command)

    def test_every_command_refuses_an_option_that_it_does_not_have(self):
        for command in self.commands():
            reply = self.refused(command, "--frobnicate", exit=2, kind="usage", says=f"ako {command} --help")
            self.assertEqual(reply.json["fault"], "task")

    def test_version_is_one_line(self):
        self.assertRegex(self.run_text("--version").out, r"\Aako \d+\.\d+\.\d+\n\Z")

    def test_words_that_are_off_are_usage_errors_with_the_nearest_command(self):
        reply = self.judged("", self.finish(self.start("stauts", "--json")), exit=2)
        self.assertEqual(reply.error["kind"], "usage")
        self.assertIn("ako status", reply.error["next"])
        for words in ([], ["--json"], ["frobnicate"], ["help"]):
            reply = self.judged("", self.finish(self.start(*[*words, "--json"])), exit=2)
            self.whole(reply, says=("compare, new", "doctor", "mcp", "ako --help"), kind="usage")
            self.assertEqual(reply.error["message"],
                             "there is no such command" if words and words != ["--json"] else "no command is named")
        reply = self.finish(self.start("--frob", "status", "--json"))
        self.assertEqual(reply.code, 2)
        self.assertIn("--frob", reply.out)
        reply = self.ako("log", "--cuont", "3", exit=2)
        self.assertIn("ako log --help", reply.error["next"])
        self.ako("log", "--count", "many", exit=2)
        text = self.run_text("log", "--cuont", "3")
        self.assertEqual(text.code, 2)
        self.assertEqual(text.out, "")
        self.assertIn("next:", text.err)


class Bugs(Case):
    """A failed invariant and an exception that nobody catches end as errors do: one message, exit 70."""

    def test_a_bug_is_told_with_its_place_and_how_to_report_it(self):
        for how, where, says in (("invariant", r"src/ako_bug\.cpp:\d+", "does not hold: AKO_BREAK asks for it"),
                                 ("exception", "ako status", "a bug in ako: AKO_BREAK asks for it"),
                                 ("thread", "std::terminate", "a bug in ako: AKO_BREAK asks for it")):
            env = {"AKO_BREAK": how}
            reply = self.refused("status", exit=70, kind="internal", says=says, env=env)
            self.assertRegex(reply.error["where"], rf"\A{where}\Z")
            self.assertIn("report it", reply.error["next"])
            self.assertEqual(reply.json["fault"], "ako")
            text = self.run_text("status", env=env)
            self.assertEqual((text.code, text.out), (70, ""), text)
            self.assertRegex(text.err, rf"ako: {where}: .*AKO_BREAK asks for it\n")
            self.assertRegex(text.err, r"  next: +please report it")

    def test_nothing_breaks_unasked(self):
        self.refused("status", exit=2, kind="usage", env={"AKO_BREAK": "nothing"})


class FreshMachine(Case):
    """Nobody's git identity, no configuration, an empty home."""

    def test_new_to_a_first_verdict(self):
        reply = self.ako("new", "first", exit=0)
        task = pathlib.Path(reply.data["task"])
        self.assertTrue((task / "task.toml").is_file())
        self.assertEqual(reply.data["branch"], "main")
        self.assertEqual(self.git(task, "status", "--porcelain"), "")
        reply = self.ako("status", at=task, exit=0)
        self.assertEqual([gate["gate"] for gate in reply.data["closed_gates"]], ["contract-proven", "reading", "baseline"])
        self.assertEqual(reply.data["next"], "ako check")
        reply = self.refused("try", "--hypothesis", "too early", at=task, exit=4, kind="refused", says="contract-proven")
        self.assertEqual(reply.error["next"], "ako check")
        reply = self.refused("baseline", at=task, exit=4, says="contract-proven")
        self.ako("check", "--build-only", at=task, exit=0)

    def test_new_touches_nothing_that_is_there(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine/file").write_text("mine")
        self.refused("new", "mine", exit=4, says="something of that name is there")
        self.assertEqual((self.folder / "mine/file").read_text(), "mine")
        self.assertEqual(len(list((self.folder / "mine").iterdir())), 1)
        self.refused("new", "a/b", exit=2, says="letters, digits")

    def test_new_of_a_lane_that_is_none(self):
        for lane in ("gpu", "../examples/cpu/rmsnorm_bf16", "cpu/.."):
            self.refused("new", "mine", "--lane", lane, exit=2, kind="usage", says=("--lane", "cpu, cuda", "triton"))
            self.refused("new", "--lane", lane, "--templates", exit=2, kind="usage", says=("--lane", "cpu, cuda", "triton"))
        self.assertEqual(list(self.folder.iterdir()), [])
        listed = self.ako("new", "--lane", "cpu", "--templates", exit=0).data["templates"]
        self.assertTrue(listed and all(one["lane"] == "cpu" for one in listed))

    def test_new_from_a_kernel_takes_the_includes_it_needs(self):
        repo = self.folder / "engine"
        (repo / "src").mkdir(parents=True)
        (repo / "src/common.hpp").write_text("#pragma once\ninline float twice(float x) { return 2 * x; }\n")
        (repo / "src/other.hpp").write_text("#pragma once\n")
        (repo / "src/scale.cpp").write_text(
            '#include "common.hpp"\nnamespace engine {\nvoid scale(const float* x, float* y, int n) {\n'
            "  for (int i = 0; i < n; ++i) y[i] = twice(x[i]);\n}\n}\n")
        reply = self.ako("new", "scale", "--from", f"{repo}:src/scale.cpp::engine::scale", exit=0)
        task = pathlib.Path(reply.data["task"])
        files = "\n".join(reply.data["files"])
        self.assertIn("common.hpp", files)
        self.assertNotIn("other.hpp", files)
        self.assertIn("engine::scale", (task / "task.toml").read_text())
        self.assertTrue(reply.data["questions"])
        self.refused("new", "nothing", "--from", f"{repo}:src/scale.cpp::engine::scael", exit=2, says="scael")


class Looking(Case):
    def test_doctor_and_calibrate(self):
        self.ako("doctor", exit=0)
        reply = self.ako("calibrate", "--seconds", "0.2", exit=0)
        for name in ("memory_bytes_per_s", "cache_bytes_per_s", "flops_per_s", "clock_tick_ns", "call_overhead_ns"):
            self.assertGreater(reply.data[name], 0)
        self.refused("calibrate", "--seconds", "0", exit=2, says="0.2 to 120")

    def test_compare_gives_a_verdict_from_two_files_and_a_line(self):
        body = "void scale(const float* x, float* y, int n, int m) {{\n" \
               "  for (volatile int i = 0; i < {}; ++i) {{}}\n  for (int i = 0; i < n * m; ++i) y[i] = 2 * x[i];\n}}\n"
        (self.folder / "old.cpp").write_text(body.format(12000000))
        (self.folder / "new.cpp").write_text(body.format(4000000))
        line = "scale(x: float32[N,M], y: out float32[N,M], N, M) @ N=16 M=16; N=8 M=8"
        reply = self.ako("compare", "old.cpp", "new.cpp", "--contract", line, exit=(0, 10, 14))
        verdict = reply.data["verdict"]
        self.assertEqual(verdict["outcome"]["kind"], reply.json["outcome"])
        if reply.code != 14:  # a machine that is too busy to measure on is said to be
            self.assertEqual([shape["tag"] for shape in verdict["shapes"]], ["M=16,N=16", "M=8,N=8"])
        self.assertIn("old file", reply.data["judged_by"])
        self.assertLess(reply.seconds, 30)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["new.cpp", "old.cpp"])
        (self.folder / "wrong.cpp").write_text(body.format(4000000).replace("2 * x", "3 * x"))
        self.ako("compare", "old.cpp", "wrong.cpp", "--contract", line, exit=11)
        reply = self.refused("compare", "old.cpp", "new.cpp", exit=2, says="fill in: --contract \"scale(")
        self.refused("compare", "old.cpp", "new.cpp", "--contract", "scale(", exit=2, says="column 7")
        self.refused("compare", "old.cpp", "absent.cpp", "--contract", line, exit=2, says="absent.cpp")
        stem = "scale(x: float32[N,M], y: out float32[N,M], N, M) @ "
        for bad, where in ((stem + "N=0 M=3", len(stem)), (stem + "N=4 M=3 K=2", len(stem) + 8),
                           (stem + "N=4 M=4; N=4 M=4", len(stem) + 9), ("scale(x: float32[N], N) @ N=4", 6)):
            reply = self.refused("compare", "old.cpp", "new.cpp", "--contract", bad, exit=2, kind="usage")
            self.assertEqual(reply.error["where"], f"--contract, column {where + 1}", bad)
            self.assertNotIn("task.toml", " ".join(reply.error.values()))
        reply = self.refused("compare", "old.cpp", "new.cpp", "--contract", line, "--lane", "cutlass", exit=(2, 3), says="new.cpp")
        self.assertNotIn("/tmp", " ".join(reply.error.values()))
        self.refused("compare", "old.cpp", "new.cpp", "--contract", line, "--precision", "float33", exit=2, says="native, float32, float64")
        self.refused("compare", "old.cpp", "new.cpp", "--contract", line, "--precision", "float64", exit=2, says="no --reference")
        self.ako("-C", self.folder, "compare", "new.cpp", "old.cpp", "--contract", line, at=self.top, exit=(10, 14))

    def test_compare_tells_what_does_not_build_in_the_words_of_its_user(self):
        good = "void scale(const float* x, float* y, int n) {\n  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];\n}\n"
        line = "scale(x: float32[N], y: out float32[N], N) @ N=64"
        (self.folder / "old.cpp").write_text(good)
        (self.folder / "sub").mkdir()
        for name, text in (("empty.cpp", ""), ("other.cpp", good.replace("scale", "scalf")), ("sub/old.cpp", good.replace("scale", "scalf")),
                           ("wide.cpp", good.replace("float* x", "double* x")), ("wrong.cpp", good.replace("x[i]", "z[i]"))):
            (self.folder / name).write_text(text)
            reply = self.ako("compare", "old.cpp", name, "--contract", line, exit=13)
            reason = reply.data["verdict"]["outcome"]["reason"]
            self.assertTrue(reason.startswith((name, str(self.folder / name))), reason)
            for word in ("solution/", "kernel.", "task.toml"):
                self.assertNotIn(word, reason)
            text = self.run_text("compare", "old.cpp", name, "--contract", line).out
            self.assertNotIn("judged by", text)
            if name in ("sub/old.cpp", "wrong.cpp"):
                continue
            self.assertIn("--contract", reason)
            reply = self.refused("compare", name, "old.cpp", "--contract", line, exit=2, says=(name, "--contract"))
            for word in ("old/", "[[baseline]]", "kernel."):
                self.assertNotIn(word, " ".join(reply.error.values()))
        with open(self.folder / "big.cpp", "wb") as file:
            file.truncate(2 << 30)
        for files in (("old.cpp", "big.cpp"), ("big.cpp", "old.cpp")):
            reply = self.refused("compare", *files, "--contract", line, exit=2, says=("big.cpp", "2147483648"))
            self.assertLess(reply.seconds, 5)

    def test_compare_of_files_that_C_cannot_include(self):
        text = "void scale(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i]; }\n"
        (self.folder / "old.cpp").write_text(text)
        line = "scale(x: float32[N], y: out float32[N], N) @ N=64"
        for name in ('a"b.cpp', "a\\b.cpp"):
            (self.folder / name).write_text(text)
            for files in (("old.cpp", name), (name, "old.cpp")):
                reply = self.refused("compare", *files, "--contract", line, exit=2, kind="invalid",
                                     says=("a file name that C++ cannot include", name, "rename the file"))
                self.assertNotIn("solution/", " ".join(reply.error.values()))
        (self.folder / "it's new.cpp").write_text(text)
        self.ako("compare", "old.cpp", "it's new.cpp", "--contract", line, exit=(0, 10, 14))

    def test_what_a_source_holds_does_nothing_to_a_terminal(self):
        (self.folder / "old.cpp").write_text("void scale(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i]; }\n")
        (self.folder / "new.cpp").write_bytes(b"void scale(const float* x, float* y, int n) { \x1b]0;mine\x07\x1b[2J\xbb\xe5\x1b[31m }\n")
        reply = self.run_text("compare", "old.cpp", "new.cpp", "--contract", "scale(x: float32[N], y: out float32[N], N) @ N=64")
        self.assertEqual(reply.code, 13)
        self.assertIn("]0;mine", reply.out)
        for text in (reply.out, reply.err):
            self.assertNotRegex(text, r"[\x00-\x08\x0b-\x1f\x7f]")

    def test_an_answer_that_cannot_be_written_is_no_success(self):
        import subprocess
        task = self.recorded_task()
        for words in (["status"], ["log", "--all"], ["status", "--json"], ["--help"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([AKO, *words], cwd=task, env=self.environment, stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 3, words)
            for part in ("standard output", "No space left", "allowed:", "next:"):
                self.assertIn(part, done.stderr)
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = -2;")
        script = f'exec "$AKO" try --hypothesis "nobody listens" --cites loop {WAIVED[0]} "{WAIVED[1]}" <&- >&- 2>&-'
        done = subprocess.run(["sh", "-c", script], cwd=task, env={**self.environment, "AKO": AKO})
        self.assertEqual(done.returncode, 11)
        self.ako("verify", at=task, exit=0)
        self.assertEqual(self.ako("log", at=task, exit=0).data["rows"][-1]["hypothesis"], "nobody listens")

    def test_doctor_says_what_keeps_a_candidate_in(self):
        found = {row["what"]: row for row in self.ako("doctor", exit=0).data["findings"]}
        guards = {"Landlock", "seccomp", "user namespace", "pid namespace", "network namespace", "ipc namespace", "mount namespace"}
        for guard in guards:
            self.assertIn(guard, found["sandbox"]["detail"])
        has, _, lacks = found["sandbox"]["detail"].partition("; not given by this kernel: ")
        self.assertEqual(found["sandbox"]["state"], "partial" if lacks and has != "nothing" else "missing" if lacks else "ok")
        self.assertEqual(bool(found["sandbox"]["next"]), bool(lacks))
        self.assertIn(found["cpu counters"]["state"], ("ok", "not readable", "forbidden"))

    def test_a_current_folder_that_is_gone(self):
        import subprocess
        gone = self.folder / "gone"
        gone.mkdir()
        script = f'cd "{gone}" && rmdir "{gone}" && exec "$AKO" status --json'
        done = subprocess.run(["sh", "-c", script], capture_output=True, env={**self.environment, "AKO": AKO})
        reply = self.judged("", Reply(done.returncode, done.stdout.decode(), done.stderr.decode(), 0), exit=2)
        self.whole(reply, says=("current folder", "-C DIR"), kind="usage")

    def test_a_report_goes_into_a_folder_that_is_there_or_beside_one(self):
        task = self.recorded_task()
        self.refused("report", "--into", self.folder / "no/such", at=task, exit=2, kind="usage", says=("--into", "mkdir -p"))
        self.refused("report", "--into", task / "task.toml", at=task, exit=2, kind="usage", says="no folder")
        self.assertFalse((self.folder / "no").exists())
        self.ako("report", "--into", str(self.folder / "new") + "/", at=task, exit=0)
        self.assertTrue((self.folder / "new/report.md").is_file())

    def test_status_names_no_incumbent_where_nothing_was_measured(self):
        text = self.run_text("status", at=self.make_task()).out
        self.assertRegex(text, r"incumbent +none yet")

    def test_diagnose_of_no_profile_is_an_error(self):
        (self.folder / "notes.txt").write_text("no profile at all\n")
        self.refused("diagnose", "notes.txt", exit=(2, 3))
        self.refused("diagnose", "absent.csv", exit=2, says="absent.csv")

    def test_commands_outside_a_task_say_how_to_make_one(self):
        for command in ("check", "baseline", "status", "log", "show", "report", "verify", "bench"):
            self.refused(command, exit=2, kind="usage", says=("no task here", "ako new"))
        self.refused("try", "--hypothesis", "h", exit=2, says="ako new")
        self.refused("status", "-C", self.folder / "absent", exit=2, says="absent")


class OnRecord(Case):
    def test_a_whole_task(self):
        task = self.make_task()
        echo = self.ako("check", "--echo", at=task, exit=0)
        self.assertEqual(echo.data["contract"]["kernel"]["entry"]["symbol"], "halve")
        for command in ("log", "show", "verify", "report"):
            self.refused(command, at=task, exit=4, says="nothing is on record")
        self.assertIsNone(self.ledger_of(task) and self.events(task) or None)

        check = self.quietly("check", at=task)
        self.assertTrue(check.data["passed"])
        steps = {step["name"]: step["passed"] for step in check.data["steps"]}
        for name in ("build:reference", "build:baseline:first", "build:solution", "probe:zeros", "mutant:last_element",
                     "a/a", "slow_down", "canary"):
            self.assertTrue(steps[name], name)

        self.ako("refs", "read", "--required", at=task, exit=0)
        baseline = self.quietly("baseline", at=task)
        self.assertEqual(baseline.data["fastest"], "first")
        shape = baseline.data["entries"][0]["shapes"][0]
        self.assertEqual((shape["tag"], shape["dtype"]), ("N=256", "float32"))
        self.assertGreater(shape["p50_ns"], 0)
        self.assertLessEqual(shape["p50_ns"], shape["p95_ns"])

        bench = self.quietly("bench", "baseline:first", at=task)
        self.assertGreater(bench.data["shapes"][0]["p50_ns"], 0)
        self.refused("bench", "baseline:secnod", at=task, exit=2, says="secnod")

        self.solution(task, body="  for (int i = 0; i < (n & ~15); ++i) y[i] = 0.5f * x[i];")
        self.ako("try", "--hypothesis", "whole blocks of sixteen", "--predict-gain", "40", "--cites", "numerics",
                 at=task, exit=11)

        status = self.ako("status", at=task, exit=0)
        self.assertEqual(status.data["iterations"], 1)
        self.assertEqual(status.data["outcomes"], {"incorrect": 1})
        self.assertIsNone(status.data["incumbent"])
        self.assertEqual(status.data["closed_gates"], [])

        log = self.ako("log", at=task, exit=0)
        self.assertEqual([(row["number"], row["outcome"], row["decision"]) for row in log.data["rows"]],
                         [(1, "incorrect", "revert")])
        self.assertEqual(self.ako("log", "--all", at=task, exit=0).data, log.data)
        self.refused("log", "--count", "0", at=task, exit=2, says="1 or more")

        show = self.ako("show", "1", "--diff", "--evidence", "--samples", at=task, exit=0)
        recorded = show.data["iteration"]
        self.assertEqual(recorded["hypothesis"], "whole blocks of sixteen")
        self.assertEqual(recorded["cites"], "numerics")
        self.assertAlmostEqual(recorded["predicted_gain"], 0.4)
        self.assertTrue(recorded["baseline"], "an iteration names the baseline that it belongs to")
        self.assertIn("n & ~15", show.data["diff"])
        self.refused("show", "7", at=task, exit=2, says="1 to 1")

        report = self.ako("report", at=task, exit=0)
        html = pathlib.Path(report.data["html"]).read_text()
        self.assertIsNone(report.data["claim"])
        self.assertIn("whole blocks of sixteen", html)
        self.assertNotRegex(html, r"(src|href)=\"https?://")
        self.assertIn("whole blocks of sixteen", pathlib.Path(report.data["markdown"]).read_text())

        verify = self.ako("verify", at=task, exit=0)
        self.assertEqual(verify.data["events"], len(self.events(task)))
        self.assertEqual(verify.data["heads"], 1)

        iterations = (task / "ITERATIONS.md").read_text()
        for part in ("whole blocks of sixteen", "- Cites: numerics", "references/loop.md", "references/measuring.md"):
            self.assertIn(part, iterations)
        self.assertTrue((task / "context/halve_notes.md").is_file())
        self.assertTrue((task / "bench/bench_halve.cpp").is_file())

    def test_text_goes_to_stdout_and_progress_to_stderr(self):
        task = self.recorded_task()
        for command in ("status", "log", "verify"):
            text = self.run_text(command, at=task)
            self.assertEqual(text.code, 0)
            self.assertTrue(text.out)
        quiet = self.run_text("check", "--build-only", "--quiet", at=task)
        self.assertEqual((quiet.code, quiet.err), (0, ""))
        self.assertIn("steps hold", quiet.out)

    def test_the_record_carries_no_path_of_this_machine(self):
        task = self.recorded_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        self.ako("try", "--hypothesis", "zeros", *WAIVED, at=task, exit=11)
        self.ako("verify", at=task, exit=0)  # merges the log into the file
        bytes_on_disk = self.ledger_of(task).read_bytes()
        for path in (str(self.top), str(task)):
            at = bytes_on_disk.find(path.encode())
            self.assertEqual(at, -1, bytes_on_disk[max(at - 80, 0):at + 80])
            self.assertNotIn(path, self.git(task, "log", "-p", "-1"))

    def test_a_changed_record_does_not_verify(self):
        task = self.recorded_task()
        path = self.ledger_of(task)
        with sqlite3.connect(path) as db:
            db.execute("DROP TRIGGER event_no_update")
            db.execute("UPDATE event SET json = replace(json, 'halve', 'hulve') WHERE kind = 'contract'")
        reply = self.refused("verify", at=task, exit=14, kind="stale")
        self.assertIn("event", reply.error["where"])


if __name__ == "__main__":
    main()
