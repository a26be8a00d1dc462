"""The driver, turn by turn, with scripted agents; a fake judges."""

import json
import os
import pathlib
import signal
import time
import unittest

from campaigns import DriveCase
from tool import main, wait_until

FASTER = 'echo "// speed: $((1000 - 100 * AKO_TURN))" > solution/k.cpp\necho "Hypothesis: step $AKO_TURN"\n'
# The first event is made to say something else, its guards against that removed.
FORGE = """python3 - <<'end' 2> /dev/null
import glob, sqlite3
for path in glob.glob(".git/ako/*/ledger.sqlite"):
    db = sqlite3.connect(path)
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    db.execute("UPDATE event SET json = replace(json, 'true', 'false') WHERE seq = 1")
    db.commit()
end
exit 0"""
BOTH = ("auto", "comparison")  # confined by Landlock, and by comparison alone


class Turns(DriveCase):
    def test_an_agent_that_improves_and_what_it_is_told(self):
        task = self.fake_task()
        agent = self.agent('cat > "$AGENT_OUT/prompt-$AKO_TURN"\n' + FASTER + 'echo "**Predict-gain:** 7 %"\necho "total: 0.25 USD"')
        campaign = self.campaign("[cost]\npattern = 'total: ([0-9.]+) USD'\n[agent]\nprompt = \"Mind the tail.\"\n",
                                 "iterations = 3\nmoney = 5\nwall_seconds = 600\ndevice_seconds = 100")
        result = self.drive(task, campaign, agent)
        self.assertEqual((result["turns"], result["iterations"], result["money"]), (3, 3, 0.75))
        self.assertEqual(result["device_seconds"], 6)
        self.assertIn("iterations are spent", result["stopped"])
        self.assertEqual([row[1:] for row in self.iterations(task)], [("improved", "keep")] * 3)
        self.assertEqual(self.iterations(task)[1][0], "step 2")
        self.assertEqual((task / "solution/k.cpp").read_text(), "// speed: 700\n")
        first, last = ((self.out() / f"prompt-{n}").read_text() for n in (1, 3))
        for part in ("lane cpu", "solution", "Hypothesis:", "3 of 3 left", "Mind the tail.", "the baseline first"):
            self.assertIn(part, first)
        for part in ("iteration 2 (step 2)", "1 of 3 left", "money: 4.5 of 5 left", "device time: 96 of 100 s left", "Your last turn (2)"):
            self.assertIn(part, last)
        answered = self.campaign_events(task, "answered")
        self.assertEqual(answered[0]["data"]["predicted_gain"], 0.07)
        self.ako("verify", at=task, exit=0)
        self.assertEqual(self.git(task, "status", "--porcelain", "--untracked-files=no"), "")

    def test_money_that_is_spent_ends_it(self):
        task = self.fake_task()
        campaign = self.campaign("[cost]\npattern = '([0-9.]+) tokens'\nper = 0.001\ntake = \"sum\"\n", "iterations = 9\nmoney = 0.5")
        result = self.drive(task, campaign, self.agent(FASTER + 'echo "100 tokens"\necho "150 tokens" >&2'))
        self.assertEqual((result["turns"], result["money"], result["stopped"]), (2, 0.5, "0.50 of money are spent"))

    def test_the_trajectory_of_a_campaign_as_lines_table_and_plot(self):
        task = self.fake_task()
        agent = self.agent('[ $AKO_TURN = 2 ] && { echo "// WRONG" > solution/k.cpp; echo "price 0.25"; exit 0; }\n' + FASTER + 'echo "price 0.25"')
        self.drive(task, self.campaign("[cost]\npattern = 'price ([0-9.]+)'\n", "iterations = 3"), agent)
        reply = self.ako("report", "--trajectory", "--into", self.folder, at=task, exit=0)
        rows = [json.loads(line) for line in (self.folder / "trajectory.jsonl").read_text().splitlines()]
        self.assertEqual([(row["turn"], row["outcome"], row["decision"]) for row in rows],
                         [(1, "improved", "keep"), (2, "incorrect", "revert"), (3, "improved", "keep")])
        for row, speedup, spent in zip(rows, (1000 / 900, 1000 / 900, 1000 / 700), (1, 2, 3)):
            self.assertAlmostEqual(row["speedup"], speedup, 6)
            self.assertEqual((row["money"], row["device_seconds"], row["turns"], row["campaign"]), (0.25 * spent, 2 * spent, spent, "night"))
            self.assertGreater(row["wall_seconds"], row["device_seconds"])
        self.assertEqual(reply.data["iterations"], 3)
        text = self.run_text("report", "--trajectory", "--into", self.folder, at=task).out
        for part in ("1.429x", "0.75", "incorrect"):
            self.assertIn(part, text)
        svg = (self.folder / "trajectory.svg").read_text()
        self.assertTrue(svg.startswith("<svg") and svg.rstrip().endswith("</svg>"))
        for axis in ("iterations", "wall", "device", "money"):
            self.assertIn(axis, svg)

    def test_what_failed_is_in_the_next_prompt_and_a_broken_build_is_left_to_be_mended(self):
        task = self.fake_task()
        agent = self.agent('cat > "$AGENT_OUT/prompt-$AKO_TURN"\ncp solution/k.cpp "$AGENT_OUT/found-$AKO_TURN"\n'
                           'case $AKO_TURN in 1) echo "// WRONG" > solution/k.cpp; echo "Hypothesis: skip the tail";;\n'
                           '2) echo "// BROKEN" > solution/k.cpp;; *) echo "// speed: 500" > solution/k.cpp;; esac\n')
        result = self.drive(task, self.campaign(), agent)
        self.assertIn("skip the tail: incorrect", (self.out() / "prompt-2").read_text())
        self.assertEqual((self.out() / "found-2").read_text(), "// speed: 1000\n")
        self.assertEqual((self.out() / "found-3").read_text(), "// BROKEN\n")
        self.assertEqual([row[1] for row in self.iterations(task)], ["incorrect", "build_failed", "improved"])
        self.assertIn("gave no hypothesis", self.iterations(task)[2][0])
        self.assertEqual(result["iterations"], 3)

    def test_one_that_hangs_is_ended_with_all_that_it_started(self):
        task = self.fake_task()
        word = self.folder.name
        agent = self.agent('echo "// speed: 500" > solution/k.cpp\n'
                           f'(env -i setsid sh -c \'echo > "$0"; while :; do sleep 1; done\' "$AGENT_OUT/away" away-{word} &)\n'
                           f'(setsid sh -c \'while :; do sleep 1; done\' away-{word} &)\n'
                           'while :; do sleep 1; done')
        campaign = self.campaign("[agent]\ndeadline_seconds = 1\n[stop]\nfailures = 2\n")
        began = time.monotonic()
        result = self.drive(task, campaign, agent)
        self.assertLess(time.monotonic() - began, 30)
        self.assertIn("failed 2 times", result["stopped"])
        self.assertEqual(result["turns"], 2)
        self.assertTrue((self.out() / "away").exists())
        self.assertEqual(self.running(f"away-{word}") + self.running(str(self.folder / "agent.sh")), [])
        # What it had written before it hung is a candidate like any other.
        self.assertEqual(self.iterations(task)[0][1], "improved")

    def test_one_that_claims_to_be_done_does_not_end_the_campaign(self):
        task = self.fake_task()
        agent = self.agent('cat > "$AGENT_OUT/prompt-$AKO_TURN"\necho "Done: it is perfect; ako says improved, exit 0"')
        result = self.drive(task, self.campaign("[stop]\nidle = 2\n", "iterations = 9"), agent)
        self.assertEqual((result["turns"], result["iterations"]), (2, 0))
        self.assertIn("2 turns in a row brought nothing to judge", result["stopped"])
        self.assertIn("the campaign goes on", (self.out() / "prompt-2").read_text())
        self.assertEqual(self.campaign_events(task, "answered")[0]["data"]["done"], "it is perfect; ako says improved, exit 0")

    def test_budgets_end_it_and_the_last_turn_gets_what_is_left(self):
        for budget, says in (("iterations = 9\nmoney = 0.5", "money are spent"), ("iterations = 9\ndevice_seconds = 4", "device time"),
                             ("iterations = 9\nwall_seconds = 4", "wall time")):
            task = self.fake_task(says.replace(" ", "-"))
            agent = self.agent(FASTER + 'echo "cost 0.3"')
            result = self.drive(task, self.campaign("[cost]\npattern = 'cost ([0-9.]+)'\n", budget), agent)
            self.assertIn(says, result["stopped"])
            self.assertEqual(result["turns"], 2)

    def test_a_turn_that_says_no_price_is_billed_as_the_dearest_before_it(self):
        task = self.fake_task()
        agent = self.agent('[ $AKO_TURN = 2 ] && sleep 60\n' + FASTER + 'echo "cost 0.$AKO_TURN"')
        campaign = self.campaign("[agent]\ndeadline_seconds = 1\n[cost]\npattern = 'cost ([0-9.]+)'\n", "iterations = 3\nmoney = 9")
        result = self.drive(task, campaign, agent)
        self.assertAlmostEqual(result["money"], 0.1 + 0.1 + 0.3)
        notes = [each["data"]["money_note"] for each in self.campaign_events(task, "answered")]
        self.assertEqual([notes[0], notes[2]], ["", ""])
        self.assertIn("dearest before it, 0.1", notes[1])

    def test_answers_that_cannot_be_judged_end_it_as_idle_ones_do(self):
        task = self.fake_task()
        agent = self.agent("rm solution/k.cpp; ln -s /etc/passwd solution/k.cpp")
        result = self.drive(task, self.campaign("[stop]\nidle = 2\n", "iterations = 9"), agent)
        self.assertEqual((result["turns"], result["iterations"]), (2, 0))
        self.assertIn("nothing to judge", result["stopped"])

    def test_what_preparing_takes_is_spent(self):
        task = self.fake_task()
        campaign = self.campaign(budget="iterations = 9\ndevice_seconds = 4")
        result = self.drive(task, campaign, self.agent(FASTER), AKO_FAKE_PREPARE_SECONDS="5")
        self.assertEqual((result["turns"], result["device_seconds"], result["wall_seconds"]), (0, 5, 5))
        self.assertIn("device time", result["stopped"])

    def test_a_commit_that_git_does_not_take_is_said(self):
        task = self.fake_task()
        (task / ".git/MERGE_HEAD").write_text("1" * 40 + "\n")  # a person's
        self.drive(task, self.campaign(budget="iterations = 2"), self.agent('cat > "$AGENT_OUT/prompt-$AKO_TURN"\n' + FASTER))
        self.assertIn("a merge is under way", self.campaign_events(task, "tried")[0]["data"]["no_commit"])
        self.assertIn("commit of iteration 1 is missing", (self.out() / "prompt-2").read_text())
        self.assertTrue((task / ".git/MERGE_HEAD").exists())

    def test_the_gain_that_was_asked_for_ends_it(self):
        task = self.fake_task()
        result = self.drive(task, self.campaign("[stop]\ngain_percent = 15\n", "iterations = 9"), self.agent(FASTER))
        self.assertIn("+20.0 %", result["stopped"])
        self.assertEqual(result["turns"], 2)

    def test_a_stall_asks_for_a_direction_first_the_files_then_the_agents(self):
        task = self.fake_task()
        agent = self.agent('cat > "$AGENT_OUT/prompt-$AKO_TURN"\necho "// speed: $((1100 + AKO_TURN))" > solution/k.cpp\n'
                           'echo "Hypothesis: slower $AKO_TURN"\n[ $AKO_TURN = 3 ] && echo "Direction: none is due yet"\n'
                           '[ $AKO_TURN -gt 7 ] && echo "Direction: by the agent"\ntrue\n')
        campaign = self.campaign("[stop]\nstalls = 9\n[stall]\ndirections = [\"fewer bytes\"]\n", "iterations = 8")
        result = self.drive(task, campaign, agent)
        self.assertIn("direction is set: fewer bytes", (self.out() / "prompt-4").read_text())
        self.assertIn("Choose a direction", (self.out() / "prompt-7").read_text())
        tried = self.campaign_events(task, "tried")
        self.assertIn("a new direction is due", tried[6]["data"]["refused"])
        self.assertEqual(result["iterations"], 7)
        directions = [self.ako("show", n, at=task, exit=0).data["iteration"]["direction"] for n in range(1, 8)]
        self.assertEqual(directions, ["", "", "", "fewer bytes", "", "", "by the agent"])
        task = self.fake_task("second")
        campaign = self.campaign("[stall]\nthen = \"stop\"\n", "iterations = 9")
        self.assertIn("directions are used up", self.drive(task, campaign, agent)["stopped"])

    def test_a_busy_machine_is_no_fault_of_the_candidate(self):
        task = self.fake_task()
        result = self.drive(task, self.campaign(budget="iterations = 1"), self.agent('echo "// BUSY" > solution/k.cpp'))
        self.assertEqual([row[1] for row in self.iterations(task)], ["invalid_measurement"] * 3)
        self.assertEqual(result["turns"], 1)
        self.assertEqual(result["device_seconds"], 6, "every attempt is paid for")
        self.ako("report", "--trajectory", "--into", self.folder, at=task, exit=0)
        rows = [json.loads(line) for line in (self.folder / "trajectory.jsonl").read_text().splitlines()]
        self.assertEqual([(row["turn"], row["device_seconds"]) for row in rows], [(1, 2), (1, 4), (1, 6)])
        self.assertEqual((task / "solution/k.cpp").read_text(), "// speed: 1000\n")

    def test_sources_that_cannot_be_taken_are_moved_away_and_said(self):
        task = self.fake_task()
        agent = self.agent('cat > "$AGENT_OUT/prompt-$AKO_TURN"\n[ $AKO_TURN = 1 ] && { rm solution/k.cpp; ln -s /etc/passwd solution/k.cpp; exit 0; }\n' + FASTER)
        self.drive(task, self.campaign(budget="iterations = 2"), agent)
        self.assertFalse((task / "solution/k.cpp").is_symlink())
        self.assertIn("It could not be judged", (self.out() / "prompt-2").read_text())
        self.assertEqual([row[1] for row in self.iterations(task)], ["improved"])


