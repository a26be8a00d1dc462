"""Stopped by the user, killed at any moment, run twice at once: nothing on record is lost and the next command carries
on."""

import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/loop"))
import kill_try
from tool import WAIVED, Case, alive, descendants, main, measured, wait_until

SLOW_CALL = 60000000  # rounds of waiting in one call: about fifty milliseconds


class Stops(Case):
    def slow_task(self):
        """Evaluations take some seconds here: there is time to stop them."""
        task = self.recorded_task()
        self.solution(task, rounds=SLOW_CALL)
        return task

    def running_try(self, task, **more):
        process = self.start("try", "--hypothesis", "to be stopped", *WAIVED, "--json", at=task, start_new_session=True, **more)
        self.assertTrue(wait_until(lambda: len(descendants(process.pid)) >= 3), "no children came to be")
        return process

    def test_ctrl_c_ends_it_as_interrupted_and_leaves_the_task(self):
        for delay in (0.0, 0.3):
            task = self.slow_task()
            before, events = self.picture(task), self.events(task)
            process = self.running_try(task)
            time.sleep(delay)
            children = descendants(process.pid)
            process.send_signal(signal.SIGINT)
            reply = self.judged("try", self.finish(process, 20), exit=130)
            self.assertEqual(reply.error["kind"], "interrupted")
            self.assertEqual(reply.json["fault"], "none")
            self.whole(reply, says="run the same command again")
            now = self.intact(task, before, events)
            self.assertEqual([kind for _, kind, _ in now[len(events):] if kind != "waiver"], ["interrupted"])
            self.assertFalse([pid for pid in children if alive(pid)], "children outlive it")
            self.ako("verify", at=task, exit=0)
            self.assertEqual(self.ako("status", at=task, exit=0).data["iterations"], 1)
            (task / "solution").rename(task / "tried")
            (task / "solution").mkdir()
            self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
            self.assertEqual(self.ako("try", "--hypothesis", "next", *WAIVED, at=task, exit=11).data["iteration"], 2)
            subprocess.run(["rm", "-r", str(task)], check=True)

    def test_a_prediction_is_on_record_before_anything_is_measured_and_once(self):
        task = self.slow_task()
        for text, notes in (("gain >= 10 %", 1), ("gain >= 10 %", 1), ("gain >= 20 %", 2)):
            process = self.start("try", "--hypothesis", "to be stopped", *WAIVED, "--predict", text, "--json", at=task, start_new_session=True)
            self.assertTrue(wait_until(lambda: len(self.notes(task)) >= notes and len(descendants(process.pid)) >= 3), "nothing runs")
            process.send_signal(signal.SIGINT)
            self.judged("try", self.finish(process, 20), exit=130)
        notes = [text for _, text in self.notes(task)]
        self.assertEqual([text.rsplit(": ", 1)[1] for text in notes], ["gain >= 10 %", "gain >= 20 %"], "the first was made twice")
        waived = len(self.payloads(task, "waiver"))
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        self.ako("try", "--hypothesis", "next", *WAIVED, "--predict", "gain >= 20 %", at=task, exit=11)
        self.assertEqual(len(self.payloads(task, "waiver")), waived, "they are of the same iteration")
        predicted = [text for _, text in self.notes(task) if text.endswith(": gain >= 20 %")]
        self.assertEqual(len(predicted), 2, "those of other sources are another candidate's")

    def test_ctrl_c_in_a_check_is_no_failed_check(self):
        task = self.make_task()
        self.solution(task, rounds=SLOW_CALL)
        self.edit(task / "input/halve.cpp", "12000000", str(SLOW_CALL))
        before = self.picture(task)
        process = self.start("check", "--json", at=task)
        self.assertTrue(wait_until(lambda: len(descendants(process.pid)) >= 3))
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        reply = self.judged("check", self.finish(process, 30), exit=130)
        if reply.error is None:
            self.assertEqual(reply.json["outcome"], "interrupted")
            self.assertFalse(reply.data["passed"])
        self.intact(task, before, [])
        self.assertNotIn("self_test", [kind for _, kind, _ in self.events(task)])

    def test_ctrl_c_in_a_baseline_says_that_it_was_stopped(self):
        task = self.make_task()
        self.edit(task / "input/halve.cpp", "12000000", str(SLOW_CALL))
        before = self.picture(task)
        process = self.start("baseline", "--waive", "to be stopped", "--json", at=task)
        self.assertTrue(wait_until(lambda: len(descendants(process.pid)) >= 3))
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        reply = self.judged("baseline", self.finish(process, 30), exit=130)
        self.whole(reply, says=("stopped", "run the same command again"))
        self.assertNotIn("cannot be", reply.error["message"])
        self.intact(task, before, [])

    @measured
    def test_a_kill_at_any_moment_loses_nothing_on_record(self):
        task = self.proven_task()
        candidates = {"wrong": lambda n: self.solution(task, body=f"  for (int i = 0; i < n; ++i) y[i] = {n};"),
                      "slow": lambda n: self.solution(task, rounds=24000000 + n)}
        words = ("try", "--waive", "no stall here", "--hypothesis")
        whole = {}
        for name, write in candidates.items():
            write(1)
            whole[name] = self.ako(*words, name, at=task, exit=(10, 11, 14)).seconds
        last = hit = 0
        moments = [(name, part) for part in (0.05, 0.3, 0.6, 0.8, 0.92, 0.98) for name in candidates]
        for step, (name, part) in enumerate(moments, 2):
            candidates[name](step)
            tried = (task / "solution/halve.cpp").read_text()
            events = self.events(task)
            process = self.start(*words, f"killed {step}", at=task)
            time.sleep(part * whole[name])
            hit += process.poll() is None
            children = descendants(process.pid)
            process.kill()
            process.communicate()
            self.assertTrue(wait_until(lambda: not [pid for pid in children if alive(pid)], 10), "children outlive it")
            now = self.events(task)
            self.assertEqual(now[:len(events)], events)
            verify = self.ako("verify", at=task, exit=0)
            self.assertEqual(verify.data["events"], len(now))
            self.ako("status", at=task, exit=0)
            self.assertIn((task / "solution/halve.cpp").read_text(), (tried, (task / "input/halve.cpp").read_text()))
            candidates["wrong"](step + 100)
            reply = self.ako(*words, f"after {step}", at=task, exit=11)
            self.assertGreater(reply.data["iteration"], last)
            last = reply.data["iteration"]
            self.assertTrue(reply.data["commit"], reply)
        self.assertGreaterEqual(hit, 6, "most were done before they could be killed")
        rows = self.ako("log", "--all", at=task, exit=0).data["rows"]
        self.assertEqual([row["number"] for row in rows], list(range(1, last + 1)))
        self.assertEqual(self.git(task, "fsck", "--no-dangling"), "")

    def test_the_bench_of_kills_counts_those_that_came_while_a_try_ran(self):
        for lands in (lambda number: True, lambda number: number % 2 == 0, lambda number: number % 3 == 0):
            runs = []
            landed, number = kill_try.until_landed(20, lambda number, whole: runs.append(whole) or (lands(number) and not whole))
            self.assertEqual((landed, len(runs)), (20, number))
            self.assertTrue(runs[0] and runs[-1], "a try that is let run to its end stands at both ends")
        landed, number = kill_try.until_landed(20, lambda number, whole: False)
        self.assertEqual(landed, 0)
        self.assertLess(number, 100, "it ends where no kill ever lands")

    def test_two_at_once_on_one_task(self):
        task = self.slow_task()
        first = self.running_try(task)
        started = time.monotonic()
        reply = self.refused("try", "--hypothesis", "the second", *WAIVED, at=task, exit=4, kind="refused",
                             says=("another ako works on this task", str(first.pid), "wait"))
        self.refused("baseline", at=task, exit=4, says=str(first.pid))
        self.assertLess(time.monotonic() - started, 5)
        for command in ("status", "verify"):
            self.ako(command, at=task, exit=0)
        self.assertIsNone(first.poll(), "the first was done too early to be in the way")
        first.send_signal(signal.SIGINT)
        self.judged("try", self.finish(first, 20), exit=130)
        self.ako("verify", at=task, exit=0)

    def test_two_checks_at_once_on_one_task(self):
        task = self.make_task()
        for path in ("input/halve.cpp", "solution/halve.cpp"):
            self.edit(task / path, "12000000", str(SLOW_CALL))
        before = self.picture(task)
        first = self.start("check", "--json", at=task)
        # Sides are built before the task is taken, and several may build at once.
        self.assertTrue(wait_until(lambda: any(lock.read_text().strip() == str(first.pid)
                                               for lock in task.glob(".git/ako/*/lock"))), "the task was never taken")
        self.refused("check", at=task, exit=4, kind="refused",
                     says=("another ako works on this task", str(first.pid), "one command that writes at a time"))
        self.ako("check", "--build-only", at=task, exit=0)
        self.assertIsNone(first.poll(), "the first was done too early to be in the way")
        first.send_signal(signal.SIGINT)
        self.judged("check", self.finish(first, 30), exit=130)
        self.assertEqual([kind for _, kind, _ in self.events(task)], [])
        self.intact(task, before, [])

    def test_a_reader_that_goes_away_is_no_crash(self):
        task = self.recorded_task()
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.Popen([os.environ["AKO"], "log", "--all"], cwd=task, env=self.environment, stdout=writer,
                                   stderr=subprocess.PIPE)
        os.close(writer)
        process.communicate(timeout=20)
        self.assertIn(process.returncode, (0, 3))


if __name__ == "__main__":
    main()
