"""A document that names what is not there is found out."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import python_cases  # noqa: E402

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/lint/names.py"


class Names(unittest.TestCase):
    def run_on(self, text, *words):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            culprits = root / "tests/culprits/cpu/chain"
            culprits.mkdir(parents=True)
            (culprits / "merged.cpp").touch()
            (culprits.parent / "fork.cpp").touch()
            (root / "tests/some_test.cpp").write_text("TEST(Some, Case) {}\nTEST_F( Other, One ) {}\n")
            (root / "page.md").write_text(text)
            done = subprocess.run([sys.executable, TOOL, "--root", folder, *words, "page.md"], text=True, capture_output=True)
            return done.returncode, done.stdout

    def test_what_is_there_passes(self):
        text = "`chain/merged` `tests/some_test.cpp` `Some.Case` `ako show 3`\n| a | b | `fork` `Other.One` `chain/merged` |\n"
        self.assertEqual(self.run_on(text), (0, ""))

    def test_what_is_not_there_is_named_with_its_line(self):
        for name in ("chain/gone", "tests/gone_test.cpp", "Some.Gone", "gone.py"):
            code, out = self.run_on(f"first\nsee `{name}`\n")
            self.assertEqual((code, out), (1, f"page.md:2: names: {name} is nowhere\n"))

    def test_the_last_cell_of_a_row_holds_names_alone(self):
        code, out = self.run_on("| promise | how | `fork` `spoon` |\n")
        self.assertEqual((code, out), (1, "page.md:1: names: spoon is nowhere\n"))

    def test_a_row_that_nothing_shows_is_named(self):
        head = "| case | shown by |\n|---|---|\n"
        self.assertEqual(self.run_on(head + "| a | `fork` |\n\n| b | |\n"), (0, ""))
        for cell in ("", "nothing", "see `fork` there"):
            code, out = self.run_on(head + f"| a | `fork` |\n| b | {cell} |\n")
            self.assertEqual((code, out), (1, "page.md:4: names: no culprit and no test case shows this\n"), cell)

    def test_a_culprit_that_no_document_names_is_named(self):
        text = "| a | b | `fork` `chain/merged` |\n"
        self.assertEqual(self.run_on(text, "--culprits", "cpu"), (0, ""))
        code, out = self.run_on("`fork`\n", "--culprits", "cpu")
        self.assertEqual((code, out), (1, "tests/culprits: names: chain/merged is in no document\n"))


if __name__ == "__main__":
    python_cases.main()