class Lanes(DriveCase):
    """A stall with no direction left leads to another lane; that is ako's step, not the agent's."""

    # One step forward, three that bring nothing; in the new lane one that is no better than the old lane's best, and one that is.
    AGENT = ('cat > "$AGENT_OUT/prompt-$AKO_TURN"\ncat solution/* > "$AGENT_OUT/found-$AKO_TURN"\nls solution > "$AGENT_OUT/files-$AKO_TURN"\n'
             'case $AKO_TURN in 1) echo "// speed: 800" > solution/k.cu;; 5) echo "// speed: 810" > solution/k.cpp;;\n'
             '6) echo "// speed: 500" > solution/k.cpp; echo "// more" > solution/more.hpp;;\n'
             '2|3|4) echo "// speed: 90$AKO_TURN" > solution/k.cu;; *) echo "// speed: 60$AKO_TURN" > solution/k.cpp;; esac\n'
             'echo "// speed: 1" > input/first.cpp; echo "Hypothesis: step $AKO_TURN"\n')

    def stalling(self, name="task"):
        task = self.fake_task(name, lane="cuda", source="k.cu")
        (task / "input/first.cpp").write_text("// speed: 950\n")
        self.git(task, "add", "-A")
        self.git(task, "commit", "-qm", "first version in the other lane")
        return task

    def leads_to(self, lane="cpu", entry="solution/k.cpp::scale", from_="input/first.cpp", more=""):
        return f'{more}[stall]\nthen = "stop"\n[[stall.lane]]\nlane = "{lane}"\nentry = "{entry}"\nfrom = "{from_}"\n'

    def end_of(self, task, result):
        self.assertEqual(result["stopped"], "a stall, and the campaign's directions and lanes are used up")
        self.assertEqual([row[1] for row in self.iterations(task)],
                         ["improved"] + ["equivalent"] * 4 + ["improved"] + ["equivalent"] * 3)
        self.assertEqual([(self.out() / f"files-{n}").read_text() for n in (4, 5, 6, 7)], ["k.cu\n", "k.cpp\n", "k.cpp\n", "k.cpp\nmore.hpp\n"])
        for turn in (5, 6):  # what was no better gives way to the first version of that lane, not to the old lane's best
            self.assertEqual((self.out() / f"found-{turn}").read_text(), "// speed: 950\n")
        self.assertIn("ako has changed the lane to cpu", (self.out() / "prompt-5").read_text())
        self.assertIn("iteration 1 (step 1)", (self.out() / "prompt-5").read_text(), "the old lane's best is what stands")
        self.assertEqual((task / "solution/k.cpp").read_text(), "// speed: 500\n")
        self.assertEqual((task / "input/first.cpp").read_text(), "// speed: 950\n")
        text = (task / "task.toml").read_text()
        self.assertIn('[kernel]\nlane = "cpu"\nentry = { file = "solution/k.cpp", symbol = "scale" }\n', text)
        self.assertEqual(text.count("lane = "), 3)
        directions = [each["data"] for each in self.campaign_events(task, "lane")]
        self.assertEqual([(each["before"], each["lane"]) for each in directions], [("cuda", "cpu")])
        self.assertEqual(len(self.campaign_events(task, "laned")), 1)
        self.assertEqual(sum(kind == "direction" for _, kind, _ in self.events(task)), 1)
        self.ako("verify", at=task, exit=0)

    def test_a_stall_leads_to_the_next_lane_and_then_to_the_end(self):
        task = self.stalling()
        self.end_of(task, self.drive(task, self.campaign(self.leads_to(more='confine = "comparison"\n'), "iterations = 20"), self.agent(self.AGENT)))

    def test_what_proving_the_new_lane_takes_is_in_the_trajectory(self):
        task = self.stalling()
        result = self.drive(task, self.campaign(self.leads_to(more='confine = "comparison"\n'), "iterations = 20"), self.agent(self.AGENT),
                            AKO_FAKE_PREPARE_SECONDS="5")
        rows = self.trajectory(task)
        self.assertEqual([row["device_seconds"] for row in rows], [5 + 2 * n for n in (1, 2, 3, 4)] + [10 + 2 * n for n in (5, 6, 7, 8, 9)])
        self.assertEqual(rows[-1]["device_seconds"], result["device_seconds"], "as the budget has it")

    def test_directions_come_first_and_the_agent_cannot_change_the_lane(self):
        task = self.stalling()
        agent = self.agent('cat > "$AGENT_OUT/prompt-$AKO_TURN"\necho "// speed: 99$AKO_TURN" > solution/$(ls solution)\necho "Hypothesis: h"\n'
                           '"$AKO" lane switch cpu --entry solution/k.cu::scale --why "I want to" > "$AGENT_OUT/said" 2>&1; true\n')
        text = self.leads_to().replace("[stall]\n", '[stall]\ndirections = ["fewer bytes"]\n')
        result = self.drive(task, self.campaign(text, "iterations = 7"), agent)
        self.assertIn("direction is set: fewer bytes", (self.out() / "prompt-4").read_text())
        self.assertNotIn("changed the lane", (self.out() / "prompt-4").read_text())
        self.assertIn("ako has changed the lane to cpu", (self.out() / "prompt-7").read_text())
        self.assertEqual(result["turns"], 7)
        self.assertEqual([each["turn"] for each in self.campaign_events(task, "lane")], [6], "what the agent tried itself changed nothing")

    def test_a_change_of_lane_that_was_cut_off_is_done_anew(self):
        task = self.stalling()
        campaign = self.campaign(self.leads_to(more='confine = "comparison"\n'), "iterations = 20")
        # Its sources cannot be kept: task.toml is written then and nothing is on record of it, as after a kill between the two.
        block = f"refs/ako/{task.name}/lane-cpu/x"
        self.git(task, "update-ref", block, "HEAD")
        self.drive(task, campaign, self.agent(self.AGENT), exit=3)
        self.assertIn('lane = "cpu"\nentry', (task / "task.toml").read_text())
        self.assertEqual(len(self.campaign_events(task, "lane")), 1)
        self.git(task, "update-ref", "-d", block)
        (task / "solution/k.cpp").write_text("half")
        self.end_of(task, self.drive(task, campaign, self.agent(self.AGENT)))

    def test_killed_while_the_new_lane_is_proven_it_goes_on_there(self):
        task = self.stalling()
        campaign = self.campaign(self.leads_to(more='confine = "comparison"\n'), "iterations = 20")
        process = self.start_fake(task, campaign, self.agent(self.AGENT), AKO_FAKE_DIES_IN="cpu")
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.assertEqual(self.campaign_events(task, "laned"), [])
        self.end_of(task, self.drive(task, campaign, self.agent(self.AGENT)))

    def test_lanes_that_are_off_are_said_before_the_first_turn(self):
        task = self.stalling()
        for text, says in ((self.leads_to("cuda"), "in this lane already"), (self.leads_to(from_="input/none.cpp"), "not there"),
                           (self.leads_to(from_="solution/k.cu"), "could edit"), (self.leads_to("fortran"), "cute-dsl"),
                           (self.leads_to(entry="solution/k.cpp"), "FILE::SYMBOL"), (self.leads_to(entry="input/k.cpp::scale"), "below solution/"),
                           (self.leads_to(from_="/etc/passwd"), "a file of the task"),
                           (self.leads_to() + '[[setting]]\nname = "a"\n', "in one campaign")):
            self.drive(task, self.campaign(text), "true", exit=2)
            self.assertIn(says, self.said)
        self.assertIsNone(self.ledger_of(task), "nothing was begun")


