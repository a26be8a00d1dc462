"""A campaign of 40 turns, its driver killed over and over: it ends as the undisturbed one does."""

import random
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


class Kills(DriveCase):
    def story(self, task):
        status = self.ako("status", at=task, exit=0).data
        return {"rows": self.iterations(task), "incumbent": status["incumbent"]["snapshot"],
                "solution": sorted((p.name, p.read_text()) for p in (task / "solution").iterdir())}

    def settings(self):
        return self.campaign('confine = "comparison"\n[stop]\nidle = 9\nstalls = 99\n[stall]\ndirections = ["a", "b", "c", "d", "e", "f", "g", "h"]\n',
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
        chance, kills = random.Random(20), 0
        while True:
            process = self.start_fake(task, self.settings(), agent)
            try:
                out, err = process.communicate(timeout=chance.uniform(0.02, 3 * span / TURNS))
                self.assertEqual(process.returncode, 0, err.decode())
                break
            except Exception as problem:
                if type(problem).__name__ != "TimeoutExpired":
                    raise
                process.kill()
                process.communicate()
                kills += 1
        print(f"{kills} kills, undisturbed {span:.1f} s")
        self.assertGreater(kills, 12)
        self.assertEqual(self.story(task), wanted)
        self.assertEqual((task / "input/ref.cpp").read_text(), "// the reference\n")
        self.assertEqual((task / "notes.txt").read_text(), "mine\n")
        # What a kill leaves half-written or locked is gone once the campaign has gone on.
        self.assertEqual([str(p) for p in task.rglob("*") if p.name.endswith((".tmp", ".lock")) and p.name != "campaign.lock"], [])
        self.ako("verify", at=task, exit=0)
        answered = [each["turn"] for each in self.campaign_events(task, "answered")]
        self.assertEqual(answered, list(range(1, TURNS + 1)), "no turn counts twice")


if __name__ == "__main__":
    main()
