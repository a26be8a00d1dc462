"""Tasks, campaigns and scripted agents for the driver's tests."""

import json
import os
import pathlib
import shlex
import subprocess
import time

from tool import PATIENCE, Case, wait_until

AKO = os.environ["AKO"]

FAKE_CONTRACT = """format = 1
[kernel]
entry = { file = "solution/k.cpp", symbol = "scale" }
[axes]
N = { var = true }
[[tensor]]
name = "x"
role = "in"
dtype = "float32"
shape = ["N"]
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["N"]
[[shape]]
N = 4
[reference]
lane = "cpu"
entry = { file = "input/ref.cpp", symbol = "scale" }
[[baseline]]
name = "first"
lane = "cpu"
entry = { file = "input/ref.cpp", symbol = "scale" }
"""


class DriveCase(Case):
    def fake_task(self, name="task", lane="cpu", source="k.cpp"):
        task = self.folder / name
        for part in ("solution", "input", "context", "bench"):
            (task / part).mkdir(parents=True)
        (task / "task.toml").write_text(FAKE_CONTRACT.replace("[kernel]", f'[kernel]\nlane = "{lane}"').replace("solution/k.cpp", f"solution/{source}"))
        (task / f"solution/{source}").write_text("// speed: 1000\n")
        (task / "input/ref.cpp").write_text("// the reference\n")
        (task / "notes.txt").write_text("mine\n")
        self.git(task, "init", "-q", "-b", "main")
        self.git(task, "add", "-A")
        self.git(task, "commit", "-qm", "task")
        return task

    def campaign(self, text="", budget="iterations = 3", name="night", waive=True):
        """A campaign's file. Its agents may write to out/ beside the task as well: there tests see what they were given."""
        path = self.folder / f"{name}.toml"
        out = f'[agent]\nalso_writable = ["{self.out()}"]\n'
        text = text.replace("[agent]\n", out) if "[agent]\n" in text else text + out
        if waive:
            text += '[[waiver]]\ngate = "citation"\nwhy = "scripted agents read nothing"\n'
        head, _, rest = text.partition("[")
        path.write_text(f"format = 1\n{head}\n[budget]\n{budget}\n{'[' + rest if rest else ''}")
        return path

    def out(self):
        (self.folder / "out").mkdir(exist_ok=True)
        return self.folder / "out"

    def agent(self, script, name="agent.sh"):
        """A scripted agent: a shell script that is given the prompt on stdin."""
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return shlex.quote(str(path))

    def start_fake(self, task, campaign, agent, **more):
        return subprocess.Popen([os.environ["AKO_DRIVE_FAKE"], str(task), str(campaign), agent], cwd=self.folder,
                                env={**self.environment, "AKO": AKO, "AGENT_OUT": str(self.out()), **more},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def running(self, word):
        """Processes with this word in their command line; their own numbers may be of another world."""
        found = []
        for folder in pathlib.Path("/proc").iterdir():
            try:
                if folder.name.isdigit() and word.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                pass
        return found

    def drive(self, task, campaign, agent, exit=0, limit=120, **more):
        process = self.start_fake(task, campaign, agent, **more)
        out, err = process.communicate(timeout=limit * PATIENCE)
        self.assertEqual(process.returncode, exit, err.decode())
        self.said = err.decode()
        return json.loads(out) if exit == 0 else None

    def killed_in_a_turn(self, task, campaign, agent):
        """Its driver, as soon as the agent has made out/began."""
        (self.out() / "began").unlink(missing_ok=True)
        process = self.start_fake(task, campaign, agent)
        self.assertTrue(wait_until(lambda: (self.out() / "began").exists()))
        time.sleep(0.2)
        process.kill()
        process.communicate()

    def trajectory(self, task):
        self.ako("report", "--trajectory", "--into", self.folder, at=task, exit=0)
        return [json.loads(line) for line in (self.folder / "trajectory.jsonl").read_text().splitlines()]

    def campaign_events(self, task, step=None):
        """Payloads of the campaign's events, through the real program's eyes: a copy of the ledger."""
        import shutil
        import sqlite3
        import tempfile
        path = self.ledger_of(task)
        with tempfile.TemporaryDirectory(dir=self.top) as copy:
            for part in ("", "-wal"):
                if pathlib.Path(str(path) + part).exists():
                    shutil.copy(str(path) + part, pathlib.Path(copy) / ("ledger.sqlite" + part))
            with sqlite3.connect(pathlib.Path(copy) / "ledger.sqlite") as db:
                rows = [json.loads(text) for (text,) in db.execute("SELECT json FROM event WHERE kind = 'campaign' ORDER BY seq")]
        return [row for row in rows if step in (None, row["step"])]

    def iterations(self, task):
        rows = self.ako("log", "--all", at=task, exit=0).data["rows"]
        return [(row["hypothesis"], row["outcome"], row["decision"]) for row in rows]
