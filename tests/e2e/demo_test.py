"""scripts/demo with an ako that ends as it is told: what is repeated, what ends it, and that a report is made whatever came."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import python_cases  # noqa: E402

# Each command takes its next exit code from a file of its name, one a line; the last stays.
FAKE = """#!/usr/bin/env bash
echo "$1" >>"$FAKE/calls"
if [ "$1" = log ] && [ ! -e "$FAKE/checked" ]; then
  printf '    #  outcome\\n'; n=0; for outcome in $FAKE_RECORD; do n=$((n + 1)); echo "    $n  $outcome  keep"; done; exit 0
fi
touch "$FAKE/checked"
[ -e "$FAKE/$1" ] || exit 0
code=$(head -1 "$FAKE/$1")
[ "$(wc -l <"$FAKE/$1")" = 1 ] || sed -i 1d "$FAKE/$1"
exit "$code"
"""
RECORD = "improved undecided regressed incorrect improved improved incorrect equivalent"
AS_RECORDED = {"try": [0, 10, 10, 11, 0, 0, 11, 10]}


class Demo(unittest.TestCase):
    def demo(self, record=RECORD, **codes):
        with tempfile.TemporaryDirectory() as top:
            fake = pathlib.Path(top) / "bin"
            fake.mkdir()
            (fake / "ako").write_text(FAKE)
            (fake / "ako").chmod(0o755)
            for command, list_of in codes.items():
                (fake / command).write_text("".join(f"{code}\n" for code in list_of))
            run = subprocess.run([str(ROOT / "scripts/demo"), "--no-setup"], capture_output=True, text=True,
                                 env={**os.environ, "AKO_DEMO_BIN": str(fake), "AKO_DEMO_WORK": f"{top}/work", "FAKE": str(fake),
                                      "FAKE_RECORD": record})
            return run.returncode, run.stdout + run.stderr, (fake / "calls").read_text().split()

    def reported(self, calls):
        self.assertEqual(calls[-3:], ["log", "verify", "report"])

    def test_as_on_record(self):
        code, text, calls = self.demo(**AS_RECORDED)
        self.assertEqual(code, 0, text)
        self.assertIn("8 of 8 steps ended as on record", text)
        self.assertNotIn("on no record", text)
        self.assertEqual(calls.count("try"), 8)
        self.reported(calls)

    def test_steps_that_the_record_lacks_are_run_and_not_counted(self):
        code, text, calls = self.demo(record=" ".join(RECORD.split()[:6]), **{"try": [0, 10, 10, 11, 0, 0, 0, 0]})
        self.assertEqual(code, 0, text)
        self.assertIn("6 of 6 steps ended as on record", text)
        self.assertIn("2 more are on no record yet", text)
        self.assertEqual(calls.count("try"), 8)

    def test_other_outcomes_are_counted_and_are_no_success(self):
        code, text, calls = self.demo(**{"try": [0, 10, 10, 0, 0, 0, 11, 10]})
        self.assertEqual(code, 10, text)
        self.assertIn("7 of 8 steps", text)
        self.reported(calls)

    def test_a_disturbed_machine_is_asked_again(self):
        code, text, calls = self.demo(check=[14, 14, 0], baseline=[3, 0], **{"try": [14, 0, 10, 14, 14, 10, 11, 0, 0, 11, 10]})
        self.assertEqual(code, 0, text)
        self.assertEqual((calls.count("check"), calls.count("baseline"), calls.count("try")), (3, 2, 11))
        self.reported(calls)

    def test_one_that_is_never_quiet_ends_with_a_report(self):
        code, text, calls = self.demo(check=[14])
        self.assertEqual((code, calls.count("check"), calls.count("try")), (14, 5, 0), text)
        self.reported(calls)
        code, text, calls = self.demo(**{"try": [0, 14, 14, 14, 14, 14, 10, 11, 0, 0, 11, 10]})
        self.assertEqual(code, 10, text)
        self.assertIn("7 of 8 steps", text)

    def test_what_is_wrong_with_the_task_or_ako_ends_it(self):
        for wrong in (2, 4, 12, 70, 130):
            code, text, calls = self.demo(**{"try": [0, wrong]})
            self.assertEqual((code, calls.count("try")), (wrong, 2), text)
            self.reported(calls)


if __name__ == "__main__":
    python_cases.main()
