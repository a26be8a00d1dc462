"""A machine that does not play along: no compiler, one that hangs, no space, no permission, clocks that jump."""

import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess

from tool import AKO, MARKED, QUESTIONS, SANITIZED, WAIVED, Case, alive, main, wait_until

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/cpu/rmsnorm_bf16"


class Compilers(Case):
    def path_without_compilers(self):
        """A PATH with everything that git needs and no compiler."""
        tools = self.folder / "tools"
        tools.mkdir()
        for name in ("git", "sh", "env", "cat", "sed", "sleep"):
            (tools / name).symlink_to(shutil.which(name))
        return {"PATH": str(tools), "XDG_CACHE_HOME": str(self.folder / "cache")}

    def script(self, text):
        path = self.folder / "compiler"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def with_compiler(self, task, path):
        self.edit(task / "task.toml", "[kernel]\n", f'[kernel]\ncompiler = "{path}"\n')

    def test_none(self):
        task = self.make_task()
        env = self.path_without_compilers()
        before = self.picture(task)
        for command in (("check",), ("try", "--hypothesis", "h", "--waive", "w"), ("baseline", "--waive", "w")):
            reply = self.refused(*command, at=task, exit=3, kind="environment", says="g++", env=env)
            self.assertEqual(reply.json["fault"], "machine")
            self.intact(task, before, [])
        reply = self.refused("doctor", exit=3, kind="environment", env=env,
                             says=("nothing can be judged on this machine", "every lane", "one lane that works"))
        self.assertEqual((reply.json["outcome"], reply.json["fault"]), ("environment", "machine"))
        lanes = [row for row in reply.data["findings"] if row["what"].startswith("lane ")]
        self.assertTrue(lanes and all(row["state"] == "missing" for row in lanes), lanes)
        text = self.run_text("doctor", env=env)
        self.assertEqual(text.code, 3)
        self.assertRegex(text.out, r"nothing can be judged on this machine as it is\n  where: +every lane\n")

    def test_children_that_do_not_start(self):
        for child in ("/no/such/child", "/bin/true"):
            reply = self.refused("doctor", exit=3, kind="environment", says="nothing can be judged", env={"AKO_CHILD": child})
            self.assertEqual(reply.error["where"], "children")
        self.ako("doctor", exit=0)

    def test_one_that_is_named_and_absent(self):
        task = self.make_task()
        self.with_compiler(task, "/no/such/compiler")
        before = self.picture(task)
        self.refused("check", at=task, exit=3, kind="environment", says=("kernel.compiler", "/no/such/compiler", "g++ or clang++"))
        self.intact(task, before, [])

    def hangs(self, text):
        task = self.make_task()
        pids = self.folder / "pids"
        self.edit(task / "task.toml", "build_seconds = 60", "build_seconds = 1")
        self.with_compiler(task, self.script(f"echo $$ >> {pids}\n" + text))
        before = self.picture(task)
        reply = self.refused("check", at=task, exit=3, limit=60)
        self.assertLess(reply.seconds, 40)
        self.intact(task, before, [])
        for pid in map(int, pids.read_text().split()):
            self.assertFalse(alive(pid), "the compiler outlives ako")
        return task, reply

    def test_one_that_hangs_while_compiling(self):
        task, reply = self.hangs(QUESTIONS + "sleep 1000\n")
        self.assertEqual(reply.error["kind"], "timeout")
        self.assertIn("1 s", reply.error["message"])

    def test_one_that_hangs_at_the_candidate_alone_costs_nothing_of_it(self):
        task = self.proven_task()
        self.edit(task / "task.toml", "build_seconds = 60", "build_seconds = 5")
        self.compiler_for_marked(task, "sleep 1000")
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;", extra=MARKED)
        (task / "solution/more.hpp").write_text("// mine too\n")
        solution = {path.name: path.read_bytes() for path in (task / "solution").iterdir()}
        reply = self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=13)
        self.assertEqual((reply.json["outcome"], reply.json["fault"]), ("timeout", "candidate"), reply)
        self.assertIn("the compiler did not finish the candidate in 5 s", reply.data["verdict"]["outcome"]["reason"])
        self.assertEqual((reply.data["decision"], reply.data["restored"], reply.data["kept_ref"]), ("revert", [], ""))
        self.assertEqual({path.name: path.read_bytes() for path in (task / "solution").iterdir()}, solution)
        self.assertFalse([warning for warning in reply.json["warnings"] if "edited" in warning], reply)
        self.assertEqual(self.git(task, "show", "HEAD:solution/halve.cpp").encode(), solution["halve.cpp"])
        # It makes way when it was built and judged.
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        reply = self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11)
        self.assertEqual(reply.data["restored"], ["solution/halve.cpp"])
        self.assertFalse((task / "solution/more.hpp").exists())

    def test_one_that_hangs_at_every_question(self):
        self.hangs("sleep 1000\n")

    def test_ctrl_c_while_it_hangs(self):
        task = self.make_task()
        pids = self.folder / "pids"
        self.with_compiler(task, self.script(
            f"{QUESTIONS}echo $$ > {pids}\nsleep 1000\n"))
        before = self.picture(task)
        process = self.start("check", "--json", at=task)
        self.assertTrue(wait_until(lambda: pids.exists() and pids.read_text().strip()))
        process.send_signal(signal.SIGINT)
        reply = self.judged("check", self.finish(process, 10), exit=130)
        self.whole(reply)
        self.assertFalse(alive(int(pids.read_text())), "the compiler outlives ako")
        self.intact(task, before, [])

    def test_one_that_fails_without_a_word(self):
        task = self.make_task()
        self.with_compiler(task, self.script(QUESTIONS + "exit 7\n"))
        before = self.picture(task)
        reply = self.ako("check", at=task, exit=(2, 3))
        self.whole(reply, says="7")
        self.intact(task, before, [])