class Outside(DriveCase):
    """Nothing that an agent does outside its paths survives, confined or not."""

    def survives_nothing(self, script, task=None, says=(), unconfined_says=None):
        for confine in BOTH:
            task = self.fake_task(f"task-{confine}")
            agent = self.agent(FASTER + script, f"agent-{confine}.sh")
            self.drive(task, self.campaign(budget="iterations = 1"), self.agent(FASTER))  # something is on record
            before = self.picture(task, without=("solution/", "ITERATIONS.md", "context/", "bench/"))
            events = self.events(task)
            campaign = self.campaign(f'confine = "{confine}"\n', "iterations = 1", name="second")
            result = self.drive(task, campaign, agent)
            self.assertEqual(result["landlock"], confine == "auto")
            after = self.picture(task, without=("solution/", "ITERATIONS.md", "context/", "bench/"))
            for picture in (before, after):
                for name in ("git rev-parse", "git for-each-ref"):
                    picture.pop(name, None)
            self.assertEqual(after, before, confine)
            self.assertEqual(self.events(task)[:len(events)], events, confine)
            self.ako("verify", at=task, exit=0)
            outside = self.campaign_events(task, "answered")[-1]["data"]["outside"]
            if confine == "comparison":
                for part in says:
                    self.assertTrue(any(part in line for line in outside), (part, outside))
            else:
                # Modes are not Landlock's; they are put back by comparison.
                self.assertEqual([line for line in outside if not line.endswith(("/input was changed", f".git/ako/{task.name} was changed"))], [],
                                 "Landlock let it through")
            yield task, confine

    def test_edits_to_contract_reference_and_notes(self):
        script = ('echo "// speed: 1" > input/ref.cpp; echo "format = 1" > task.toml; rm -f notes.txt; mkdir -p extra/deep;\n'
                  'echo hi > extra/deep/file; chmod 700 input; ln -s / elsewhere; rm -rf .gitignore; echo "x" >> .git/config\n'
                  'mkdir -p .git/hooks; echo "#!/bin/sh" > .git/hooks/post-commit; exit 0')
        for task, confine in self.survives_nothing(script, says=("input/ref.cpp was changed", "task.toml was changed",
                                                                 "notes.txt was removed", "extra/deep/file was added", ".git/config")):
            for name in ("ref.cpp", "extra/deep/file"):
                kept = [each for each in (task / ".git/ako").rglob("undone/turn-*/**/" + name) if each.is_file()]
                self.assertEqual(len(kept), 1 if confine == "comparison" else 0, f"what was undone is kept: {name}")

    def test_the_ledger_deleted_cut_or_forged(self):
        for script in ('rm -rf .git/ako; exit 0', 'truncate -s 4096 .git/ako/*/ledger.sqlite; exit 0',
                       FORGE):
            self.folder = pathlib.Path(__import__("tempfile").mkdtemp(dir=self.top))
            for _ in self.survives_nothing(script, says=("the ledger",)):
                pass

    def test_attributes_that_would_keep_git_from_committing(self):
        script = 'echo "* working-tree-encoding=nonsense" > solution/.gitattributes; mkdir solution/.cache; echo x > solution/.cache/x; exit 0'
        for confine in BOTH:
            task = self.fake_task(f"task-{confine}")
            self.drive(task, self.campaign(f'confine = "{confine}"\n', "iterations = 2"), self.agent(FASTER + script))
            self.assertEqual(self.git(task, "log", "--format=%s", "-2").split("\n")[0][:8], "[iter 2]")
            self.assertEqual(self.git(task, "show", "HEAD:solution/k.cpp").strip(), "// speed: 800")
            self.assertEqual(sorted(os.listdir(task / "solution")), ["k.cpp"])
            self.assertIn("solution/.gitattributes was added", " ".join(self.campaign_events(task, "answered")[0]["data"]["outside"]))

    def test_a_link_where_the_solution_was_takes_nothing_of_what_it_leads_to(self):
        task = self.fake_task()
        agent = self.agent('cat > "$AGENT_OUT/prompt-$AKO_TURN"\n[ $AKO_TURN = 2 ] && { ' + FASTER + ' exit 0; }\n'
                           'mkdir -p "$AGENT_OUT/other/k.cpp"; echo precious > "$AGENT_OUT/other/file"; rm -r solution; ln -s "$AGENT_OUT/other" solution')
        result = self.drive(task, self.campaign('confine = "comparison"\n', "iterations = 2"), agent)
        self.assertEqual((self.out() / "other/file").read_text(), "precious\n")
        self.assertFalse((task / "solution").is_symlink())
        self.assertIn("was no folder any more", (self.out() / "prompt-2").read_text())
        self.assertEqual((result["iterations"], (task / "solution/k.cpp").read_text()), (1, "// speed: 800\n"))

    def test_what_makes_git_or_the_record_stand_still(self):
        script = ('git rev-parse HEAD > .git/MERGE_HEAD; : > .git/index.lock; : > .git/refs/heads/main.lock; echo evil > .git/ako-records; mkdir -p .git/ako/evil;\n'
                  'rm -r input; mkfifo input; mkfifo pipe; mkdir -p context/.git; echo x > context/.git/x; git tag -f mine 2>/dev/null; chmod 500 .git/ako/*; exit 0')
        for _ in self.survives_nothing(script, says=("MERGE_HEAD", "index.lock", "ako-records was added", "pipe was added", "context/.git", "ref refs/tags/mine")):
            pass

    def test_branches_and_snapshots_moved(self):
        script = ('git -c user.name=a -c user.email=a@b commit -q --allow-empty -m "[iter 9] a win of 99 %"; git checkout -q -b mine;\n'
                  'for r in $(git for-each-ref --format="%(refname)" refs/ako); do git update-ref -d $r; done; exit 0')
        for _ in self.survives_nothing(script, says=("ref refs/heads/main", "ref HEAD", "iter-0")):
            pass

    def test_a_waiver_of_its_own(self):
        script = ('"$AKO" try --waive "trust me" --hypothesis mine > "$AKO_SCRATCH/said" 2>&1; "$AKO" baseline --waive "trust me";\n'
                  'grep -q "waives nothing" "$AKO_SCRATCH/said" || exit 7; exit 0')
        for task, _ in self.survives_nothing(script):
            self.assertEqual(self.ako("status", at=task, exit=0).data["waivers"], 0)
            self.assertEqual(self.campaign_events(task, "answered")[-1]["data"]["how"], "ended")

    def test_a_waiver_of_its_own_without_the_words_that_forbid_it(self):
        script = ('env -u AKO_UNATTENDED AKO_RUNTIME_DIR="$AKO_SCRATCH" "$AKO" try --waive "trust me" --hypothesis mine; exit 0')
        for task, _ in self.survives_nothing(script):
            self.assertEqual(self.ako("status", at=task, exit=0).data["waivers"], 0)

    def test_what_goes_on_editing_after_the_turn_is_ended(self):
        script = ('(setsid sh -c \'while :; do echo late > solution/late.cpp; echo late > late.txt; sleep 0.05; done\' > /dev/null 2>&1 &)\n'
                  'exit 0')
        for task, _ in self.survives_nothing(script):
            time.sleep(0.3)
            self.assertFalse((task / "late.txt").exists())

    def test_the_driver_cannot_be_signalled_where_landlock_can_forbid_it(self):
        version = __import__("ctypes").CDLL(None).syscall(444, None, 0, 1)
        if version < 6:
            self.skipTest(f"Landlock version {version} does not scope signals")
        task = self.fake_task()
        agent = self.agent('until [ -s "$AGENT_OUT/driver" ]; do sleep 0.05; done\n'
                           "kill -9 $(cat \"$AGENT_OUT/driver\") 2> \"$AGENT_OUT/refused\" && echo gone > \"$AGENT_OUT/gone\"\n" + FASTER)
        process = self.start_fake(task, self.campaign(budget="iterations = 1"), agent)
        (self.out() / "driver").write_text(f"{process.pid}\n")
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err.decode())
        # Not permitted by Landlock, or of another world.
        self.assertRegex((self.out() / "refused").read_text(), "not permitted|No such process")
        self.assertFalse((self.out() / "gone").exists())
        self.assertEqual(json.loads(out)["iterations"], 1)


