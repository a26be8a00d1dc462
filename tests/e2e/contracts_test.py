"""Contracts that cannot be, or cannot judge: one message that says where and what is allowed, and an intact task."""

import re

from tool import Case, main


class Contracts(Case):
    def bad(self, change, says, line=None, exit=2):
        """task.toml after `change`; both a reading and a writing command refuse it in the same words."""
        task = self.folder / "task"
        if not task.exists():
            self.make_task(task)
        path = task / "task.toml"
        good = path.read_bytes()
        text = change(good.decode())
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        before = self.picture(task)
        messages = []
        for command in (("check",), ("try", "--hypothesis", "h")):
            reply = self.refused(*command, at=task, exit=exit, says=says)
            self.assertIn("task.toml", reply.error["where"])
            if line:
                number = 1 + [line in row for row in path.read_text().split("\n")].index(True)
                self.assertRegex(reply.error["where"], rf"task\.toml:{number}:\d+")
            messages.append(reply.error)
            self.intact(task, before, [])
        self.assertEqual(messages[0], messages[1])
        text = self.run_text("check", at=task)
        self.assertEqual((text.code, text.out), (exit, ""))
        path.write_bytes(good)

    @staticmethod
    def replaced(old, new):
        def change(text):
            assert old in text, old
            return text.replace(old, new, 1)
        return change

    def test_missing(self):
        task = self.make_task()
        (task / "task.toml").unlink()
        self.refused("check", at=task, exit=2, says=("no task here", "ako new"))
        (task / "task.toml").mkdir()
        self.refused("check", at=task, exit=(2, 3), says="task.toml")

    def test_empty(self):
        self.bad(lambda text: "", says=("empty", "format 1"))
        self.bad(lambda text: " \n\t\n", says="empty")

    def test_no_toml(self):
        self.bad(lambda text: text + "[kernel\n", says="task.toml", line=None)
        self.bad(lambda text: text.encode() + b"\xff\xfe\x00\x01", says="task.toml")
        self.bad(self.replaced("format = 1", "format = 2"), says=("format", "1"), line="format = 2")

    def test_unknown_lane(self):
        self.bad(self.replaced("[kernel]\n", "[kernel]\nlane = \"gpu\"\n"), says=("gpu", "cuda", "cpu"), line="lane =")

    def test_misspelt_keys(self):
        self.bad(self.replaced("dtype = \"float32\"", "dytpe = \"float32\""), says=("dytpe", "dtype"), line="dytpe")
        self.bad(self.replaced("[limits]", "[limit]"), says=("limit", "limits"), line="[limit]")
        self.bad(self.replaced("precision =", "percision ="), says=("percision", "precision"), line="percision")

    def test_free_axes(self):
        self.bad(self.replaced("shape = [\"N\"]", "shape = [\"K\"]"), says="K", line="shape = [\"K\"]")
        self.bad(self.replaced("N = 256", "weight = 2"), says="N")
        self.bad(self.replaced("[axes]\n", "[axes]\nK = {}\n"), says=("K", "var"), line="K = {}")

    def test_overlapping_shapes(self):
        both = "N = 256\ntag = \"a\"\n\n[[shape]]\ntag = \"a\"\nN = 512"
        self.bad(self.replaced("N = 256", both), says="a")
        self.bad(self.replaced("N = 256", "N = 256\n\n[[shape]]\ntag = \"b\"\nN = 256"), says="256")

    def test_unlawful_shapes(self):
        for value, says in (("0", "1"), ("5000", "4096"), ("-1", "1"), ("\"many\"", "many"), ("1.5", "integer")):
            self.bad(self.replaced("N = 256", f"N = {value}"), says=says, line=f"N = {value}")
        task = self.folder / "task"
        self.edit(task / "task.toml", "tile = 16", "tile = 16, multiple_of = 3")
        self.bad(lambda text: text, says="3")

    def test_entries_outside_and_absent(self):
        (self.folder / "outside.cpp").write_text("void halve(const float*, float*, int) {}\n")
        self.bad(self.replaced("solution/halve.cpp", "../outside.cpp"), says="..")
        self.bad(self.replaced("solution/halve.cpp", str(self.folder / "outside.cpp")), says="outside.cpp")
        self.bad(self.replaced("solution/halve.cpp", "solution/absent.cpp"), says=("absent.cpp", "does not exist"))
        self.bad(self.replaced("solution/halve.cpp", "solution"), says="solution")
        self.bad(self.replaced("solution/halve.cpp", "solution/halve.py"), says=(".py", ".cpp"))

    def test_a_contract_of_two_gigabytes_is_not_read(self):
        task = self.make_task()
        with open(task / "task.toml", "r+b") as file:
            file.truncate(2 << 30)
        before = self.picture(task)
        reply = self.refused("check", at=task, exit=2, says="task.toml")
        self.assertLess(reply.seconds, 5)
        self.intact(task, before, [])

    def test_crlf_and_a_byte_order_mark_are_lawful(self):
        task = self.make_task()
        for path in [task / "task.toml", *task.rglob("*.cpp")]:
            text = path.read_text().replace("\n", "\r\n")
            path.write_bytes(("\ufeff" if path.suffix == ".toml" else "").encode() + text.encode())
        self.ako("check", "--build-only", at=task, exit=0)
        self.bad_line_with_crlf(task)

    def bad_line_with_crlf(self, task):
        path = task / "task.toml"
        path.write_bytes(path.read_bytes().replace(b"dtype =", b"dytpe =", 1))
        reply = self.refused("check", at=task, exit=2, says="dtype")
        number = 1 + [b"dytpe" in row for row in path.read_bytes().split(b"\n")].index(True)
        self.assertRegex(reply.error["where"], rf"task\.toml:{number}:\d+")


