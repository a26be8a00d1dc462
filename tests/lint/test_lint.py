"""Each check of the lint against a planted violation that it must report and an honest twin that it must let pass."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import python_cases  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools/lint"))
import functions  # noqa: E402
import lint  # noqa: E402


def body(lines):
    return "int f(int a) {\n" + "  ++a;\n" * (lines - 2) + "}\n"


class Planted(unittest.TestCase):
    def run_check(self, check, files):
        """The output and the number of errors of one check over a small tree."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            (root / ".clang-format").write_text((SOURCE / ".clang-format").read_text())
            findings, out = lint.Findings(), io.StringIO()
            with contextlib.redirect_stdout(out):
                lint.CHECKS[check](root, lint.tracked(root), findings)
            return out.getvalue(), findings.errors

    def assert_fails(self, check, files, saying):
        out, errors = self.run_check(check, files)
        self.assertGreaterEqual(errors, 1, files)
        self.assertIn(saying, out)

    def assert_passes(self, check, files):
        out, errors = self.run_check(check, files)
        self.assertEqual((out, errors), ("", 0))

    def test_layers(self):
        bad = {
            "src/model/a.cpp": '#include "ledger/b.hpp"\n',      # upwards
            "src/judge/a.hpp": '#  include "profiles/b.hpp"\n',  # sideways
            "src/base/a.cpp": "#include <model/b.hpp>\n",        # in the other kind of brackets
            "src/child/worker/a.cpp": '#include "judge/b.hpp"\n',
            "src/evaluation/a.cpp": '#include "protocol/b.hpp"\n',
            "src/loop/a.cpp": '#include "child/protocol/b.hpp"\n',
            "src/client/a.cpp": '#include "measure/b.hpp"\n',
            "src/lanes/cpu/a.cpp": '#include "loop/b.hpp"\n',
        }
        for name, text in bad.items():
            self.assert_fails("layers", {name: text}, f"{name}:1: layers:")
        good = {
            "src/ledger/a.cpp": '#include "model/b.hpp"\n#include "ledger/rows.hpp"\n#include <sys/stat.h>\n',
            "src/child/worker/a.cpp": '#include "inputs/b.hpp"\n#include "measure/c.hpp"\n',
            "src/client/a.cpp": '#include "protocol/b.hpp"\n#include "model/c.hpp"\n',
            "src/lanes/cpu/a.cpp": '#include "lanes/b.hpp"\n#include "stats/c.hpp"\n',
            "src/model/a.cpp": '// #include "ledger/b.hpp"\n',
        }
        for name, text in good.items():
            self.assert_passes("layers", {name: text})

    def test_paths_that_climb(self):
        self.assert_fails("layers", {"src/model/a.cpp": '#include "../base/b.hpp"\n'}, "climbs out")
        self.assert_passes("layers", {"src/model/a.cpp": '#include "base/b.hpp"\n'})

    def test_rooms_outside_the_house(self):
        self.assert_fails("layers", {"src/utils/a.cpp": "\n"}, "'utils' is no room")
        self.assert_fails("layers", {"src/child/helpers/a.cpp": "\n"}, "'helpers' is no room")
        self.assert_fails("layers", {"src/keeper/a.cpp": "\n"}, "'keeper' is no room")
        self.assert_passes("layers", {"src/tune/a.cpp": "\n", "src/child/keeper/a.cpp": "\n"})

    def test_file_sizes(self):
        self.assert_fails("sizes", {"src/base/a.cpp": "\n" * 801}, "801 lines; allowed: 800")
        out, errors = self.run_check("sizes", {"src/base/a.cpp": "\n" * 800})
        self.assertEqual(errors, 0)
        self.assertIn("warning", out)
        self.assert_passes("sizes", {"src/base/a.cpp": "\n" * 400})

    def test_function_sizes(self):
        self.assert_fails("sizes", {"src/base/a.cpp": body(81)}, "a.cpp:1: sizes: f: 81 lines; allowed: 80")
        out, errors = self.run_check("sizes", {"src/base/a.cpp": body(80)})
        self.assertEqual(errors, 0)
        self.assertIn("warning", out)
        self.assert_passes("sizes", {"src/base/a.cpp": body(50)})
        self.assert_fails("sizes", {"tools/a.py": "def f():\n" + "    pass\n" * 80}, "f: 81 lines")

    def test_function_reader(self):
        def named(text):
            return [(title, length) for title, _, length in functions.cpp(text)]
        long = "\n" * 3
        self.assertEqual(named("namespace a::b {\nclass C : D {\n  int g() const {" + long + "}\n};\n}"), [("g", 4)])
        self.assertEqual(named("T<int>\nA::b(int x,\n  int y)\n    : m_x(x) {" + long + "}"), [("A::b", 7)])
        self.assertEqual(named("TEST(A, B) {" + long + "}"), [("TEST", 4)])
        self.assertEqual(named("A::~A() {}\nstruct S { int v[3] = {1}; };"), [("A::~A", 1)])
        self.assertEqual(named("struct stat f(int a) {" + long + "}"), [("f", 4)], "a type named with its kind")
        self.assertEqual(named('int f() { return "}"[0] + \'}\' /* } */; // }\n}'), [("f", 2)])
        self.assertEqual(named("int f() { auto g = [](int a) {" + long + "}; if (g) { } }"), [("f", 4)])
        self.assertEqual(named('int f() { return R"x(}")x"; \n}'), [("f", 2)])
        self.assertEqual(named("int n = 1'000'000;\nint f() {\n}"), [("f", 2)])

    def test_format(self):
        self.assert_fails("format", {"src/base/a.cpp": "int  x ;\n"}, "a.cpp:1: format:")
        self.assert_passes("format", {"src/base/a.cpp": "int x;\n"})

    def test_words(self):
        culprits = ["see /wor" + "k/main/x", "/ho" + "me/joe/ako", "/tm" + "p/b-a/x", "TO" + "DO: later",
                    "done fo" + "r now", "this is not imp" + "lemented"]
        for text in culprits:
            self.assert_fails("words", {"src/base/a.cpp": f"// {text}\n"}, "a.cpp:1: words:")
            self.assert_fails("words", {"docs/a.md": f"{text}\n"}, "a.md:1: words:")
        twins = ["/workshop/main", "for nowhere", "TODOS", "implemented", "/tmp/ako-x"]
        self.assert_passes("words", {"src/base/a.cpp": "".join(f"// {text}\n" for text in twins)})

    def test_the_program(self):
        script = [sys.executable, str(SOURCE / "tools/lint/lint.py"), "--root"]
        with tempfile.TemporaryDirectory() as folder:
            nothing = subprocess.run([*script, folder, "layers"], capture_output=True, text=True)
            self.assertEqual(nothing.returncode, 1, "an empty tree is no pass")
            source = pathlib.Path(folder) / "src/base/a.cpp"
            source.parent.mkdir(parents=True)
            source.write_text('#include "model/b.hpp"\n')
            self.assertEqual(subprocess.run([*script, folder, "layers"], capture_output=True).returncode, 1)
            source.write_text("\n")
            self.assertEqual(subprocess.run([*script, folder, "layers"], capture_output=True).returncode, 0)
            self.assertEqual(subprocess.run([*script, folder, "layer"], capture_output=True).returncode, 2)


if __name__ == "__main__":
    python_cases.main()