class Space(Case):
    def test_files_may_not_grow(self):
        """Every size at which a write of the commands may be cut short, by the limit on file sizes."""
        task = self.recorded_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        for limit in (0, 4096, 20000, 60000, 150000):
            before, events = self.picture(task), self.events(task)
            cache = self.folder / f"cache-{limit}"
            reply = self.ako("try", "--hypothesis", f"limit {limit}", *WAIVED, at=task, env={"XDG_CACHE_HOME": str(cache)},
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertNotIn(reply.code, (70, -25), reply)
            if reply.error is None:
                self.assertIn(reply.code, (11, 13), reply)
                self.solution(task, body=f"  for (int i = 0; i < n; ++i) y[i] = {limit};")
            else:
                self.assertEqual(reply.code, 3, reply)
                self.whole(reply)
                self.assertEqual(self.picture(task), before)
            self.assertEqual(self.events(task)[:len(events)], events)
            self.ako("verify", at=task, exit=0)
        self.ako("try", "--hypothesis", "room again", *WAIVED, at=task, exit=11)

    def small_disk(self, kib):
        """A tmpfs of so many KiB; skipped visibly where it may not be mounted."""
        place = self.folder / "disk"
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(place)], capture_output=True,
                              text=True)
        if done.returncode != 0:
            self.skipTest(f"a small disk may not be mounted here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", str(place)])
        return place

    def test_a_full_disk(self):
        """The disk is full when the record is to be written, then it is not: nothing is lost and it goes on."""
        place = self.small_disk(8192)
        task = place / "task"
        shutil.copytree(self.recorded_task(), task, symlinks=True)
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        before, events = self.picture(task), self.events(task)
        filler = open(place / "filler", "wb", buffering=0)
        try:
            while True:
                filler.write(b"\0" * 4096)
        except OSError:
            pass
        reply = self.refused("try", "--hypothesis", "no room", *WAIVED, at=task, exit=3)
        self.assertIn("no space left", " ".join(reply.error.values()).lower())
        self.intact(task, before, events)
        filler.close()
        (place / "filler").unlink()
        self.ako("verify", at=task, exit=0)
        self.ako("try", "--hypothesis", "room again", *WAIVED, at=task, exit=11)

    def test_no_room_for_the_cache(self):
        place = self.small_disk(64)
        (place / "filler").write_bytes(b"\0" * 40000)
        task = self.make_task()
        before = self.picture(task)
        reply = self.refused("check", at=task, exit=3, env={"XDG_CACHE_HOME": str(place)})
        self.assertIn("XDG_CACHE_HOME", " ".join(reply.error.values()))
        self.intact(task, before, [])


