"""The counter of test cases: failures, skips, torn reports and nothing at all are told apart."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

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


if __name__ == "__main__":
    unittest.main()
