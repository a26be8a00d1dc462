"""Campaigns whose driver is killed over and over: they end as the undisturbed ones do. AKO_KILLS_SEED draws other moments."""

import os
import random
import subprocess
import time

from campaigns import DriveCase
from tool import main

TURNS = 40
# By turn: some improve, some are wrong, some do not build, some are slower; edits outside now and then.
AGENT = """
cat > /dev/null
t=$AKO_TURN
case $((t % 8)) in
1|4) echo "// speed: $((1000 - 20 * t)) turn $t" > solution/k.cpp;;
2) echo "// WRONG turn $t" > solution/k.cpp;;
3) echo "// BROKEN turn $t" > solution/k.cpp;;
5) echo "half" > solution/k.cpp; echo "tampered $t" >> input/ref.cpp; echo "// speed: 2000 turn $t" > solution/k.cpp;;
6) echo "// speed: 1500 turn $t" > solution/k.cpp; echo "// more" > solution/extra-$t.hpp;;
7) rm -f notes.txt; echo "// speed: $((990 - 20 * t)) turn $t" > solution/k.cpp; rm -f solution/extra-*;;
0) echo "Done: enough";;
esac
echo "Hypothesis: turn $t"
"""


# Three in a row that bring nothing lead to another lane; there it improves again.
OF_TWO_LANES = """
cat > /dev/null
t=$AKO_TURN
case $t in
1) echo "// speed: 900 turn $t" > solution/k.cu;;
2|3|4) echo "// speed: $((950 + t)) turn $t" > solution/k.cu;;
5|6) echo "// speed: $((910 + t)) turn $t" > solution/k.cpp; echo "mine" > input/first.cpp;;
7|8) echo "// speed: $((850 - 50 * t)) turn $t" > solution/k.cpp; echo "// more" > solution/more.hpp;;
esac
echo "Hypothesis: turn $t"
"""


class Kills(DriveCase):
    seed = int(os.environ.get("AKO_KILLS_SEED", "20"))

    def killed_until_it_ends(self, start, chance, longest):
        """How often the driver was killed, each time after a while of up to `longest` seconds, before one came to the end."""
        kills = 0
        while True:
            process = start()
            try:
                _, err = process.communicate(timeout=chance.uniform(0.02, longest))
                self.assertEqual(process.returncode, 0, err.decode())
                return kills
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
                longest *= 1.03  # a machine that has become busier must not keep it from going on

    def nothing_is_left_over(self, task):
        """What a kill leaves half-written or locked is gone once the campaign has gone on."""
        self.assertEqual([str(p) for p in task.rglob("*") if p.name.endswith((".tmp", ".lock")) and p.name != "campaign.lock"], [])
        self.ako("verify", at=task, exit=0)

    def story(self, task):
        status = self.ako("status", at=task, exit=0).data
        return {"rows": self.iterations(task), "incumbent": status["incumbent"]["snapshot"],
                "solution": sorted((p.name, p.read_text()) for p in (task / "solution").iterdir())}

    def settings(self):
        return self.campaign('confine = "comparison"\n[stop]\nidle = 9\nstalls = 99\nfailures = 9999\n[stall]\ndirections = ["a", "b", "c", "d", "e", "f", "g", "h"]\n',
                             f"iterations = {TURNS}")

    def test_killed_at_any_moment_it_ends_with_the_same_incumbent(self):
        agent = self.agent(AGENT)
        calm = self.fake_task("calm")
        began = time.monotonic()
        result = self.drive(calm, self.settings(), agent)
        span = time.monotonic() - began
        self.assertEqual(result["turns"], TURNS)
        wanted = self.story(calm)
        self.assertGreater(sum(row[2] == "keep" for row in wanted["rows"]), 5)

        task = self.fake_task("killed")
        kills = self.killed_until_it_ends(lambda: self.start_fake(task, self.settings(), agent), random.Random(self.seed), 3 * span / TURNS)
        print(f"{kills} kills, undisturbed {span:.1f} s")
        self.assertGreater(kills, 12)
        self.assertEqual(self.story(task), wanted)
        self.assertEqual((task / "input/ref.cpp").read_text(), "// the reference\n")
        self.assertEqual((task / "notes.txt").read_text(), "mine\n")
        self.nothing_is_left_over(task)
        answered = [each["turn"] for each in self.campaign_events(task, "answered")]
        self.assertEqual(answered, list(range(1, TURNS + 1)), "no turn counts twice")

    def two_lanes(self, name):
        task = self.fake_task(name, lane="cuda", source="k.cu")
        (task / "input/first.cpp").write_text("// speed: 950\n")
        self.git(task, "add", "-A")
        self.git(task, "commit", "-qm", "first version in the other lane")
        return task

    def test_killed_while_it_changes_the_lane_it_ends_there_all_the_same(self):
        agent = self.agent(OF_TWO_LANES)
        text = '[stop]\nfailures = 9999\n[stall]\n[[stall.lane]]\nlane = "cpu"\nentry = "solution/k.cpp::scale"\nfrom = "input/first.cpp"\n'
        campaign = lambda turns: self.campaign('confine = "comparison"\n' + text, f"iterations = {turns}")
        calm = self.two_lanes("calm")
        began = time.monotonic()
        self.drive(calm, campaign(8), agent)
        span = time.monotonic() - began
        wanted = self.story(calm)
        self.assertEqual([row[1:] for row in wanted["rows"]][-1], ("improved", "keep"))
        chance, kills = random.Random(self.seed), 0
        for again in range(3):
            task = self.two_lanes(f"killed-{again}")
            # The turns before the change are not what is looked at here.
            self.drive(task, campaign(4), agent)
            file = campaign(8)
            kills += self.killed_until_it_ends(lambda: self.start_fake(task, file, agent), chance, 1.3 * span / 8)
            self.assertEqual(self.story(task), wanted)
            self.assertEqual((task / "task.toml").read_text(), (calm / "task.toml").read_text())
            self.assertEqual((len(self.campaign_events(task, "lane")), len(self.campaign_events(task, "laned"))), (1, 1))
            self.nothing_is_left_over(task)
        print(f"{kills} kills, undisturbed {span:.1f} s")
        self.assertGreater(kills, 5)


if __name__ == "__main__":
    main()
