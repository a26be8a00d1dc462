"""What becomes of one iteration, outcome by outcome, and of the files around it."""

import json
import signal
import subprocess

from tool import MARKED, WAIVED, Case, main, measured, wait_until

QUIET = ("equivalent", "undecided", "invalid_measurement")


class Decisions(Case):
    def tried(self, task, exit, outcome, *words):
        """One iteration; the record, the log and the exit code say the same."""
        reply = self.ako("try", "--hypothesis", f"towards {outcome}", *words, at=task, exit=exit)
        kinds = (outcome,) if isinstance(outcome, str) else outcome
        self.assertIn(reply.json["outcome"], kinds, reply)
        number = reply.data["iteration"]
        recorded = self.ako("show", number, at=task, exit=0).data
        self.assertEqual(recorded["iteration"]["verdict"]["outcome"]["kind"], reply.json["outcome"])
        self.assertEqual(recorded["iteration"]["verdict"]["outcome"]["reason"],
                         reply.data["verdict"]["outcome"]["reason"])
        self.assertEqual(recorded["iteration"]["decision"], reply.data["decision"])
        row = self.ako("log", at=task, exit=0).data["rows"][-1]
        self.assertEqual((row["number"], row["outcome"]), (number, reply.json["outcome"]))
        self.check_commit(task, reply, recorded["commit"])
        return reply

    def check_commit(self, task, reply, commit):
        self.assertEqual(reply.data["commit"], commit, reply)
        self.assertEqual(self.git(task, "rev-parse", "HEAD").strip(), commit)
        message = self.git(task, "log", "-1", "--format=%B")
        self.assertTrue(message.startswith(f"[iter {reply.data['iteration']}] towards"), message)
        head = message.rsplit("Ako-Ledger-Head: ", 1)[1].strip()
        self.assertIn(head, [hash for _, _, hash in self.events(task)])
        self.assertGreater(self.ako("verify", at=task, exit=0).data["heads"], 0)

    def reverted(self, task, reply, tried):
        """solution/ holds what it held before, and what was tried can be had back."""
        self.assertEqual(reply.data["decision"], "revert")
        self.assertEqual((task / "solution/halve.cpp").read_text(), (task / "input/halve.cpp").read_text())
        self.assertEqual(reply.data["restored"], ["solution/halve.cpp"])
        self.assertEqual(self.git(task, "show", f"{reply.data['kept_ref']}:solution/halve.cpp"), tried)

    @measured
    def test_equal_code_in_other_words_is_no_win(self):
        task = self.proven_task()
        self.solution(task, body="  for (int i = n; i-- > 0;) y[i] = x[i] * 0.5f;")
        tried = (task / "solution/halve.cpp").read_text()
        reply = self.tried(task, (10, 14), QUIET)
        self.assertFalse(reply.data["verdict"]["confirmed"])
        if reply.json["outcome"] != "invalid_measurement":
            self.reverted(task, reply, tried)
            self.assertEqual(reply.data["verdict"]["shapes"][0]["tag"], "N=256")
            self.assertLess(reply.data["verdict"]["gain"], 0.5)

    @measured
    def test_slower_code_is_regressed(self):
        task = self.proven_task()
        self.solution(task, rounds=30000000)
        tried = (task / "solution/halve.cpp").read_text()
        reply = self.tried(task, (10, 14), ("regressed", "undecided", "invalid_measurement"))
        if reply.json["outcome"] == "regressed":
            self.assertLess(reply.data["verdict"]["gain"], -1)
            self.reverted(task, reply, tried)

    def test_wrong_on_a_tail_shape_is_incorrect_with_evidence(self):
        task = self.proven_task()
        self.solution(task, body="  for (int i = 0; i < (n + 15) / 16 * 16; ++i) y[i < n ? i : 0] = 0.5f * x[i < n ? i : n - 1];")
        tried = (task / "solution/halve.cpp").read_text()
        reply = self.tried(task, 11, "incorrect")
        self.assertEqual(reply.json["fault"], "candidate")
        self.reverted(task, reply, tried)
        self.assertRegex(reply.data["verdict"]["outcome"]["reason"], r"edge:N=\d+")
        evidence = reply.data["verdict"]["outcome"]["evidence"][0]
        self.assertTrue(evidence["decisive"])
        self.assertRegex(evidence["data"]["place"]["seed"], r"^0x[0-9a-f]{16}$")
        text = self.run_text("show", "--evidence", at=task)
        self.assertIn("compare (decisive)", text.out)

    def test_what_does_not_build_is_left_to_be_mended(self):
        task = self.proven_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0.5f * z[i];")
        tried = (task / "solution/halve.cpp").read_text()
        reply = self.tried(task, 13, "build_failed")
        self.assertEqual(reply.json["fault"], "candidate")
        self.assertEqual((task / "solution/halve.cpp").read_text(), tried)
        message = reply.data["compiler_messages"][0]
        self.assertEqual((message["file"], message["line"]), ("solution/halve.cpp", 7))
        self.assertIn("z[i]", message["source_line"])
        self.assertEqual(reply.data["verdict"]["placements"], 0)
        text = self.run_text("try", "--hypothesis", "again", at=task)
        self.assertEqual(text.code, 13)
        self.assertIn("solution/halve.cpp:7:", text.out)

    def test_a_crash_ends_the_candidate_alone(self):
        task = self.proven_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) *(volatile float*)0 = x[i];")
        tried = (task / "solution/halve.cpp").read_text()
        reply = self.tried(task, 13, "crashed")
        self.assertIn("SIGSEGV", reply.data["verdict"]["outcome"]["reason"])
        self.reverted(task, reply, tried)

    def test_exit_zero_is_no_success(self):
        task = self.proven_task()
        self.solution(task, body="  std::exit(0);", extra="#include <cstdlib>\n")
        self.assertIn("exit(0)", self.tried(task, 13, "crashed").data["verdict"]["outcome"]["reason"])

    def test_a_call_that_never_returns_is_a_timeout(self):
        task = self.make_task()
        self.edit(task / "task.toml", "call_seconds = 2", "call_seconds = 0.3")
        self.quietly("check", at=task)
        self.ako("refs", "read", "--required", at=task, exit=0)
        self.quietly("baseline", at=task)
        self.solution(task, body="  for (volatile int i = 0; i >= 0; i = 1) {}")
        tried = (task / "solution/halve.cpp").read_text()
        reply = self.tried(task, 13, "timeout")
        self.assertLess(reply.seconds, 20)
        self.reverted(task, reply, tried)

    @measured
    def test_a_flagged_candidate_becomes_the_incumbent_and_an_incorrect_one_never(self):
        task = self.proven_task()
        self.solution(task, rounds=12100000)
        reply = self.tried(task, (0, 10, 14), ("improved", "regressed", *QUIET), "--flag", "simpler to read")
        if reply.json["outcome"] in ("equivalent", "undecided", "regressed"):
            self.assertEqual(reply.data["decision"], "flag")
            self.assertEqual(self.ako("status", at=task, exit=0).data["incumbent"]["number"], 1)
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        reply = self.tried(task, 11, "incorrect", "--flag", "it is fast")
        self.assertEqual(reply.data["decision"], "revert")

    def test_the_same_binary_is_nothing_to_try(self):
        task = self.proven_task()
        (task / "solution/halve.cpp").write_text("// a comment\n" + (task / "solution/halve.cpp").read_text())
        before, events = self.picture(task), self.events(task)
        self.refused("try", "--hypothesis", "a comment", at=task, exit=2, says="byte for byte")
        self.intact(task, before, events)

    def test_what_is_refused_leaves_no_prediction_and_no_waiver(self):
        task = self.make_task()
        words = ("try", "--hypothesis", "h", *WAIVED, "--predict", "gain >= 10 %")
        before = self.picture(task)
        for _ in range(2):
            self.refused(*words, at=task, exit=2, says="byte for byte")
        self.assertLessEqual({kind for _, kind, _ in self.intact(task, before, [])}, {"contract", "environment"})
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        self.ako(*words, at=task, exit=11)
        kinds = [kind for _, kind, _ in self.events(task)]
        self.assertEqual((kinds.count("waiver"), kinds.count("note")), (3, 2))  # what was predicted, and what came of it
        notes = self.notes(task)
        self.assertRegex(notes[0][1], r"^iteration 1 \(sources [0-9a-f]{12}\): gain >= 10 %$")
        self.assertLess(notes[0][0], kinds.index("iteration") + 1)
        self.assertGreater(notes[1][0], kinds.index("iteration") + 1)

    # --- edited while it is measured -----------------------------------------------------------------------------

    EDIT = "void halve(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i] / 2; }\n"

    def edited_while(self, **candidate):
        """A task, proven, whose solution/ is edited after a candidate's sources were read."""
        task = self.proven_task()
        (self.folder / "edit.cpp").write_text(self.EDIT)
        self.compiler_for_marked(task, f"cp {self.folder}/edit.cpp {task}/solution/halve.cpp; echo '// mine' > {task}/solution/mine.hpp")
        self.solution(task, extra=MARKED, **candidate)
        return task, (task / "solution/halve.cpp").read_text()

    def edit_is_left_alone(self, task, reply, tried, committed):
        self.assertEqual((task / "solution/halve.cpp").read_text(), self.EDIT)
        self.assertEqual((task / "solution/mine.hpp").read_text(), "// mine\n")
        self.assertEqual(reply.data["restored"], [])
        ref = reply.data["kept_ref"]
        self.assertTrue(ref.endswith(f"/iter-{reply.data['iteration']}"), ref)
        self.assertEqual(self.git(task, "show", f"{ref}:solution/halve.cpp"), tried)
        self.assertEqual(self.git(task, "ls-tree", "-r", "--name-only", ref).split(), ["solution/halve.cpp"])
        self.assertEqual(self.git(task, "show", "HEAD:solution/halve.cpp"), committed)
        self.assertEqual(self.git(task, "ls-tree", "-r", "--name-only", "HEAD", "solution").split(), ["solution/halve.cpp"])
        self.assertEqual(self.git(task, "status", "--porcelain").splitlines(), [" M solution/halve.cpp", "?? solution/mine.hpp"])
        told = [warning for warning in reply.json["warnings"] if "was edited while iteration" in warning]
        self.assertEqual(len(told), 1, reply.json["warnings"])
        self.assertIn(ref, told[0])
        self.ako("verify", at=task, exit=0)
        shown = self.ako("show", at=task, exit=0).data["iteration"]["snapshot"]
        self.assertEqual([file["path"] for file in shown["files"]], ["solution/halve.cpp"])
        # The command that it names brings back what was judged.
        done = subprocess.run(["sh", "-c", told[0].rsplit(": ", 1)[1]], cwd=task, env=self.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((task / "solution/halve.cpp").read_text(), tried)

    def test_an_edit_while_a_candidate_is_judged_wrong_is_left_alone(self):
        task, tried = self.edited_while(body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        reply = self.ako("try", "--hypothesis", "zeros", *WAIVED, at=task, exit=11)
        self.edit_is_left_alone(task, reply, tried, (task / "input/halve.cpp").read_text())

    def test_an_edit_while_a_candidate_is_built_is_left_alone(self):
        task, tried = self.edited_while(body="  y[0] = z;")
        reply = self.ako("try", "--hypothesis", "no z", *WAIVED, at=task, exit=13)
        self.assertEqual(reply.json["outcome"], "build_failed")
        self.edit_is_left_alone(task, reply, tried, tried)

    @measured
    def test_an_edit_while_a_win_is_measured_is_no_part_of_it(self):
        for _ in range(8):
            task, tried = self.edited_while(rounds=3000000)
            reply = self.ako("try", "--hypothesis", "a quarter", *WAIVED, at=task, exit=(0, 10, 14))
            if reply.code == 0:
                break
            task.rename(self.folder / f"busy-{reply.seconds}")
        else:
            self.skipTest("the machine is too busy for a win of three quarters")
        self.assertEqual(reply.data["decision"], "keep")
        self.edit_is_left_alone(task, reply, tried, tried)

    def test_what_decides_and_is_edited_meanwhile_is_not_committed(self):
        task = self.proven_task()
        self.compiler_for_marked(task, f"sleep 0.3; cd {task}; sed -i 's/min_gain = 0.1/min_gain = 0.2/' task.toml; "
                                 "echo '// mine' >> input/reference.cpp; echo '// mine' > input/notes.hpp; cd - >/dev/null")
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;", extra=MARKED)
        reply = self.ako("try", "--hypothesis", "zeros", *WAIVED, at=task, exit=11)
        self.assertEqual(reply.data["restored"], ["solution/halve.cpp"], "its own files are as they were judged")
        self.assertEqual(self.git(task, "show", "--name-only", "--format=", "HEAD", "--", "task.toml", "input").split(), ["input/notes.hpp"])
        self.assertEqual(self.git(task, "status", "--porcelain").splitlines(), [" M input/reference.cpp", " M task.toml"])
        told = [warning for warning in reply.json["warnings"] if "its commit leaves the edit out" in warning]
        self.assertEqual(len(told), 1, reply.json["warnings"])
        for name in ("task.toml", "input/reference.cpp"):
            self.assertIn(name, told[0])
        self.assertNotIn("notes.hpp", told[0])
        self.assertEqual(self.ako("show", at=task, exit=0).data["iteration"]["contract"], [
            json.loads(text)["hash"] for text in self.payloads(task, "contract")][-1])
        gates = [gate["gate"] for gate in self.ako("status", at=task, exit=0).data["closed_gates"]]
        self.assertIn("contract-proven", gates)

    def test_a_hypothesis_is_required(self):
        task = self.proven_task()
        before, events = self.picture(task), self.events(task)
        self.refused("try", at=task, exit=2, says="--hypothesis")
        self.refused("try", "--hypothesis", "  ", at=task, exit=2, says="--hypothesis")
        self.intact(task, before, events)

    def test_a_waiver_goes_on_and_stays_visible(self):
        task = self.make_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        tried = (task / "solution/halve.cpp").read_text()
        reply = self.ako("try", "--hypothesis", "h", "--waive", "only looking", at=task, exit=11)
        self.assertTrue(any("solution/ is left as it is" in warning for warning in reply.json["warnings"]), reply)
        self.assertEqual((task / "solution/halve.cpp").read_text(), tried)
        self.assertEqual(self.ako("status", at=task, exit=0).data["waivers"], 3)
        self.assertEqual(self.ako("show", at=task, exit=0).data["iteration"]["waived"],
                         ["contract-proven", "reading", "baseline"])
        self.ako("report", at=task, exit=0)
        self.assertIn("only looking", (task / "report.md").read_text())

    def test_revert_touches_nothing_else(self):
        task = self.proven_task()
        (task / ".gitignore").write_text("*.log\n")
        (task / "notes.txt").write_text("mine, untracked\n")
        (task / "run.log").write_text("mine, ignored\n")
        (task / "solution/.editor").write_text("mine, hidden\n")
        (task / "solution/halve.o").write_text("mine, built\n")
        (task / "README").write_text("committed\n")
        self.git(task, "add", "README", ".gitignore")
        self.git(task, "commit", "-qm", "mine")
        (task / "README").write_text("staged\n")
        self.git(task, "add", "README")
        (task / "README").write_text("staged, then changed\n")
        (task / "stashed").write_text("1\n")
        self.git(task, "add", "stashed")
        self.git(task, "stash", "push", "-q", "--", "stashed")
        mine = ("solution/halve.cpp", "ITERATIONS.md", "context/", "bench/", "git rev-parse", "git for-each-ref")
        without = lambda: {k: v for k, v in self.picture(task, without=mine).items() if not k.startswith(mine)}
        before = without()
        for path in ("notes.txt", "run.log", "solution/.editor", "solution/halve.o", "README"):
            self.assertIn(path, before)
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        (task / "solution/extra.hpp").write_text("// of the candidate\n")
        reply = self.ako("try", "--hypothesis", "zeros", at=task, exit=11)
        self.assertFalse((task / "solution/extra.hpp").exists())
        self.assertIn("of the candidate", self.git(task, "show", f"{reply.data['kept_ref']}:solution/extra.hpp"))
        self.assertEqual(without(), before)
        self.assertEqual(self.git(task, "show", ":README"), "staged\n")
        self.assertEqual(self.git(task, "show", "HEAD:README"), "committed\n")

    def test_text_that_people_add_survives(self):
        task = self.proven_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        self.ako("try", "--hypothesis", "zeros", at=task, exit=11)
        for name in ("ITERATIONS.md", "context/halve_notes.md"):
            (task / name).write_text((task / name).read_text() + "\nwritten by hand\n")
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 1;")
        self.ako("try", "--hypothesis", "ones", at=task, exit=11)
        for name in ("ITERATIONS.md", "context/halve_notes.md"):
            self.assertIn("written by hand", (task / name).read_text())
        self.assertIn("ones", (task / "ITERATIONS.md").read_text())

    def test_spaces_and_umlauts(self):
        task = self.make_task(self.folder / "mit Leerzeichen" / "Größe 'ü' & $x")
        odd = "solution/hälfte neu.cpp"
        (task / "solution/halve.cpp").rename(task / odd)
        self.edit(task / "task.toml", "solution/halve.cpp", odd)
        self.quietly("check", at=task)
        self.ako("refs", "read", "--required", at=task, exit=0)
        self.quietly("baseline", at=task)
        good = (task / odd).read_text()
        (task / odd).write_text(good.replace("0.5f * x[i]", "0"))
        reply = self.ako("try", "--hypothesis", "Größe — „gerade“ 'x' $(true)", at=task, exit=11)
        self.assertTrue(reply.data["commit"])
        self.assertEqual((task / odd).read_text(), good)
        self.assertEqual(reply.data["restored"], [odd])
        self.assertIn("Größe — „gerade“ 'x' $(true)", self.git(task, "log", "-1", "--format=%s"))
        self.ako("verify", at=task, exit=0)
        (task / odd).write_text(good.replace("0.5f * x[i]", "z"))
        reply = self.ako("try", "--hypothesis", "h", at=task, exit=13)
        self.assertEqual(reply.data["compiler_messages"][0]["file"], odd)


@measured
class Stall(Case):
    def test_three_that_are_correct_and_not_better_ask_for_a_direction(self):
        task = self.proven_task()
        reply = None
        for attempt in range(40):  # a disturbed measurement does not count
            self.solution(task, rounds=30000000 + attempt)
            words = ("--explore",) if attempt == 0 else ()
            reply = self.ako("try", "--hypothesis", f"attempt {attempt}", *words, at=task, exit=(10, 14))
            if attempt == 0:
                self.assertEqual(self.ako("status", at=task, exit=0).data["not_better_in_a_row"], 0)
            if reply.data["stalled"]:
                break
        self.assertTrue(reply.data["stalled"], reply)
        self.assertGreaterEqual(len(reply.data["lessons"]), 4)
        self.assertIn("attempt 1", "\n".join(reply.data["lessons"]))
        self.solution(task, rounds=1210000000)
        before, events = self.picture(task), self.events(task)
        self.refused("try", "--hypothesis", "one more", at=task, exit=4, says=("direction", "--direction"))
        self.intact(task, before, events)
        self.ako("try", "--hypothesis", "one more", "--direction", "less traffic", at=task, exit=(10, 14))
        self.assertEqual(self.ako("status", at=task, exit=0).data["closed_gates"], [])

    def test_ctrl_c_while_the_incumbent_is_looked_at_again_takes_nothing_back(self):
        task = self.proven_task()
        reply = None
        for attempt in range(40):
            self.solution(task, rounds=30000000 + attempt)
            words = ("try", "--hypothesis", f"attempt {attempt}")
            if self.ako("status", at=task, exit=0).data["not_better_in_a_row"] < 2:
                self.ako(*words, at=task, exit=(10, 14))
                continue
            before = len([kind for _, kind, _ in self.events(task) if kind == "committed"])
            settled = lambda: len([kind for _, kind, _ in self.events(task) if kind == "committed"]) > before
            process = self.start(*words, "--json", at=task)
            self.assertTrue(wait_until(lambda: process.poll() is not None or settled(), 60))
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            reply = self.judged("try", self.finish(process))
            if reply.code == 130:
                break
        self.assertEqual(reply.code, 130, reply)
        self.whole(reply, says="is on record and settled")
        status = self.ako("status", at=task, exit=0).data
        self.assertEqual([gate["gate"] for gate in status["closed_gates"]], ["direction"])
        self.assertEqual((task / "solution/halve.cpp").read_text(), (task / "input/halve.cpp").read_text())
        iterations = (task / "ITERATIONS.md").read_text()
        self.assertIn("the incumbent was not measured again", iterations)
        self.assertIn(f"attempt {attempt}", iterations)
        self.assertEqual(self.git(task, "status", "--porcelain", "--untracked-files=no"), "")
        self.ako("verify", at=task, exit=0)


if __name__ == "__main__":
    main()