class CannotJudge(Case):
    """`ako check` ends with task_error and names the step; nothing can be claimed after it."""

    def cannot(self, task, step, says):
        before = self.picture(task)
        reply = self.ako("check", at=task, exit=2)
        if reply.error is None:
            self.assertEqual(reply.json["outcome"], "task_error")
            self.assertEqual(reply.json["fault"], "task")
            self.assertFalse(reply.data["passed"])
            failed = [s for s in reply.data["steps"] if not s["passed"]]
            self.assertTrue(any(re.match(step, s["name"]) and says in s["detail"] for s in failed), failed)
            text = self.run_text("check", at=task)
            self.assertIn("FAILED", text.out)
            self.assertIn("the contract cannot judge", text.out)
        else:
            self.whole(reply, says=says)
        self.intact(task, before, [])
        self.refused("baseline", at=task, exit=4, says="contract-proven")
        self.refused("try", "--hypothesis", "h", at=task, exit=4, says="contract-proven")
        return reply

    def test_a_wrong_reference(self):
        task = self.make_task()
        self.edit(task / "input/reference.cpp", "0.5 *", "0.51 *")
        self.cannot(task, "a/a", "outside the tolerance")
        reply = self.refused("baseline", "--waive", "to see it", at=task, exit=2, says=("baseline:first", "tolerance"))
        self.assertIn("ako check", reply.error["next"])

    def test_a_reference_that_is_not_finite(self):
        task = self.make_task()
        self.edit(task / "input/reference.cpp", "0.5 * x[i]", "i == 3 ? 0.0 / (x[i] - x[i]) : 0.5 * x[i]")
        self.cannot(task, "reference|a/a|probe|mutant|honest", "")

    def test_a_reference_that_answers_differently_each_time(self):
        task = self.make_task()
        self.edit(task / "input/reference.cpp", "void halve", "static int calls;\nvoid halve")
        self.edit(task / "input/reference.cpp", "0.5 * x[i]", "0.5 * x[i] + calls++ % 7")
        self.cannot(task, "reference|a/a|honest", "")

    def test_a_reference_that_crashes(self):
        task = self.make_task()
        self.edit(task / "input/reference.cpp", "y[i] =", "*(volatile double*)0 =")
        self.cannot(task, "reference", "SIGSEGV")

    def test_a_tolerance_that_nothing_can_fail(self):
        task = self.make_task()
        self.edit(task / "task.toml", "[accept]", "[tolerance]\natol = 1e9\n\n[accept]")
        self.cannot(task, "probe:zeros", "")

    def test_an_absent_entry(self):
        task = self.make_task()
        self.edit(task / "task.toml", 'file = "solution/halve.cpp", symbol = "halve"',
                  'file = "solution/halve.cpp", symbol = "havle"')
        reply = self.cannot(task, "build:solution", "havle")
        self.assertIsNone(reply.error)
        task = self.make_task(self.folder / "other")
        self.edit(task / "task.toml", 'file = "input/reference.cpp", symbol = "halve"',
                  'file = "input/reference.cpp", symbol = "havle"')
        self.cannot(task, "build:reference", ("havle", "reference.entry.symbol"))


if __name__ == "__main__":
    main()
