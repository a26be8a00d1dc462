"""The harness gate: a task in an AKO4ALL worktree goes on only from a checkout that is clean and at its upstream."""

import os
import pathlib
import subprocess

from tool import SOURCE, WAIVED, Case, main

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts/ensure_ako4all_clean.sh"


class Harness(Case):
    def make_world(self):
        """up.git, its clone AKO4ALL, and a task in a worktree beside it."""
        self.git(self.folder, "init", "-q", "--bare", "-b", "main", "up.git")
        self.git(self.folder, "clone", "-q", "up.git", "seed")
        seed = self.folder / "seed"
        (seed / "README").write_text("harness\n")
        self.git(seed, "checkout", "-q", "-B", "main")
        self.git(seed, "add", "-A")
        self.git(seed, "commit", "-qm", "harness")
        self.git(seed, "push", "-q", "origin", "main")
        self.git(self.folder, "clone", "-q", "up.git", "AKO4ALL")
        task = self.ako("new", "halve", exit=0).data
        self.assertTrue(task["in_ako4all"])
        return pathlib.Path(task["task"])

    def closed(self, task):
        return [gate["gate"] for gate in self.ako("status", at=task, exit=0).data["closed_gates"]]

    def test_the_gate_opens_by_a_preflight_and_closes_when_the_checkout_changes(self):
        task = self.make_world()
        self.assertIn("clean-harness", self.closed(task))
        self.refused("try", "--hypothesis", "h", at=task, exit=4, kind="refused", says=("preflight", "clean-harness"))
        done = self.ako("preflight", at=task, exit=0).data
        self.assertTrue(done["recorded"])
        self.assertEqual((done["default_branch"], done["done"]), ("main", "nothing"))
        self.assertNotIn("clean-harness", self.closed(task))

        (self.folder / "AKO4ALL/README").write_text("edited\n")
        self.assertIn("clean-harness", self.closed(task))
        self.refused("preflight", at=task, exit=4, kind="refused", says=("dirty", "README"))
        (self.folder / "AKO4ALL/README").write_text("harness\n")
        self.assertIn("clean-harness", self.closed(task), "the last preflight failed")
        self.ako("preflight", at=task, exit=0)
        self.assertNotIn("clean-harness", self.closed(task))

        # The upstream goes on: the checkout is moved forward, and what was seen before no longer holds.
        (self.folder / "seed/README").write_text("newer\n")
        self.git(self.folder / "seed", "commit", "-qam", "newer")
        self.git(self.folder / "seed", "push", "-q", "origin", "main")
        self.assertEqual(self.ako("preflight", at=task, exit=0).data["done"], "forwarded")
        self.assertNotIn("clean-harness", self.closed(task))
        self.assertEqual((self.folder / "AKO4ALL/README").read_text(), "newer\n")

    def test_a_waiver_goes_on_and_stays_visible(self):
        task = self.make_world()
        (source,) = (task / "solution").glob("*.cpp")
        source.write_text("#error nothing is measured here\n" + source.read_text())
        self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=13)
        self.ako("report", at=task, exit=0)
        self.assertIn("gate clean-harness", (task / "report.md").read_text())

    def test_missing_is_cloned_and_nothing_to_clone_from_is_said(self):
        self.make_world()
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.refused("preflight", elsewhere, exit=4, kind="refused", says=("missing", "AKO4ALL_UPSTREAM_URL"))
        url = {"AKO4ALL_UPSTREAM_URL": str(self.folder / "up.git")}
        self.assertEqual(self.ako("preflight", elsewhere, "--look", exit=4, env=url).error["kind"], "refused")
        self.assertEqual(self.ako("preflight", elsewhere, exit=0, env=url).data["done"], "cloned")
        self.assertEqual((elsewhere / "AKO4ALL/README").read_text(), "harness\n")
        self.refused("preflight", self.folder / "nowhere", exit=2, kind="usage", env=url)

    def test_the_script_is_a_drop_in(self):
        self.make_world()
        def script(*words):
            return subprocess.run([SCRIPT, *words], cwd=self.folder, env={**self.environment, "AKO": os.environ["AKO"]}, capture_output=True, text=True)
        self.assertEqual(script().returncode, 0, script().stderr)
        self.assertEqual(script(str(self.folder)).returncode, 0)
        (self.folder / "AKO4ALL/new.txt").write_text("x\n")
        done = script(str(self.folder))
        self.assertEqual(done.returncode, 4)
        self.assertIn("untracked: 1 untracked file: new.txt", done.stderr)
        self.assertTrue((self.folder / "AKO4ALL/new.txt").exists())


if __name__ == "__main__":
    main()
