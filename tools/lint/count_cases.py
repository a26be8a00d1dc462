#!/usr/bin/env python3
"""Adds up the reports of a folder in GoogleTest's form (tests/python_cases.py writes them for unittest): the last line is "N passed, N failed".

Cases that were skipped are named apart, so that they never look like passed ones. Exit 1 when a case failed, when a
report cannot be read, or when there is no case at all.
"""
import pathlib
import sys
import xml.etree.ElementTree as tree


def count(folder):
    passed = failed = skipped = 0
    for report in sorted(pathlib.Path(folder).glob("*.xml")):
        try:
            cases = tree.parse(report).getroot().iter("testcase")
        except tree.ParseError:
            print(f"{report.name}: an unfinished report counts as a failed case")
            failed += 1
            continue
        for case in cases:
            if case.get("status") == "notrun":
                continue
            if case.find("failure") is not None:
                failed += 1
            elif case.get("result") == "skipped" or case.find("skipped") is not None:
                skipped += 1
                print(f"skipped: {case.get('classname')}.{case.get('name')}")
            else:
                passed += 1
    return passed, failed, skipped


def main():
    passed, failed, skipped = count(sys.argv[1])
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
