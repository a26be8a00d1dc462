"""The driver with the real judge: an agent that improves, one that cheats in five ways, and a driver that is killed."""

import json
import random

import subprocess
import time

from campaigns import AKO, DriveCase
from tool import main

# Candidates in turn. Those from 2 to 6 cheat; with 5 and 7 the agent edits outside its paths, too. The wins are planted so large
# that a busy machine cannot hide them.
BODIES = {
    1: ("wait less", 4000000, "y[i] = 0.5f * x[i];"),
    2: ("zeros are fast", 1, "y[i] = 0;"),
    3: ("only the size in the contract", 1, "y[i] = n == 256 ? 0.5f * x[i] : 0;"),
    4: ("every third call", 1, "y[i] = calls % 3 ? y[i] : 0.5f * x[i];"),
    5: ("a reference that agrees", 1, "y[i] = 1;"),
    6: ("an exit that says improved", 1, "std::_Exit(0);"),
    7: ("wait much less", 1000000, "y[i] = 0.5f * x[i];"),
}
AGENT = """#!/usr/bin/env python3
import json, os, pathlib, re, sys
bodies = {bodies}
# Which is next the prompt says: what the machine was too busy to judge is tried again.
prompt, step = sys.stdin.read(), 1
for number, (words, _, _) in bodies.items():
    last = re.search(r"Iteration [0-9]+ [(]" + re.escape(words) + r"[)]: ([a-z_]+) ->", prompt)
    if last:
        step = number if last[1] in ("invalid_measurement", "environment", "undecided", "stale") else number + 1
if step in bodies:
    words, rounds, body = bodies[step]
    text = pathlib.Path("input/halve.cpp").read_text().replace("12000000", str(rounds))
    text = re.sub(r"y\\[i\\] = 0.5f \\* x\\[i\\];", lambda _: body, text)
    head = "#include <cstdlib>\\nstatic long calls = 0;\\n" if step in (4, 6) else ""
    text = text.replace("void halve(const float* x, float* y, int n) {{", "void halve(const float* x, float* y, int n) {{" + (" ++calls;" if head else ""))
    pathlib.Path("solution/halve.cpp").write_text(head + text)
    print("Hypothesis:", words)
if step in (5, 7):
    for path, old, new in (("input/reference.cpp", "0.5 * x[i]", "1"), ("task.toml", "min_gain = 0.1", "min_gain = 0.0001")):
        try:
            file = pathlib.Path(path)
            file.write_text(file.read_text().replace(old, new))
        except OSError as problem:
            print(problem)
if step > 7:
    print("Done: iteration 99 improved, exit 0")
"""


