"""Drives the real `ako` in temporary folders. AKO names the program, AKO_E2E_RUNTIME the folder of the lock that
keeps e2e programs from measuring at the same time."""

import json
import mmap
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import python_cases
from python_cases import measured

AKO = os.environ["AKO"]
with open(AKO, "rb") as program, mmap.mmap(program.fileno(), 0, access=mmap.ACCESS_READ) as words:
    SANITIZED = any(words.find(name) >= 0 for name in (b"\0__asan_init\0", b"\0__tsan_init\0"))
PATIENCE = 4 if SANITIZED else 1
SOURCE = pathlib.Path(__file__).parent / "task"
OUTCOMES = set("""improved equivalent regressed undecided incorrect suspect build_failed launch_failed crashed timeout
invalid_measurement unsupported task_error environment stale interrupted""".split())
EXIT_OF_OUTCOME = {
    "improved": 0, "equivalent": 10, "regressed": 10, "undecided": 10, "incorrect": 11, "suspect": 12,
    "build_failed": 13, "launch_failed": 13, "crashed": 13, "timeout": 13, "invalid_measurement": 14, "stale": 14,
    "unsupported": 3, "environment": 3, "task_error": 2, "interrupted": 130}
FAULTS = {"none", "candidate", "task", "machine", "ako"}
EXIT_OF_ERROR = {
    "usage": 2, "invalid": 2, "environment": 3, "unsupported": 3, "io": 3, "timeout": 3, "refused": 4, "stale": 14,
    "internal": 70, "interrupted": 130}
ENVELOPE = {"schema", "command", "exit", "outcome", "fault", "data", "error", "warnings"}
WAIVED = ("--waive", "nothing is measured here")
TIMED = re.compile(r"(^|_)(time|duration|elapsed|wall|latency|p50|p95|mean|old|new|floor)($|_)")
UNITS = ("_ns", "_seconds", "_bytes_per_s")
# Answers what ako asks of a compiler before it compiles.
QUESTIONS = 'case " $* " in *" --version "*|*" -print"*|*" -v "*) exec g++ "$@";; esac\n'
MARKED = "// MARKED\n"


def no_constants(word):
    raise ValueError(f"{word} in JSON")


