"""What several settings cost and how they end, turns without an iteration, and whose file a campaign is."""

import json
import shutil
import signal

from campaigns import DriveCase
from tool import main, wait_until

FASTER = 'echo "// speed: $((1000 - 100 * AKO_TURN))" > solution/k.cpp\necho "Hypothesis: faster $AKO_TURN"\n'
PRICED = "[cost]\npattern = 'price ([0-9.]+)'\n"


class Settings(DriveCase):
    def rows(self, task):
        reply = self.ako("report", "--trajectory", "--into", self.folder, at=task, exit=0)
        rows = [json.loads(line) for line in (self.folder / "trajectory.jsonl").read_text().splitlines()]
        self.assertEqual(reply.data["iterations"], len([row for row in rows if not row["closing"]]))
        for sums in ("turns", "money", "wall_seconds", "device_seconds", "agent_seconds"):
            self.assertEqual([row[sums] for row in rows], sorted(row[sums] for row in rows), sums)
        return rows

    def settings(self, **agents):
        text = "".join(f'[[setting]]\nname = "{name}"\nagent = "{agent}"\n' for name, agent in agents.items())
        return self.campaign(PRICED + text, "iterations = 2")

    def test_the_win_of_a_setting_stands_at_what_all_settings_spent(self):
        task = self.fake_task()
        slow = self.agent('echo "// speed: $((1000 - 60 * AKO_TURN))" > solution/k.cpp\necho "price 0.25"', "slow.sh")
        fast = self.agent('echo "// speed: $((1000 - 200 * AKO_TURN))" > solution/k.cpp\necho "price 0.25"', "fast.sh")
        none = self.agent('echo "price 0.5"', "none.sh")
        campaign = self.settings(slow=slow, fast=fast, none=none)
        self.drive(task, campaign, "")
        rows = self.rows(task)
        self.assertEqual([row["closing"] for row in rows], [False, False])
        self.assertEqual((rows[0]["turns"], rows[0]["money"]), (6, 2.0))
        self.assertEqual([row["device_seconds"] for row in rows], [4 * 2 + 2, 4 * 2 + 4])
        self.assertGreater(rows[0]["agent_seconds"], 0)
        self.assertLess(rows[0]["agent_seconds"], rows[0]["wall_seconds"])
        self.drive(task, campaign, "")
        self.assertEqual(self.rows(task), rows, "run again it costs nothing more")

    def test_settings_that_kept_nothing_have_cost_something(self):
        task = self.fake_task()
        self.drive(task, self.settings(none=self.agent('echo "price 0.5"', "none.sh")), "")
        rows = self.rows(task)
        self.assertEqual([(row["closing"], row["iteration"], row["turns"], row["money"], row["speedup"]) for row in rows],
                         [(True, None, 2, 1.0, 1)])

    def test_turns_after_the_last_iteration_are_told(self):
        task = self.fake_task()
        agent = self.agent('echo "price 0.25"\n[ $AKO_TURN = 1 ] || exit 0\n' + FASTER)
        self.drive(task, self.campaign(PRICED + "[stop]\nidle = 3\n", "iterations = 9"), agent)
        rows = self.rows(task)
        self.assertEqual([(row["closing"], row["iteration"], row["turns"], row["money"]) for row in rows],
                         [(False, 1, 1, 0.25), (True, None, 4, 1.0)])
        self.assertEqual(rows[1]["speedup"], rows[0]["speedup"])
        text = self.run_text("report", "--trajectory", "--into", self.folder, at=task).out
        self.assertIn("4 turns in all", text)
        self.assertTrue((self.folder / "trajectory.svg").read_text().rstrip().endswith("</svg>"))

    def test_lost_turns_count_before_the_iteration_that_follows_and_at_the_end(self):
        task = self.fake_task()
        hangs = self.agent('echo "price 0.5"; touch "$AGENT_OUT/began"; sleep 60', "hangs.sh")
        self.killed_in_a_turn(task, self.campaign(PRICED, "iterations = 1"), hangs)
        self.drive(task, self.campaign(PRICED, "iterations = 1"), self.agent('echo "price 0.25"\n' + FASTER))
        lost = self.campaign_events(task, "lost")[0]["data"]["seconds"]
        agent = self.campaign_events(task, "answered")[0]["data"]["seconds"]
        self.assertGreater(lost, 0.1)
        rows = self.rows(task)
        self.assertEqual([(row["closing"], row["turns"], row["money"]) for row in rows], [(False, 1, 0.75)])
        self.assertAlmostEqual(rows[0]["agent_seconds"], lost + agent, 6)
        self.assertGreater(rows[0]["wall_seconds"], lost + agent)
        campaign = self.campaign(PRICED + "[stop]\nfailures = 2\n", "iterations = 9")
        for _ in range(2):
            self.killed_in_a_turn(task, campaign, hangs)
        self.assertIn("were lost", self.drive(task, campaign, hangs)["stopped"])
        self.assertEqual([(row["closing"], row["turns"], row["money"]) for row in self.rows(task)], [(False, 1, 0.75), (True, 1, 1.75)])

    def test_the_lost_turns_of_a_setting_are_its_agents_time(self):
        task = self.fake_task()
        agent = self.agent('echo "price 0.5"\n[ -e "$AGENT_OUT/began" ] || { touch "$AGENT_OUT/began"; sleep 60; }\n', "once.sh")
        campaign = self.settings(once=agent)
        self.killed_in_a_turn(task, campaign, "")
        self.drive(task, campaign, "")
        spent = self.campaign_events(task, "settings")[-1]["data"]
        self.assertEqual((spent["turns"], spent["money"]), (2, 1.5))
        there = self.folder / "task-night-once"
        seconds = [each["data"]["seconds"] for each in self.campaign_events(there) if each["step"] in ("answered", "lost")]
        self.assertEqual(len(seconds), 3)
        self.assertAlmostEqual(spent["agent_seconds"], sum(seconds), 6)

    def test_what_preparing_settings_takes_is_told(self):
        task = self.fake_task()
        self.drive(task, self.settings(none=self.agent('echo "price 0.5"', "none.sh")), "", AKO_FAKE_PREPARE_SECONDS="5")
        self.assertEqual([(row["closing"], row["device_seconds"], row["money"]) for row in self.rows(task)], [(True, 5, 1.0)])

    def test_a_campaign_of_refused_turns_only_has_its_price(self):
        task = self.fake_task()
        agent = self.agent('rm solution/k.cpp; ln -s /etc/passwd solution/k.cpp; echo "price 0.25"')
        self.drive(task, self.campaign(PRICED, "iterations = 2"), agent)
        self.assertEqual(self.iterations(task), [])
        self.assertEqual([(row["closing"], row["turns"], row["money"]) for row in self.rows(task)], [(True, 2, 0.5)])