class Permission(Case):
    """As root nothing is forbidden: the command then runs as another user."""

    def as_user(self, task):
        if os.geteuid() != 0:
            return {}
        for path in [self.top, self.folder]:
            path.chmod(0o755)
        shutil.chown(self.folder, 65534, 65534)
        for path in [*task.rglob("*"), task]:
            os.chown(path, 65534, 65534, follow_symlinks=False)
        home = self.folder / "home"
        home.mkdir()
        shutil.chown(home, 65534, 65534)
        runtime = self.folder / "runtime"
        runtime.mkdir()
        shutil.chown(runtime, 65534, 65534)
        probe = subprocess.run([AKO, "--version"], user=65534, group=65534, extra_groups=[], capture_output=True)
        if probe.returncode != 0:
            self.skipTest("the program cannot be run as another user from where it was built")
        return {"user": 65534, "group": 65534, "extra_groups": [], "umask": 0o022,
                "env": {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "AKO_RUNTIME_DIR": str(runtime)}}

    def test_a_record_that_may_not_be_written(self):
        task = self.recorded_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        as_user = self.as_user(task)
        before, events = self.picture(task), self.events(task)
        records = self.ledger_of(task).parent
        for path in records.iterdir():
            path.chmod(0o444)
        records.chmod(0o555)
        try:
            reply = self.refused("try", "--hypothesis", "h", *WAIVED, at=task, exit=3, says=str(records), **as_user)
            self.assertIn("Permission denied", " ".join(reply.error.values()))
            for command in ("status", "log", "verify"):
                self.ako(command, at=task, exit=0, **as_user)
        finally:
            records.chmod(0o755)
            for path in records.iterdir():
                path.chmod(0o644)
        self.intact(task, before, events)
        self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11, **as_user)

    def test_a_task_in_which_nothing_may_be_written(self):
        """Told before anything is judged: nothing goes on record whose texts could not follow."""
        task = self.recorded_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        as_user = self.as_user(task)
        before, events = self.picture(task), self.events(task)
        task.chmod(0o555)
        try:
            reply = self.refused("try", "--hypothesis", "h", *WAIVED, at=task, exit=3, says=(str(task), "Permission denied"), **as_user)
        finally:
            task.chmod(0o755)
        self.assertEqual(self.intact(task, before, events), events, reply)
        self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11, **as_user)

    def test_a_source_that_may_not_be_read(self):
        task = self.recorded_task()
        as_user = self.as_user(task)
        before, events = self.picture(task), self.events(task)
        (task / "solution/halve.cpp").chmod(0)
        try:
            self.refused("try", "--hypothesis", "h", *WAIVED, at=task, exit=(2, 3), says="solution/halve.cpp", **as_user)
        finally:
            (task / "solution/halve.cpp").chmod(0o644)
        self.intact(task, before, events)

    def everything(self, folder):
        return {str(path.relative_to(folder)): (oct(path.lstat().st_mode), path.read_bytes() if path.is_file() else None)
                for path in folder.rglob("*")}

    def read_as_it_came(self, task, **more):
        """A finished task without a ledger of its own: readers show the record it came with, say so and leave nothing."""
        before = self.everything(task)
        came = f"the record that the task came with ({task}/record/ledger.sqlite)"
        rows = self.ako("log", "--all", at=task, exit=0, **more)
        numbers = [row["number"] for row in rows.data["rows"]]
        self.assertGreater(len(numbers), 2)
        shown = self.ako("show", numbers[-1], at=task, exit=0, **more)
        self.assertEqual(shown.data["iteration"]["number"], numbers[-1])
        status = self.ako("status", at=task, exit=0, **more)
        self.assertEqual(status.data["iterations"], len(numbers))
        self.assertTrue(status.data["incumbent"]["confirmed"], status.data)
        self.assertIn("contract-proven", [gate["gate"] for gate in status.data["closed_gates"]], "another machine's proof opens nothing")
        into = self.folder / "reports"
        into.mkdir(exist_ok=True)
        into.chmod(0o777)
        report = self.ako("report", "--into", str(into), at=task, exit=0, **more)
        self.assertIn("% against the baseline", self.run_text("report", "--into", str(into), at=task, **more).out)
        verified = self.ako("verify", at=task, exit=0, **more)
        for reply in (rows, shown, status, report, verified):
            self.assertEqual(len([warning for warning in reply.json["warnings"] if came in warning]), 1, reply.json["warnings"])
        self.assertEqual(self.everything(task), before)

    def test_a_finished_task_is_read_outside_git(self):
        task = self.folder / EXAMPLE.name
        shutil.copytree(EXAMPLE, task)
        self.read_as_it_came(task)
        self.refused("try", "--hypothesis", "h", *WAIVED, at=task, exit=3, says=("no git repository", "git init"))
        self.refused("check", at=task, exit=3, says="no git repository")
        shutil.rmtree(task / "record")
        for command in ("log", "status", "show"):
            self.refused(command, at=task, exit=3, says=("no git repository", "git init"))

    def test_a_finished_task_is_read_in_a_checkout_that_may_not_be_written(self):
        task = self.folder / EXAMPLE.name
        shutil.copytree(EXAMPLE, task)
        self.git(task, "init", "-q", "-b", "main")
        self.git(task, "add", "-A")
        self.git(task, "commit", "-qm", "task")
        as_user = self.as_user(task)
        folders = [path for path in [task, *task.rglob("*")] if path.is_dir()]
        for path in folders:
            path.chmod(0o555)
        try:
            self.read_as_it_came(task, **as_user)
        finally:
            for path in folders:
                path.chmod(0o755)
        self.read_as_it_came(task, **as_user)
        self.assertFalse((task / ".git/ako").exists())

    def test_to_look_at_a_new_task_makes_nothing(self):
        task = self.make_task()
        self.ako("status", at=task, exit=0)
        for command in ("log", "show", "verify", "report"):
            self.refused(command, at=task, exit=4, says="nothing is on record")
        self.assertFalse((task / ".git/ako").exists())

    def test_a_folder_in_which_nothing_may_be_made(self):
        folder = self.folder / "closed"
        folder.mkdir()
        as_user = self.as_user(folder)
        folder.chmod(0o555)
        self.refused("new", "task", at=folder, exit=3, says="closed", **as_user)
        self.assertEqual(list(folder.iterdir()), [])
        folder.chmod(0o755)


CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
/* The wall clock stands a year apart at every look, now behind, now ahead; other clocks are left alone. */
static long jump(void) { static int looks; return ++looks % 2 ? -31536000 : 31536000; }
int clock_gettime(clockid_t id, struct timespec* out) {
  int (*real)(clockid_t, struct timespec*) = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, out);
  if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) out->tv_sec += jump();
  return result;
}
time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
"""


class Clock(Case):
    def test_a_wall_clock_that_jumps(self):
        (self.folder / "clock.c").write_text(CLOCK)
        compiler = shutil.which("cc") or shutil.which("gcc")
        library = self.folder / "clock.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, self.folder / "clock.c", "-ldl"], check=True)
        env = {"LD_PRELOAD": str(library)}
        if SANITIZED:
            self.skipTest("another library is to be loaded first under a sanitizer")
        task = self.recorded_task()
        calm = len(self.events(task))
        for step in range(2):
            self.solution(task, body=f"  for (int i = 0; i < n; ++i) y[i] = {step};")
            self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11, env=env)
            self.ako("verify", at=task, exit=0, env=env)
        self.solution(task, rounds=30000000)
        reply = self.ako("try", "--hypothesis", "slower", *WAIVED, at=task, exit=(10, 14), env=env)
        self.assertGreater(reply.data["timing"]["total_ns"], 0)
        self.assertLess(reply.data["timing"]["total_ns"], 60e9)
        for shape in reply.data["verdict"]["shapes"]:
            self.assertLess(shape["new_ns"], 1e9)
        rows = self.ako("log", at=task, exit=0, env=env).data["rows"]
        self.assertEqual([row["number"] for row in rows], [1, 2, 3, 4])
        shown = self.ako("show", "4", at=task, exit=0).data["iteration"]
        self.assertLess(abs(shown["seconds"]), 60)
        self.ako("report", at=task, exit=0, env=env)
        # The program did see it jump, both ways and by more than a year.
        with sqlite3.connect(f"file:{self.ledger_of(task)}?mode=ro", uri=True) as db:
            seen = [ts / 1e9 for ts, in db.execute("SELECT ts FROM event ORDER BY seq")][calm:]
        steps = [after - before for before, after in zip(seen, seen[1:])]
        self.assertGreater(max(steps), 300 * 86400)
        self.assertLess(min(steps), -300 * 86400)


if __name__ == "__main__":
    main()