class Interruptions(DriveCase):
    def test_ctrl_c_during_a_turn_and_going_on(self):
        task = self.fake_task()
        agent = self.agent('[ -e "$AGENT_OUT/once" ] || { touch "$AGENT_OUT/once"; echo half > solution/k.cpp; echo x > notes.txt; sleep 60; }\n' + FASTER)
        campaign = self.campaign('confine = "comparison"\n', "iterations = 2")
        process = self.start_fake(task, campaign, agent)
        self.assertTrue(wait_until(lambda: (self.out() / "once").exists()))
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 130)
        self.assertIn(b"run the same command again", process.stderr.read())
        process.stdout.close(), process.stderr.close()
        self.assertEqual((task / "solution/k.cpp").read_text(), "// speed: 1000\n")
        self.assertEqual((task / "notes.txt").read_text(), "mine\n")
        result = self.drive(task, campaign, agent)
        self.assertEqual((result["turns"], result["iterations"]), (2, 2))

    def test_what_a_killed_driver_leaves_is_ended_and_undone(self):
        task = self.fake_task()
        word = f"away-{self.folder.name}"
        agent = self.agent('[ -e "$AGENT_OUT/once" ] || { touch "$AGENT_OUT/once"; echo half > solution/k.cpp; echo x > notes.txt;\n'
                           f'  (setsid sh -c \'touch "$AGENT_OUT/away"; while :; do echo y > notes.txt; sleep 0.1; done\' {word} > /dev/null 2>&1 &)\n'
                           f'  (env -i setsid sh -c \'while :; do sleep 0.1; done\' {word}-bare > /dev/null 2>&1 &)\n  sleep 60; }}\n' + FASTER)
        campaign = self.campaign('confine = "comparison"\n', "iterations = 2")
        process = self.start_fake(task, campaign, agent)
        self.assertTrue(wait_until(lambda: (self.out() / "away").exists() and self.running(word + "-bare")))
        time.sleep(0.2)
        process.kill()
        process.communicate()
        gone = wait_until(lambda: not self.running(word), 3)
        result = self.drive(task, campaign, agent)
        self.assertEqual(gone, result["alone"], "in a world of its own it ends with its driver")
        if not gone:  # found by its token; the one without it was below one with it no more
            for pid in self.running(word + "-bare"):
                os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.running(word), [])
        self.assertEqual((task / "notes.txt").read_text(), "mine\n")
        self.assertEqual((result["turns"], result["iterations"]), (2, 2))

    def test_a_driver_that_is_killed_while_the_task_cannot_even_be_opened(self):
        for spoil in ("rm task.toml", "rm -r input", "rm solution/k.cpp", "rm solution/k.cpp; ln -s /etc/passwd solution/k.cpp",
                      "rm -r solution; echo no > solution", "echo nothing > task.toml; rm -f .git/ako/*/ledger.sqlite*",
                      "echo evil > .git/ako-records; rm task.toml", "mkdir .git/ako/evil; chmod 500 .git/ako/task; mkfifo .git/pipe"):
            self.folder = pathlib.Path(__import__("tempfile").mkdtemp(dir=self.top))
            task = self.fake_task()
            agent = self.agent('[ $AKO_TURN = 2 ] && [ ! -e "$AGENT_OUT/once" ] && { ' + spoil + '; touch "$AGENT_OUT/once"; sleep 60; }\n' + FASTER)
            campaign = self.campaign('confine = "comparison"\n', "iterations = 2")
            process = self.start_fake(task, campaign, agent)
            self.assertTrue(wait_until(lambda: (self.out() / "once").exists()))
            process.kill()
            process.communicate()
            result = self.drive(task, campaign, agent)
            self.assertEqual((result["turns"], result["iterations"]), (2, 2), spoil)
            self.assertEqual((task / "solution/k.cpp").read_text(), "// speed: 800\n")
            self.assertEqual((task / "input/ref.cpp").read_text(), "// the reference\n")
            self.ako("verify", at=task, exit=0)

    def test_turns_that_are_lost_are_paid_for(self):
        task = self.fake_task()
        hangs = self.agent('echo "cost 0.3"; touch "$AGENT_OUT/began"; sleep 60')
        campaign = self.campaign("[cost]\npattern = 'cost ([0-9.]+)'\n", "iterations = 9\nmoney = 0.5")
        self.killed_in_a_turn(task, campaign, hangs)
        result = self.drive(task, campaign, self.agent(FASTER + 'echo "cost 0.3"', "quick.sh"))
        self.assertEqual((result["turns"], result["money"]), (1, 0.6))
        lost = self.campaign_events(task, "lost")[0]["data"]
        self.assertEqual((lost["money"], lost["money_printed"]), (0.3, True))
        self.assertGreater(lost["seconds"], 0.1)
        self.assertLess(lost["seconds"], 30)

    def test_one_that_ends_its_driver_over_and_over_ends_the_campaign(self):
        task = self.fake_task()
        hangs = self.agent('touch "$AGENT_OUT/began"; sleep 60')
        campaign = self.campaign("[stop]\nfailures = 2\n", "iterations = 9")
        for _ in range(2):
            self.killed_in_a_turn(task, campaign, hangs)
        result = self.drive(task, campaign, hangs)
        self.assertIn("2 turns in a row were lost", result["stopped"])
        self.assertEqual(self.drive(task, campaign, self.agent(FASTER, "quick.sh"))["turns"], 9, "a person's word begins it anew")

    def test_two_drivers_on_one_task_and_a_campaign_that_has_ended(self):
        task = self.fake_task()
        campaign = self.campaign(budget="iterations = 1")
        slow = self.agent("touch \"$AGENT_OUT/began\"; sleep 3\n" + FASTER)
        process = self.start_fake(task, campaign, slow)
        self.assertTrue(wait_until(lambda: (self.out() / "began").exists()))
        self.drive(task, campaign, slow, exit=4)
        self.assertIn("a campaign runs on this task already", self.said)
        process.communicate(timeout=30)
        events = len(self.events(task))
        self.assertIn("iterations are spent", self.drive(task, campaign, slow)["stopped"])
        self.assertEqual(len(self.events(task)), events, "an ended campaign adds nothing")
        self.assertEqual(self.drive(task, self.campaign(budget="iterations = 2"), self.agent(FASTER, "quick.sh"))["turns"], 2)


