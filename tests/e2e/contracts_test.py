"""Contracts that cannot be, or cannot judge: one message that says where and what is allowed, and an intact task."""

import re
import shutil

from tool import Case, main


class Contracts(Case):
    def bad(self, change, says, line=None, exit=2, last=False):
        """task.toml after `change`; both a reading and a writing command refuse it in the same words, at the first line
        that holds `line`, or the last."""
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
                number = [i + 1 for i, row in enumerate(path.read_text().split("\n")) if line in row][-1 if last else 0]
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
        self.bad(self.replaced("shape = [\"N\"]", "shape = [\"K\"]"), says=("free axis 'K'", "declare K under [axes]"), line="shape = [\"K\"]")
        self.bad(self.replaced("N = 256", "weight = 2"), says=("axis 'N' has no value in this shape", "1 to 4096", "add N = ..."),
                 line="[[shape]]")
        self.bad(self.replaced("[axes]\n", "[axes]\nK = {}\n"),
                 says=("an axis has exactly one form, this has 0", "{ var = true }"), line="K = {}")

    def test_overlapping_shapes(self):
        both = "N = 256\ntag = \"a\"\n\n[[shape]]\ntag = \"a\"\nN = 512"
        self.bad(self.replaced("N = 256", both), says=("two shapes have the tag 'a'", "a tag of its own"), line="tag = \"a\"", last=True)
        self.bad(self.replaced("N = 256", "N = 256\n\n[[shape]]\ntag = \"b\"\nN = 256"),
                 says=("shapes 'N=256' and 'b' overlap", "merge them and add their weights"), line="[[shape]]", last=True)

    def test_unlawful_shapes(self):
        for value in ("0", "5000", "-1"):
            self.bad(self.replaced("N = 256", f"N = {value}"), says=("unlawful value of axis 'N'", value, "1 to 4096"), line=f"N = {value}")
        for value in ("\"many\"", "1.5"):
            self.bad(self.replaced("N = 256", f"N = {value}"),
                     says=("the value of an axis is an integer", value.strip("\""), "1 to 4096"), line=f"N = {value}")
        task = self.folder / "task"
        self.edit(task / "task.toml", "tile = 16", "tile = 16, multiple_of = 3")
        self.bad(lambda text: text, says=("unlawful value of axis 'N'", "256", "multiples of 3"), line="N = 256")

    def test_a_contract_that_lies_outside(self):
        task = self.make_task()
        outside = self.folder / "contract.toml"
        (task / "task.toml").rename(outside)
        (task / "task.toml").symlink_to(outside)
        before = self.picture(task)
        for command in (("check",), ("check", "--echo"), ("try", "--hypothesis", "h"), ("baseline",)):
            self.refused(*command, at=task, exit=2, kind="invalid",
                         says=("the contract lies outside the task", f"{task}/task.toml", str(outside), "copy it into the task"))
        self.intact(task, before, [])
        (task / "task.toml").unlink()
        shutil.copy(outside, task / "input/task.toml")
        (task / "task.toml").symlink_to("input/task.toml")
        self.ako("check", "--echo", at=task, exit=0)

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

    def cannot(self, task, step, says, where, next, kind=None):
        """The one step that fails first, and the one message about it, in JSON and in text. `kind`: it did not get as far as steps."""
        before = self.picture(task)
        reply = self.refused("check", at=task, exit=2, kind="invalid", says=says)
        self.assertEqual(reply.error["where"], where)
        self.assertIn(next, reply.error["next"])
        if kind != "early":
            self.assertEqual((reply.json["outcome"], reply.json["fault"]), ("task_error", "task"))
            self.assertFalse(reply.data["passed"])
            failed = [s["name"] for s in reply.data["steps"] if not s["passed"]]
            self.assertEqual(failed[0], step, reply.data["steps"])
            text = self.run_text("check", at=task)
            self.assertRegex(text.out, rf"(?m)^FAILED +{step} ")
            told = text.out[text.out.index("the contract cannot judge"):]
            self.assertRegex(told, rf"(?s)\A[^\n]*\n{re.escape(reply.error['message'])}\n  where: +{re.escape(where)}\n"
                                   r"  found: +\S.*\n  allowed: +\S.*\n  next: +\S")
        self.intact(task, before, [])
        self.refused("baseline", at=task, exit=4, says="contract-proven")
        self.refused("try", "--hypothesis", "h", at=task, exit=4, says="contract-proven")
        return reply

    def test_a_wrong_reference(self):
        task = self.make_task()
        self.edit(task / "input/reference.cpp", "0.5 *", "0.51 *")
        self.cannot(task, "a/a", ("baseline:first does not agree with the reference", "outside the tolerance"),
                    where="input/reference.cpp and input/halve.cpp", next="correct the one that is wrong")
        reply = self.refused("baseline", "--waive", "to see it", at=task, exit=2, says=("baseline:first", "tolerance"))
        self.assertIn("ako check", reply.error["next"])

    def test_a_reference_that_is_no_number(self):
        task = self.make_task()
        self.edit(task / "input/reference.cpp", "0.5 * x[i]", "i == 3 ? 0.0 / (x[i] - x[i]) : 0.5 * x[i]")
        self.cannot(task, "reference", ("the reference gives NaN for 1 of 256 elements, the first at [3]", "nan_meaningful"),
                    where="input/reference.cpp", next="correct input/reference.cpp")

    def test_a_reference_that_is_infinite_where_what_it_judges_is_not(self):
        task = self.make_task()
        self.edit(task / "input/reference.cpp", "0.5 * x[i]", "i == 3 ? 1 / (x[i] - x[i]) : 0.5 * x[i]")
        self.cannot(task, "a/a", ("not finite where they must be", "[3]", "expected inf"),
                    where="input/reference.cpp and input/halve.cpp", next="correct the one that is wrong")

    def test_an_answer_that_is_infinite_is_lawful(self):
        """The honest twin: where the right answer is infinite, both give it."""
        task = self.make_task()
        for path in ("input/reference.cpp", "input/halve.cpp", "solution/halve.cpp"):
            text = (task / path).read_text()
            (task / path).write_text(re.sub(r"y\[i\] = ([^;]*);", r"y[i] = i == 3 ? 1 / (x[i] - x[i]) : \1;", text))
        reply = self.ako("check", at=task, exit=(0, 3, 14))  # a machine too busy to measure on may not settle it
        if reply.data:
            steps = {step["name"]: step["passed"] for step in reply.data["steps"]}
            self.assertTrue(steps["probe:zeros"])
            self.assertTrue(steps.get("a/a", True))

    def test_a_reference_that_answers_differently_each_time(self):
        task = self.make_task()
        self.edit(task / "input/reference.cpp", "void halve", "static int calls;\nvoid halve")
        self.edit(task / "input/reference.cpp", "0.5 * x[i]", "0.5 * x[i] + calls++ % 7")
        self.cannot(task, "reference", "the reference gives another answer",
                    where="input/reference.cpp", next="correct input/reference.cpp")

    def test_a_reference_that_crashes(self):
        task = self.make_task()
        self.edit(task / "input/reference.cpp", "y[i] =", "*(volatile double*)0 =")
        self.cannot(task, None, "SIGSEGV", where="[reference]", next="ako check", kind="early")

    def test_a_tolerance_that_nothing_can_fail(self):
        task = self.make_task()
        self.edit(task / "task.toml", "[accept]", "[tolerance]\natol = 1e9\n\n[accept]")
        line = 1 + (task / "task.toml").read_text().split("\n").index("[tolerance]")
        reply = self.cannot(task, "probe:zeros", ("the tolerance lets wrong answers pass", "probe:zeros would pass"),
                            where=f"task.toml:{line} [tolerance]", next="make it smaller, or leave it out")
        self.assertIn("more: ako check --all", reply.error["found"])

    def test_a_tolerance_that_honest_answers_fail(self):
        task = self.make_task()
        self.edit(task / "task.toml", 'precision = "float64"', 'precision = "float64"\n\n[tolerance]\natol = 0.0\nrtol = 0.0')
        self.edit(task / "input/reference.cpp", "0.5 *", "0.3 *")
        self.edit(task / "input/halve.cpp", "0.5f *", "0.3f *")
        line = 1 + (task / "task.toml").read_text().split("\n").index("[tolerance]")
        self.cannot(task, "honest:noise_of_sums", "the tolerance refuses honest answers",
                    where=f"task.toml:{line} [tolerance]", next="make it larger, or leave it out")

    def test_a_reference_that_does_not_look_at_its_inputs(self):
        task = self.make_task()
        self.edit(task / "input/reference.cpp", "0.5 * x[i]", "7.0")
        self.cannot(task, "probe:other_seed", ("nothing to tell a wrong answer by", "the inputs leave only one answer"),
                    where="input/reference.cpp", next="another fill")

    def test_an_absent_entry(self):
        task = self.make_task()
        self.edit(task / "task.toml", 'file = "solution/halve.cpp", symbol = "halve"',
                  'file = "solution/halve.cpp", symbol = "havle"')
        self.cannot(task, "build:solution", "havle", where="solution/halve.cpp, function havle", next="ako check")
        task = self.make_task(self.folder / "other")
        self.edit(task / "task.toml", 'file = "input/reference.cpp", symbol = "halve"',
                  'file = "input/reference.cpp", symbol = "havle"')
        self.cannot(task, None, ("havle", "reference.entry.symbol"), where="input/reference.cpp, function havle",
                    next="reference.entry.symbol", kind="early")


if __name__ == "__main__":
    main()
