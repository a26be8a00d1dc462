"""What `ako show --evidence` prints is seen again by `ako show --replay`, and nothing is recorded by looking."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import python_cases  # noqa: E402

AKO = os.environ["AKO"]
CULPRITS = pathlib.Path(__file__).resolve().parents[1] / "culprits" / "cpu"
MEASURED = {"improved", "equivalent", "regressed", "undecided", "invalid_measurement"}


class Replay(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="ako-replay-"))
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.top), "XDG_CACHE_HOME": str(self.top / "cache"),
            "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "AKO_CHILD", "AKO_RUNTIME_DIR"):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        for words in (["init", "-q", "repo"], ["-C", "repo", "config", "user.email", "t@t"],
                      ["-C", "repo", "config", "user.name", "t"]):
            subprocess.run(["git", *words], cwd=self.top, env=self.environment, check=True)

    def task(self, name):
        """The task of that folder, in the repository, without a solution."""
        self.folder = self.top / "repo" / name
        self.folder.mkdir()
        shutil.copy(CULPRITS / name / "task.toml", self.folder)
        shutil.copytree(CULPRITS / name / "input", self.folder / "input")
        (self.folder / "solution").mkdir()

    def solve(self, source):
        """The file without its first comment, as the product must see it."""
        text = (CULPRITS / (source + ".cpp")).read_text().split("\n", 1)[1]
        (self.folder / "solution/kernel.cpp").write_text(text)

    def ako(self, *words):
        done = subprocess.run([AKO, *words], cwd=self.folder, env=self.environment, text=True, capture_output=True)
        return done.returncode, done.stdout

    def answer(self, *words):
        code, out = self.ako(*words, "--json")
        return code, json.loads(out)

    def test_evidence_names_its_place_and_comes_again(self):
        for source, code, guard in (("rows/short_sum", 11, "compare"), ("rows/order_by_clock", 11, "stability")):
            if not (self.top / "repo/rows").exists():
                self.task("rows")
            self.solve(source)
            self.assertEqual(self.ako("try", "--hypothesis", "h", "--waive", "a test")[0], code, source)
            number = 1 if source.endswith("sum") else 2
            _, text = self.ako("show", str(number), "--evidence")
            self.assertIn(f"{guard} (decisive)", text)
            self.assertIn(f"ako show {number} --replay", text)
            if guard == "compare":
                self.assertRegex(text, r"phase check, shape \S+, tensor s, set \d, recipe plain, seed 0x[0-9a-f]{16}")
            events = self.answer("verify")[1]["data"]["events"]
            solution = (self.folder / "solution/kernel.cpp").read_bytes()
            got, reply = self.answer("show", str(number), "--replay")
            self.assertEqual(got, 0, reply)
            replay = reply["data"]["replay"]
            self.assertEqual((replay["recorded"], replay["now"]), ("incorrect", "incorrect"), replay)
            self.assertTrue(replay["evidence"])
            self.assertTrue(all(line["again"] for line in replay["evidence"]), replay)
            self.assertIn(guard, [line["guard"] for line in replay["evidence"]])
            # The same seeds: every word of what a comparison says is the same, values included.
            if guard == "compare":
                recorded = self.answer("show", str(number))[1]["data"]
                was = recorded["iteration"]["verdict"]["outcome"]["evidence"]
                self.assertEqual([e["text"] for e in was], [line["text"] for line in replay["evidence"]])
                self.assertEqual(recorded["evaluation"]["seed"], replay["seed"])
            self.assertEqual(self.answer("verify")[1]["data"]["events"], events)
            self.assertEqual((self.folder / "solution/kernel.cpp").read_bytes(), solution)

    def test_what_was_clean_stays_clean_and_another_contract_is_refused(self):
        self.task("rows")
        self.solve("rows/short_sum.honest")
        code, reply = self.answer("try", "--hypothesis", "h", "--waive", "a test")
        self.assertIn(reply["outcome"], MEASURED)
        self.assertIn("no evidence", self.ako("show", "--evidence")[1])
        _, reply = self.answer("show", "1", "--replay")
        replay = reply["data"]["replay"]
        self.assertEqual((replay["evidence"], replay["others"]), ([], []))
        self.assertIn(replay["now"], MEASURED)
        toml = self.folder / "task.toml"
        toml.write_text(toml.read_text().replace("M = 32", "M = 16"))
        code, reply = self.answer("show", "1", "--replay")
        self.assertEqual(code, 14)
        self.assertEqual(reply["error"]["kind"], "stale")

    def test_what_was_never_judged_cannot_be_seen_again(self):
        self.task("rows")
        (self.folder / "solution/kernel.cpp").write_text("this is no program\n")
        self.assertEqual(self.ako("try", "--hypothesis", "h", "--waive", "a test")[0], 13)
        code, reply = self.answer("show", "1", "--replay")
        self.assertEqual(code, 4)
        self.assertEqual(reply["error"]["kind"], "refused")


if __name__ == "__main__":
    python_cases.main()