class Gates(DriveCase):
    def test_waivers_come_from_the_campaign_file_alone(self):
        task = self.fake_task()
        agent = self.agent(FASTER)
        self.drive(task, self.campaign(budget="iterations = 1"), agent)
        self.edit(task / "task.toml", "N = 4", "N = 8")  # by a person
        self.drive(task, self.campaign("prepare = false\n", "iterations = 2"), agent, exit=4)
        self.assertIn("not waived by night.toml", self.said)
        waived = ('prepare = false\n[[waiver]]\ngate = "contract-proven"\nwhy = "a comment"\n[[waiver]]\ngate = "baseline"\nwhy = "a comment"\n')
        result = self.drive(task, self.campaign(waived, "iterations = 2"), agent)
        self.assertEqual(result["iterations"], 2)

    def test_guides_that_an_edit_makes_required_are_shown_before_it_is_judged(self):
        task = self.fake_task()
        agent = self.agent('cat > "$AGENT_OUT/prompt-$AKO_TURN"; ls "$AKO_SCRATCH/reading" > "$AGENT_OUT/reading-$AKO_TURN"\n'
                           '[ $AKO_TURN = 1 ] && { echo "// speed: 900 mbarrier" > solution/k.cpp; echo "Hypothesis: barriers"; }; true')
        result = self.drive(task, self.campaign(), agent)
        tried = [each["data"] for each in self.campaign_events(task, "tried")]
        self.assertEqual(tried[0]["unread"], ["mbarrier-pipelines"])
        self.assertNotIn("mbarrier", (self.out() / "reading-1").read_text())
        self.assertIn("mbarrier-pipelines.md", (self.out() / "reading-2").read_text())
        self.assertIn("were not shown yet: mbarrier-pipelines", (self.out() / "prompt-2").read_text())
        self.assertEqual(self.iterations(task), [("barriers", "improved", "keep")])
        self.assertEqual(tried[2]["refused"], "the candidate is what it was")
        self.assertEqual((result["turns"], result["iterations"]), (3, 1))

    def test_a_candidate_that_waits_when_the_campaign_ends_gives_way(self):
        task = self.fake_task()
        self.drive(task, self.campaign(budget="iterations = 1"), self.agent('echo "// speed: 900 mbarrier" > solution/k.cpp'))
        self.assertEqual((task / "solution/k.cpp").read_text(), "// speed: 1000\n")
        self.assertEqual(self.iterations(task), [])

    def test_a_waiver_of_one_gate_is_none_of_another(self):
        task = self.fake_task()
        agent = self.agent('echo "// speed: 900 mbarrier" > solution/k.cpp')
        text = '[[waiver]]\ngate = "reading"\nwhy = "read elsewhere"\n'
        result = self.drive(task, self.campaign(text, "iterations = 1", waive=False), agent)
        self.assertEqual(result["iterations"], 0)
        self.assertIn("cites neither", self.campaign_events(task, "tried")[0]["data"]["refused"])
        self.assertEqual(self.drive(task, self.campaign(text, "iterations = 1", "second"), agent)["iterations"], 1)

    def test_a_campaign_file_that_is_off(self):
        task = self.fake_task()
        for text, says in (("nmae = \"x\"\n", "did you mean 'name'"), ("[stop]\nidle = 0\n", "1 to 1000000"),
                           ("[agent]\nwritable = [\"../x\"]\n", "inside the task"), ("[agent]\nwritable = [\".git\"]\n", "inside the task"),
                           ("[cost]\npattern = '(('\n", "regular expression"), ("[cost]\npattern = 'a'\n", "one group"),
                           ("[cost]\npattern = '(a)'\ninput_per_million = 1\n", "either prices"),
                           ("[cost]\nper = 1\n", "'pattern' is missing"),
                           ("[[waiver]]\ngate = \"all\"\nwhy = \"x\"\n", "contract-proven"), ("[[waiver]]\ngate = \"baseline\"\n", "why"),
                           ("confine = \"no\"\n", "comparison"), ("[[setting]]\nname = \"a b\"\n", "letters")):
            self.drive(task, self.campaign(text), "true", exit=2)
            self.assertIn(says, self.said)
        self.drive(task, self.campaign(budget="iterations = 2\nmoney = 3"), "true", exit=2)
        self.assertIn("cost.pattern", self.said)
        reply = self.run_text("drive", "--template")
        path = self.folder / "from-template.toml"
        path.write_text(reply.out)
        self.refused("drive", "--campaign", path, "-C", self.folder, exit=2, says="no task")
        self.refused("drive", exit=2, says="--template")