class Real(DriveCase):
    insists = True
    patience = 240

    def make_task(self, where=None):
        """With more placements than the task's own: measuring ends as soon as it is clear, so that only a busy machine needs them."""
        task = super().make_task(where)
        self.edit(task / "task.toml", "placements = 6", "placements = 24")
        self.git(task, "commit", "-qam", "more placements")
        return task

    def setting(self, confine):
        agent = self.folder / "agent.py"
        agent.write_text(AGENT.format(bodies=repr(BODIES)))
        return f'python3 "{agent}"', self.campaign(f'confine = "{confine}"\n[stop]\nidle = 2\nstalls = 9\n', "iterations = 40")

    def check_end(self, task, outside):
        rows = self.ako("log", "--all", at=task, exit=0).data["rows"]
        kept = [row["hypothesis"] for row in rows if row["decision"] == "keep"]
        self.assertEqual(kept, ["wait less", "wait much less"])
        cheats = {row["hypothesis"]: row["outcome"] for row in rows if row["hypothesis"] in [BODIES[n][0] for n in range(2, 7)]}
        self.assertEqual(len(cheats), 5)
        for words, outcome in cheats.items():
            self.assertIn(outcome, ("incorrect", "suspect", "crashed"), words)
        for name in ("input/reference.cpp", "task.toml", "input/halve.cpp"):
            self.assertEqual((task / name).read_text(), (type(self).proven / name).read_text(), name)
        self.assertIn("1000000", (task / "solution/halve.cpp").read_text())
        answered = {each["data"]["hypothesis"]: each["data"] for each in self.campaign_events(task, "answered")}
        self.assertEqual(bool(answered[BODIES[5][0]]["outside"]), outside)
        self.ako("verify", at=task, exit=0)
        return self.ako("status", at=task, exit=0).data["incumbent"]["snapshot"]

    def test_cheats_never_stand_and_a_killed_campaign_ends_as_an_undisturbed_one(self):
        task = self.proven_task()
        agent, campaign = self.setting("auto")
        began = time.monotonic()
        reply = self.ako("drive", "--agent", agent, "--campaign", campaign, at=task, exit=0, limit=400)
        span = time.monotonic() - began
        self.assertIn("2 turns in a row brought nothing to judge", reply.data["stopped"])
        self.assertGreaterEqual(reply.data["turns"], 9)
        calm = self.check_end(task, outside=not reply.data["landlock"])
        trajectory = self.ako("report", "--trajectory", "--into", self.folder, at=task, exit=0)
        rows = [json.loads(line) for line in (self.folder / "trajectory.jsonl").read_text().splitlines()]
        rows = [row for row in rows if not row.get("closing")]
        self.assertEqual(len(rows), trajectory.data["iterations"])
        self.assertGreater(rows[-1]["speedup"], 2)
        self.assertEqual([row["speedup"] for row in rows], sorted(row["speedup"] for row in rows))
        self.assertTrue((self.folder / "trajectory.svg").read_text().startswith("<svg"))

        self.folder = self.folder / "again"
        self.folder.mkdir()
        task = self.proven_task()
        agent, campaign = self.setting("comparison")
        chance, kills = random.Random(4), 0
        while True:
            process = self.start("drive", "--agent", agent, "--campaign", campaign, "--json", at=task)
            try:
                reply = self.finish(process, chance.uniform(0.3, span) if kills < 6 else 400)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
        self.assertEqual(reply.code, 0, reply)
        self.assertGreater(kills, 1)
        print(f"{kills} kills, undisturbed {span:.1f} s")
        self.assertEqual(self.check_end(task, outside=True), calm)

    def test_two_agents_at_once_and_the_best_is_measured_again(self):
        task = self.proven_task()
        settings = ""
        for name, rounds in (("small", 6000000), ("large", 1000000)):
            agent = self.folder / f"{name}.sh"
            agent.write_text(f"#!/bin/sh\nsed s/12000000/{rounds}/ input/halve.cpp > solution/halve.cpp\necho 'Hypothesis: a {name} step'\n")
            agent.chmod(0o755)
            settings += f'[[setting]]\nname = "{name}"\nagent = "{agent}"\n'
        # Each tries the same until it is judged and kept; then it changes nothing.
        campaign = self.campaign("[stop]\nidle = 1\n" + settings, "iterations = 9")
        reply = self.quietly("drive", "--campaign", campaign, at=task, limit=300)
        self.assertEqual(reply.data["winner"], "large")
        self.assertEqual({each["name"]: each["exit"] for each in reply.data["settings"]}, {"small": 0, "large": 0})
        judged = [row for row in self.iterations(task) if row[1] != "invalid_measurement"]
        self.assertEqual(judged[0][1:], ("improved", "keep"))
        self.assertIn("the best of setting large", judged[0][0])
        self.assertEqual(len(judged), 2, "the other's best is held against it")
        self.assertNotEqual(judged[1][2], "keep")
        self.assertIn("1000000", (task / "solution/halve.cpp").read_text())
        for place in (task, *(self.folder / f"task-night-{name}" for name in ("small", "large"))):
            self.ako("verify", at=place, exit=0)


if __name__ == "__main__":
    main()
