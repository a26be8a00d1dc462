"""Runs the unittest cases of a test program so that they are counted and none that was skipped looks passed.

Where GTEST_OUTPUT names a folder ("xml:FOLDER/", as scripts/test sets it), a report in GoogleTest's form goes there. The
exit code is 77, which CTest is told to show as skipped, where no case passed or the machine was too busy for one.
Cases marked by @measured hang on a measured verdict: AKO_CASES=plain leaves them out, AKO_CASES=measured runs them alone.
"""

import os
import pathlib
import sys
import unittest
from xml.sax.saxutils import quoteattr

SKIPPED = 77
BUSY = "the machine is too busy"  # how the reason of such a skip begins


def measured(thing):
    """Marks a case, or a class of them."""
    thing.is_measured = True
    return thing


def is_measured(test):
    return getattr(type(test), "is_measured", False) or getattr(getattr(test, test._testMethodName, None), "is_measured", False)


def flat(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from flat(each)
        else:
            yield each


class Result(unittest.TextTestResult):
    def __init__(self, *words, **more):
        super().__init__(*words, **more)
        self.passed = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.append(test)


def line(test, skipped=False, failed=False):
    name = test.id().rsplit(".", 1)
    body = "<failure/>" if failed else "<skipped/>" if skipped else ""
    return (f'<testcase classname={quoteattr(name[0])} name={quoteattr(name[-1])} status="run" '
            f'result="{"skipped" if skipped else "completed"}">{body}</testcase>')


def report(result, folder, name):
    failed = [test for test, _ in result.failures + result.errors] + list(result.unexpectedSuccesses)
    lines = [line(test) for test in result.passed]
    lines += [line(test, skipped=True) for test, _ in result.skipped]
    lines += [line(test, failed=True) for test in failed]
    text = "<testsuites><testsuite>\n" + "\n".join(lines) + "\n</testsuite></testsuites>\n"
    (pathlib.Path(folder) / f"{name}.xml").write_text(text)


def code_of(result):
    if not result.wasSuccessful():
        return 1
    busy = any(reason.startswith(BUSY) for _, reason in result.skipped)
    return SKIPPED if busy or not result.passed else 0


def main(names=None, module="__main__"):
    """`names`: of the cases; otherwise those of the command line, or all."""
    program = pathlib.Path(sys.argv[0]).stem
    part = os.environ.get("AKO_CASES", "all")
    if names is None:
        names = [word for word in sys.argv[1:] if not word.startswith("-")]
    loader = unittest.defaultTestLoader
    all_of_it = loader.loadTestsFromNames(names, sys.modules[module]) if names else loader.loadTestsFromModule(sys.modules[module])
    suite = unittest.TestSuite(test for test in flat(all_of_it) if part == "all" or is_measured(test) == (part == "measured"))
    if suite.countTestCases() == 0:
        sys.exit(f"{program}: no case of {part}")
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    wanted = os.environ.get("GTEST_OUTPUT", "")
    if wanted.startswith("xml:") and wanted.endswith("/"):
        report(result, wanted[len("xml:"):], f"{program}-{part}")
    sys.exit(code_of(result))