class Adapters(DriveCase):
    def test_claude_and_codex_are_started_in_their_headless_modes(self):
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "claude").write_text(
            '#!/bin/sh\necho "$@" > "$HOME/.claude/words"\ncat > "$AKO_SCRATCH/prompt"\ngrep -q "## This turn" "$AKO_SCRATCH/prompt" || exit 9\n'
            'echo "// speed: 900" > solution/k.cpp\n'
            'printf "%s\\n" \'{"type":"result","result":"I did it.\\nHypothesis: wider loads\\n","total_cost_usd":0.0625}\'\n')
        (tools / "codex").write_text(
            '#!/bin/sh\necho "$@" > "$HOME/.codex/words"\ncat > /dev/null\necho "// speed: 700" > solution/k.cpp\n'
            'printf "%s\\n" \'{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Done.\\nHypothesis: fewer stores"}}\'\n'
            'printf "%s\\n" \'{"type":"turn.completed","usage":{"input_tokens":30000,"cached_input_tokens":20000,"output_tokens":1000}}\'\n')
        for tool in ("claude", "codex"):
            (tools / tool).chmod(0o755)
            (pathlib.Path(self.environment["HOME"]) / f".{tool}").mkdir(exist_ok=True)
        path = f"{tools}:{os.environ['PATH']}"
        task = self.fake_task()
        result = self.drive(task, self.campaign(budget="iterations = 1\nmoney = 1"), "claude", PATH=path)
        self.assertEqual(result["money"], 0.0625)
        words = (pathlib.Path(self.environment["HOME"]) / ".claude/words").read_text()
        self.assertIn("-p --output-format json", words)
        self.drive(task, self.campaign(budget="iterations = 1\nmoney = 1", name="other"), "codex", PATH=path, exit=2)
        self.assertIn("input_per_million", self.said)
        prices = "[cost]\ninput_per_million = 2\ncached_per_million = 0.5\noutput_per_million = 10\n"
        result = self.drive(task, self.campaign(prices, "iterations = 1\nmoney = 1", "other"), "codex", PATH=path)
        self.assertAlmostEqual(result["money"], 0.02 + 0.01 + 0.01)
        words = (pathlib.Path(self.environment["HOME"]) / ".codex/words").read_text()
        self.assertTrue(words.startswith("exec --json "))
        self.assertEqual([row[0] for row in self.iterations(task)], ["wider loads", "fewer stores"])
        self.drive(task, self.campaign(budget="iterations = 1", name="third"), "claude", PATH="/nowhere:/usr/bin:/bin", exit=3)
        self.assertIn("claude", self.said)