class Reply:
    """What one run of ako came to."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds
        self.json = None

    def __repr__(self):
        words = self.out[:3000]
        if self.json:
            verdict = (self.json["data"] or {}).get("verdict", {}).get("outcome", {})
            words = f"{self.json['outcome']} {self.json['fault']} {verdict.get('reason', '')} {self.json['error'] or ''}"
        return f"exit {self.code} after {self.seconds:.1f} s: {words}\n{self.err[:3000]}"

    @property
    def error(self):
        return self.json["error"]

    @property
    def data(self):
        return self.json["data"]


class Case(unittest.TestCase):
    """A test with a folder of its own, a neutral environment and checks that every command must pass."""

    maxDiff = None
    insists = False  # on being measured
    patience = 60  # seconds, with a machine that is too busy to measure on
    too_busy = None

    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="ako-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        runtime = pathlib.Path(os.environ.get("AKO_E2E_RUNTIME", cls.top / "runtime"))
        runtime.mkdir(parents=True, exist_ok=True)
        (cls.top / "home").mkdir()
        cls.environment = {
            "PATH": os.environ["PATH"], "HOME": str(cls.top / "home"), "XDG_CACHE_HOME": str(cls.top / "cache"),
            "AKO_RUNTIME_DIR": str(runtime), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "AKO_CHILD"):
            if name in os.environ:
                cls.environment[name] = os.environ[name]

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.top, prefix="t-"))

    # --- running -----------------------------------------------------------------------------------------------

    def start(self, *words, at=None, env=None, cites="loop", **more):
        """ako in the background; the caller waits for it with finish(). A step that cites nothing cites `cites`."""
        if words[0] == "try" and "--hypothesis" in words and "--cites" not in words and cites:
            words = (*words, "--cites", cites)
        process = subprocess.Popen(
            [AKO, *map(str, words)], cwd=at or self.folder, env={**self.environment, **(env or {})},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        process.began = time.monotonic()
        self.addCleanup(lambda: (process.kill(), process.communicate()) if process.poll() is None else None)
        return process

    def finish(self, process, limit=120):
        out, err = process.communicate(timeout=limit * PATIENCE)
        return Reply(process.returncode, out.decode(), err.decode(), time.monotonic() - process.began)

    def run_text(self, *words, **more):
        return self.finish(self.start(*words, **more))

    def ako(self, *words, exit=None, limit=120, **more):
        """ako with --json; the envelope is checked whatever it says."""
        return self.judged(words[2] if words[0] == "-C" else words[0], self.finish(self.start(*words, "--json", **more), limit), exit)

    def judged(self, command, reply, exit=None):
        try:
            reply.json = json.loads(reply.out, parse_constant=no_constants)
        except ValueError as problem:
            self.fail(f"stdout is not one JSON object: {problem}\n{reply}")
        self.check_envelope(reply, command)
        if exit is not None:
            allowed = exit if isinstance(exit, (tuple, set, list)) else (exit,)
            self.assertIn(reply.code, allowed, reply)
        return reply

    def check_envelope(self, reply, command):
        envelope = reply.json
        self.assertEqual(set(envelope), ENVELOPE)
        self.assertEqual(envelope["schema"], 1)
        self.assertEqual(envelope["command"], command)
        self.assertEqual(envelope["exit"], reply.code, reply)
        self.assertIn(envelope["fault"], FAULTS)
        self.assertIsInstance(envelope["warnings"], list)
        for warning in envelope["warnings"]:
            self.assertIsInstance(warning, str)
        if envelope["error"] is None:
            self.assertIsInstance(envelope["data"], dict)
            outcome = envelope["outcome"]
            self.assertEqual(reply.code, 0 if outcome is None else EXIT_OF_OUTCOME[outcome], reply)
        else:
            error = envelope["error"]
            self.assertEqual(set(error), {"kind", "message", "where", "found", "allowed", "next"})
            for text in error.values():
                self.assertIsInstance(text, str)
            self.assertEqual(reply.code, EXIT_OF_ERROR[error["kind"]])
            if envelope["outcome"] is None:
                self.assertIsNone(envelope["data"])
            else:  # a failure with all that led to it
                self.assertIsInstance(envelope["data"], dict)
                self.assertEqual(reply.code, EXIT_OF_OUTCOME[envelope["outcome"]], reply)
            self.assertTrue(error["message"], reply)
        self.check_units(envelope["data"])

    def check_units(self, value, key=""):
        """Times carry their unit in the name."""
        if isinstance(value, dict):
            for name, inner in value.items():
                if name not in ("contract", "foreign_load", "clock_ratio"):  # the task's own words; shares
                    self.check_units(inner, name)
        elif isinstance(value, list):
            for inner in value:
                self.check_units(inner, key)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and TIMED.search(key):
            self.assertTrue(key.endswith(UNITS), f"{key} = {value} says no unit")

    def quietly(self, *words, **more):
        """A command that must succeed; while the machine is too busy to measure on, it is given more chances. Then the
        test is skipped and says so, but for the one that insists on a measurement."""
        cls = type(self)
        if cls.too_busy:
            self.skipTest(cls.too_busy)
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            reply = self.ako(*words, exit=(0, 3, 14), **more)
            if reply.code == 0:
                return reply
            self.assertEqual(reply.json["fault"], "machine", reply)
            if reply.code == 3:
                self.assertIn("quiet", reply.error["allowed"], reply)
        cls.too_busy = f"{python_cases.BUSY} to measure on: {reply}"
        if cls.insists:
            self.fail(cls.too_busy)
        self.skipTest(cls.too_busy)

    def refused(self, *words, exit, says=(), kind=None, **more):
        """The command ends with one whole message: what, where, and what is allowed or to be done."""
        reply = self.ako(*words, exit=exit, **more)
        self.assertIsNotNone(reply.error, reply)
        self.whole(reply, says, kind)
        return reply

    def whole(self, reply, says=(), kind=None):
        error = reply.error
        for part in ("message", "where", "allowed", "next"):
            stopped = error["kind"] == "interrupted" and part == "allowed"  # a stop allows nothing
            self.assertTrue(error[part] or stopped, f"the message does not say: {part}: {reply}")
        if kind:
            self.assertEqual(error["kind"], kind, reply)
        everything = " | ".join(error.values())
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, everything)

    # --- tasks -------------------------------------------------------------------------------------------------

    def make_task(self, where=None):
        """The task of task/ in a git repository, nothing on record."""
        task = pathlib.Path(where or self.folder / "task")
        shutil.copytree(SOURCE, task)
        self.git(task, "init", "-q", "-b", "main")
        self.git(task, "add", "-A")
        self.git(task, "commit", "-qm", "task")
        return task

    def git(self, at, *words):
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "-c", "user.name=t", "-c", "user.email=t@localhost", *words], cwd=at, env=self.environment,
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def proven_task(self):
        """A copy of one task that was checked and whose baseline was measured, once for the whole class."""
        cls = type(self)
        if cls.too_busy:
            self.skipTest(cls.too_busy)
        if not hasattr(cls, "proven"):
            shutil.rmtree(cls.top / "proven", ignore_errors=True)  # of a case whose machine was too busy, or that failed
            task = self.make_task(cls.top / "proven" / "task")
            self.quietly("check", at=task)
            self.ako("refs", "read", "--required", at=task, exit=0)
            self.quietly("baseline", at=task)
            cls.proven = task
        task = self.folder / "task"
        shutil.copytree(cls.proven, task, symlinks=True)
        return task

    def recorded_task(self):
        """A task with one wrong iteration on record, its gates waived: nothing was measured."""
        task = self.make_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = -1;")
        self.ako("try", "--hypothesis", "nothing yet", *WAIVED, at=task, exit=11)
        return task

    def solution(self, task, rounds=None, body=None, extra=""):
        """Another candidate: other waiting, or another loop body."""
        text = (SOURCE / "solution/halve.cpp").read_text()
        if rounds is not None:
            text = text.replace("12000000", str(rounds))
        if body is not None:
            text = re.sub(r"  for \(int i = 0; i < n.*\n", lambda _: body + "\n", text)
        (task / "solution/halve.cpp").write_text(extra + text)

    def compiler_for_marked(self, task, does):
        """g++, but that it first `does` something when it is given a candidate with the line MARKED: its sources have been
        read by then, and nothing is judged yet."""
        path = self.folder / "compiler"
        path.write_text(f"#!/bin/sh\n{QUESTIONS}if grep -qs '{MARKED.strip()}' solution/halve.cpp; then\n{does}\nfi\nexec g++ \"$@\"\n")
        path.chmod(0o755)
        self.edit(task / "task.toml", "[kernel]\n", f'[kernel]\ncompiler = "{path}"\n')
        self.git(task, "commit", "-qam", "another compiler")

    def edit(self, path, old, new):
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def ledger_of(self, task):
        own = common = task / ".git"
        if own.is_file():  # a work tree of its own
            own = pathlib.Path(own.read_text().removeprefix("gitdir: ").strip())
            common = own.parents[1]
        named = own / "ako-records"
        found = list((common / "ako").glob((named.read_text() if named.is_file() else "*") + "/ledger.sqlite"))
        return found[0] if found else None

    def events(self, task):
        """(seq, kind, hash) of every event on record."""
        path = self.ledger_of(task)
        if path is None:
            return []
        with tempfile.TemporaryDirectory(dir=self.top) as copy:
            for part in ("", "-wal"):
                if pathlib.Path(str(path) + part).exists():
                    shutil.copy(str(path) + part, pathlib.Path(copy) / ("ledger.sqlite" + part))
            with sqlite3.connect(pathlib.Path(copy) / "ledger.sqlite") as db:
                return db.execute("SELECT seq, kind, hash FROM event ORDER BY seq").fetchall()

    def payloads(self, task, kind):
        """What the events of a kind say, as JSON texts."""
        with sqlite3.connect(f"file:{self.ledger_of(task)}?mode=ro", uri=True) as db:
            return [text for (text,) in db.execute("SELECT json FROM event WHERE kind = ? ORDER BY seq", (kind,))]

    def notes(self, task):
        """(seq, text) of every note on record."""
        with sqlite3.connect(f"file:{self.ledger_of(task)}?mode=ro", uri=True) as db:
            return [(seq, json.loads(text)["text"]) for seq, text in db.execute("SELECT seq, json FROM event WHERE kind = 'note' ORDER BY seq")]

    def picture(self, task, without=()):
        """Everything that is the user's: files with modes and bytes, index, branch, stashes."""
        seen = {}
        for path in sorted(task.rglob("*")):
            name = str(path.relative_to(task))
            if name.split("/")[0] == ".git" or name.startswith(tuple(without)) or (path.is_dir() and not path.is_symlink()):
                continue
            info = path.lstat()
            content = os.readlink(path) if path.is_symlink() else \
                path.read_bytes() if path.is_file() and info.st_size < 1 << 20 else info.st_size
            seen[name] = (oct(info.st_mode), content)
        for words in (("ls-files", "-s"), ("stash", "list"), ("for-each-ref", "refs/heads"), ("rev-parse", "HEAD")):
            seen["git " + words[0]] = "\n".join(
                line for line in self.git(task, *words).splitlines() if not line.split("\t")[-1].startswith(tuple(without) or ("\0",)))
        return seen

    def intact(self, task, before, events):
        """Nothing of the user's has changed, nothing on record is lost, and the record verifies."""
        self.assertEqual(self.picture(task), before)
        now = self.events(task)
        self.assertEqual(now[:len(events)], events)
        return now


def wait_until(true, limit=30):
    end = time.monotonic() + limit * PATIENCE
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.02)
    return False


def descendants(pid):
    """Processes below `pid`, by /proc."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat[stat.rindex(")") + 2:].split()[1]), []).append(int(entry.name))
    out, todo = [], [pid]
    while todo:
        below = parents.get(todo.pop(), [])
        out += below
        todo += below
    return out


def alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    python_cases.main()