class Ends(DriveCase):
    """By the real program: it tells which settings failed, and fails itself when all did."""

    NOWHERE = {"PATH": "/nowhere:/usr/bin:/bin"}

    def campaign_of(self, **agents):
        text = "".join(f'[[setting]]\nname = "{name}"\nagent = "{agent}"\n' for name, agent in agents.items())
        return self.campaign("prepare = false\n" + text, "iterations = 1")

    def test_no_setting_that_ended_well_is_no_success(self):
        task = self.fake_task()
        campaign = self.campaign_of(a="claude", b="claude")
        reply = self.refused("drive", "--campaign", campaign, at=task, env=self.NOWHERE, exit=3, kind="environment",
                             says=("setting a: ", "setting b: ", "no setting"))
        self.assertIn("claude", reply.error["found"])

    def test_one_that_failed_beside_one_that_did_not_is_a_warning(self):
        task = self.fake_task()
        reply = self.ako("drive", "--campaign", self.campaign_of(good="true", bad="claude"), at=task, env=self.NOWHERE, exit=0)
        self.assertEqual([warning.split(":")[0] for warning in reply.json["warnings"]], ["setting bad"])
        self.assertIn("claude", reply.json["warnings"][0])
        ends = {each["name"]: each for each in reply.data["settings"]}
        self.assertEqual((ends["good"]["exit"], ends["good"]["failure"]), (0, None))
        self.assertNotEqual(ends["bad"]["exit"], 0)
        self.assertIn("claude", ends["bad"]["failure"])
        # Mended, it goes on: the old failure is forgotten.
        reply = self.ako("drive", "--campaign", self.campaign_of(good="true", bad="true"), at=task, env=self.NOWHERE, exit=0)
        self.assertEqual(reply.json["warnings"], [])


