"""The counter of test cases: failures, skips, torn reports and nothing at all are told apart."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import python_cases  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/lint/count_cases.py"
PASSED = '<testcase name="a" classname="T" status="run" result="completed"/>'
FAILED = '<testcase name="b" classname="T" status="run" result="completed"><failure message="x"/></testcase>'
SKIPPED = '<testcase name="c" classname="T" status="run" result="skipped"><skipped message="x"/></testcase>'
NOT_RUN = '<testcase name="d" classname="T" status="notrun" result="suppressed"/>'


def report(*cases):
    return "<testsuites><testsuite>" + "".join(cases) + "</testsuite></testsuites>"


class Counts(unittest.TestCase):
    def count(self, *reports):
        with tempfile.TemporaryDirectory() as folder:
            for index, text in enumerate(reports):
                (pathlib.Path(folder) / f"{index}.xml").write_text(text)
            run = subprocess.run([sys.executable, str(SCRIPT), folder], capture_output=True, text=True)
            return run.stdout.splitlines(), run.returncode

    def test_passed(self):
        out, code = self.count(report(PASSED, PASSED), report(PASSED, NOT_RUN))
        self.assertEqual((out[-1], code), ("3 passed, 0 failed", 0))

    def test_failed(self):
        out, code = self.count(report(PASSED, FAILED))
        self.assertEqual((out[-1], code), ("1 passed, 1 failed", 1))

    def test_skipped_is_not_passed(self):
        out, code = self.count(report(PASSED, SKIPPED))
        self.assertEqual((out, code), (["skipped: T.c", "1 skipped", "1 passed, 0 failed"], 0))

    def test_torn(self):
        out, code = self.count(report(PASSED), report(PASSED)[:40])
        self.assertEqual((out[-1], code), ("1 passed, 1 failed", 1))

    def test_nothing(self):
        self.assertEqual(self.count(), (["0 passed, 0 failed"], 1))


CASES = """
import sys
sys.path.insert(0, {tests!r})
import unittest
import python_cases


class T(unittest.TestCase):
{cases}

python_cases.main()
"""


class PythonCases(unittest.TestCase):
    """What a Python test program leaves for the counter, and what it tells CTest."""

    def outcome(self, cases, part="all"):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            tests = str(pathlib.Path(__file__).resolve().parents[1])
            program.write_text(CASES.format(tests=tests, cases="\n".join("    " + line for line in cases)))
            reports = pathlib.Path(folder) / "reports"
            reports.mkdir()
            run = subprocess.run([sys.executable, str(program)], capture_output=True, text=True,
                                 env={**os.environ, "GTEST_OUTPUT": f"xml:{reports}/", "AKO_CASES": part})
            counted = subprocess.run([sys.executable, str(SCRIPT), str(reports)], capture_output=True, text=True)
            return run.returncode, counted.stdout.splitlines()[-1], counted.stdout

    GOOD = ["def test_good(self): pass"]
    BAD = ["def test_bad(self): self.fail('no')"]
    SKIPS = ["def test_skips(self): self.skipTest('not here')"]
    BUSY = ["def test_busy(self): self.skipTest(python_cases.BUSY + ' to measure on')"]
    MEASURED = ["@python_cases.measured", "def test_measured(self): self.fail('measured')"]

    def test_good_and_bad(self):
        self.assertEqual(self.outcome(self.GOOD)[:2], (0, "1 passed, 0 failed"))
        self.assertEqual(self.outcome(self.GOOD + self.BAD)[:2], (1, "1 passed, 1 failed"))

    def test_what_was_skipped_is_named_and_a_busy_machine_is_not_green(self):
        code, last, text = self.outcome(self.GOOD + self.SKIPS)
        self.assertEqual((code, last), (0, "1 passed, 0 failed"))
        self.assertIn("skipped: __main__.T.test_skips", text)
        self.assertEqual(self.outcome(self.GOOD + self.BUSY)[0], 77)
        self.assertEqual(self.outcome(self.SKIPS)[:2], (77, "0 passed, 0 failed"))
        self.assertEqual(self.outcome(self.BUSY + self.BAD)[0], 1)

    def test_parts(self):
        self.assertEqual(self.outcome(self.GOOD + self.MEASURED, "plain")[:2], (0, "1 passed, 0 failed"))
        self.assertEqual(self.outcome(self.GOOD + self.MEASURED, "measured")[:2], (1, "0 passed, 1 failed"))
        self.assertEqual(self.outcome(self.GOOD + self.MEASURED)[:2], (1, "1 passed, 1 failed"))

    def test_no_case_at_all_fails(self):
        self.assertEqual(self.outcome(self.GOOD, "measured")[0], 1)
        self.assertEqual(self.outcome(["pass"])[0], 1)


if __name__ == "__main__":
    python_cases.main()