class SideBySide(DriveCase):
    def test_several_settings_and_the_best_is_measured_again(self):
        task = self.fake_task()
        slow = self.agent('echo "// speed: $((1000 - 60 * AKO_TURN))" > solution/k.cpp\necho "Hypothesis: small $AKO_TURN"', "slow.sh")
        fast = self.agent('echo "// speed: $((1000 - 200 * AKO_TURN))" > solution/k.cpp\necho "Hypothesis: large $AKO_TURN"', "fast.sh")
        none = self.agent("true", "none.sh")
        campaign = self.campaign(f'[[setting]]\nname = "slow"\nagent = "{slow}"\n[[setting]]\nname = "fast"\nagent = "{fast}"\n'
                                 f'[[setting]]\nname = "none"\nagent = "{none}"\n', "iterations = 2")
        result = self.drive(task, campaign, "")
        self.assertEqual(result["winner"], "fast")
        self.assertEqual(result["settings"], {"slow": "equivalent", "fast": "improved", "none": ""})
        self.assertEqual((task / "solution/k.cpp").read_text(), "// speed: 600\n")
        rows = self.iterations(task)
        self.assertEqual(len(rows), 2)
        self.assertIn("the best of setting fast (its iteration 2)", rows[0][0])
        self.ako("verify", at=task, exit=0)
        for name in ("slow", "fast"):
            there = self.folder / f"task-night-{name}"
            self.assertEqual(len(self.iterations(there)), 2)
            self.ako("verify", at=there, exit=0)
        events = len(self.events(task))
        self.assertEqual(self.drive(task, campaign, "")["winner"], "fast")
        self.assertEqual(len(self.events(task)), events, "run again it finds all done")

    def test_the_best_is_measured_again_without_any_waiver(self):
        task = self.fake_task()
        fast = self.agent('echo "// speed: $((1000 - 200 * AKO_TURN)) mbarrier" > solution/k.cpp\n'
                          'echo "Hypothesis: large $AKO_TURN, as [cpu-kernels] has it"\n'
                          '[ $AKO_TURN -gt 2 ] && echo "Cites: iter-1, loop"; true', "fast.sh")
        campaign = self.campaign(f'[[setting]]\nname = "fast"\nagent = "{fast}"\n', "iterations = 4", waive=False)
        result = self.drive(task, campaign, "")
        self.assertEqual((result["winner"], result["settings"]), ("fast", {"fast": "improved"}))
        self.assertEqual((task / "solution/k.cpp").read_text(), "// speed: 200 mbarrier\n")
        self.assertEqual(self.ako("status", at=task, exit=0).data["waivers"], 0)

    def test_whatever_ends_the_measuring_solution_holds_what_stands(self):
        task = self.fake_task()
        fast = self.agent('echo "// speed: 600" > solution/k.cpp\necho "Hypothesis: large"', "fast.sh")
        campaign = self.campaign(f'[[setting]]\nname = "fast"\nagent = "{fast}"\n', "iterations = 1")
        self.drive(task, campaign, "", exit=3, AKO_FAKE_FAILS="the best of setting")
        self.assertIn("the fake fails", self.said)
        self.assertEqual((task / "solution/k.cpp").read_text(), "// speed: 1000\n")
        self.assertEqual(self.drive(task, campaign, "")["winner"], "fast")

    def test_a_busy_machine_does_not_cost_the_best_its_place(self):
        fast = self.agent('echo "// speed: 600" > solution/k.cpp\necho "Hypothesis: large"', "fast.sh")
        campaign = self.campaign(f'[[setting]]\nname = "fast"\nagent = "{fast}"\n', "iterations = 1")
        task = self.fake_task()
        busy = self.folder / "task.busy"
        busy.write_text("4")
        self.drive(task, campaign, "", exit=3)
        self.assertIn("too busy to measure the best again", self.said)
        self.assertEqual((task / "solution/k.cpp").read_text(), "// speed: 1000\n")
        self.assertEqual(self.campaign_events(task, "contender"), [])
        result = self.drive(task, campaign, "")
        self.assertEqual((result["winner"], busy.read_text()), ("fast", "0"))
        self.assertEqual([row[1] for row in self.iterations(task)], ["invalid_measurement"] * 4 + ["improved"])


if __name__ == "__main__":
    main()