class File(DriveCase):
    def test_an_edited_file_is_on_record_before_it_is_used(self):
        for name, edited in (("edited", True), ("untouched", False)):
            task = self.fake_task(name)
            agent = self.agent('touch "$AGENT_OUT/$(basename "$AKO_TASK")-$AKO_TURN"\n[ $AKO_TURN = 2 ] && [ ! -e "$AGENT_OUT/on" ] && sleep 60\n'
                               + FASTER)
            campaign = self.campaign(budget="iterations = 3")
            (self.out() / "on").unlink(missing_ok=True)
            process = self.start_fake(task, campaign, agent)
            self.assertTrue(wait_until(lambda: any(self.out().glob("*-2")), 30), process)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
            (self.out() / "on").touch()
            for mark in self.out().glob("*-2"):
                mark.unlink()
            if edited:
                self.edit(campaign, "iterations = 3", "iterations = 2")
            self.assertEqual(self.drive(task, campaign, agent)["turns"], 2 if edited else 3)
            hashes = [event["data"]["hash"] for event in self.campaign_events(task, "begun")]
            self.assertEqual(len(set(hashes)), 2 if edited else 1, hashes)
            self.assertEqual(len(hashes), len(set(hashes)))

    def steps(self, task):
        """Steps in their order, each file that is put on record by its place among the files."""
        hashes, out = [], []
        for event in self.campaign_events(task):
            if event["step"] == "begun":
                if event["data"]["hash"] not in hashes:
                    hashes.append(event["data"]["hash"])
                out.append(f"file {hashes.index(event['data']['hash']) + 1}")
            elif event["step"] not in ("prepared", "stopped"):
                out.append(event["step"])
        return out

    def test_a_waiver_that_came_in_between_is_on_record_before_it_opens_a_gate(self):
        for name, edited in (("edited", True), ("untouched", False)):
            task = self.fake_task(name)
            agent = self.agent('echo "// speed: 900" > solution/k.cpp\necho "Hypothesis: faster, as [cpu-kernels] has it"')
            campaign = self.campaign(budget="iterations = 1", waive=False)
            self.drive(task, campaign, agent, exit=3, AKO_FAKE_FAILS="faster")  # an answer that waits for its verdict
            if edited:
                campaign.write_text(campaign.read_text() + '[[waiver]]\ngate = "reading"\nwhy = "read elsewhere"\n')
            self.drive(task, campaign, agent)
            self.assertEqual(self.steps(task), ["file 1", "turn", "answered"] + ["file 2"] * edited + ["tried"])
            self.ako("verify", at=task, exit=0)

    def test_a_turn_that_was_killed_is_billed_by_a_file_on_record(self):
        task = self.fake_task()
        hangs = self.agent('echo "price 0.5"; touch "$AGENT_OUT/began"; echo mine > notes.txt; sleep 60', "hangs.sh")
        campaign = self.campaign('confine = "comparison"\n', "iterations = 1")
        self.killed_in_a_turn(task, campaign, hangs)
        # What the agent may write now was not its own in that turn.
        campaign = self.campaign('confine = "comparison"\n' + PRICED + '[agent]\nwritable = ["solution", "notes.txt"]\n', "iterations = 1")
        self.drive(task, campaign, self.agent(FASTER))
        self.assertEqual(self.steps(task), ["file 1", "turn", "file 2", "lost", "turn", "answered", "tried"])
        self.assertEqual(self.campaign_events(task, "lost")[0]["data"]["money"], 0.5)
        self.assertEqual((task / "notes.txt").read_text(), "mine\n")

    def test_a_file_that_the_agent_may_write_is_refused(self):
        task = self.fake_task()
        agent = self.agent(FASTER)
        outside = self.campaign(budget="iterations = 1")
        for place in (task / "solution/night.toml", self.out() / "night.toml"):
            shutil.copy(outside, place)
            self.drive(task, place, agent, exit=4)
            self.assertIn("the agent may write the campaign's own file", self.said)
            place.unlink()
        self.assertEqual(self.events(task), [])
        (self.folder / "link.toml").symlink_to(outside)
        self.drive(task, self.folder / "link.toml", agent)


if __name__ == "__main__":
    main()
