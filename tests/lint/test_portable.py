"""The check of releases against programs that break the promise, and one that keeps it.

    test_portable.py CXX-COMPILER
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import python_cases  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools/lint"))
import portable  # noqa: E402

COMPILER = sys.argv[1]
HELLO = '#include <stdio.h>\nint main() { puts("hello"); }\n'
NEWER = '#include <stdlib.h>\n#include <stdio.h>\nint main() { printf("%u\\n", arc4random()); }\n'
THROWS = """#include <random>
#include <stdexcept>
#include <stdio.h>
int main(int n, char**) {
  std::random_device device("default");
  try {
    if (n > 0) throw std::runtime_error("caught");
  } catch (const std::exception& error) {
    return puts(device() == device() && device() == device() ? "not random" : error.what()) < 0;
  }
}
"""
STATIC = ("-static-libstdc++", "-static-libgcc")


class Portable(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def compile(self, name, text, *flags):
        source = self.root / "a.cpp"
        source.write_text(text)
        program = self.root / name
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([COMPILER, str(source), "-o", str(program), *flags], check=True)
        return program

    def test_a_plain_program_passes(self):
        self.assertEqual(portable.elf_problems(self.compile("p", HELLO, *STATIC)), [])

    def test_a_library_beside_glibc_is_refused(self):
        problems = portable.elf_problems(self.compile("p", HELLO, "-Wl,--no-as-needed"))
        self.assertTrue(any("needs libstdc++.so.6" in problem for problem in problems), problems)

    def test_a_newer_symbol_is_refused(self):
        problems = portable.elf_problems(self.compile("p", NEWER, *STATIC))
        self.assertEqual(len(problems), 1, problems)
        self.assertIn("needs GLIBC_2.36 for arc4random", problems[0])

    def test_the_floor_keeps_a_program_that_throws_below_it(self):
        """The static runtime may ask for more than the floor; with the floor's object it does not, and works."""
        floor = self.root / "floor.o"
        subprocess.run([COMPILER, "-x", "c", "-O2", "-c", str(SOURCE / "cmake/once/glibc_floor.c"), "-o", str(floor)],
                       check=True)
        program = self.compile("p", THROWS, str(floor), *STATIC)
        self.assertEqual(portable.elf_problems(program), [])
        self.assertEqual(subprocess.run([str(program)], capture_output=True, text=True).stdout, "caught\n")

    def test_a_folder_to_search_is_refused(self):
        problems = portable.elf_problems(self.compile("p", HELLO, *STATIC, "-Wl,-rpath,/some/where"))
        self.assertTrue(any("searches /some/where" in problem for problem in problems), problems)

    def release(self):
        """Sources that promise both programs, and a release that holds them."""
        source, prefix = self.root / "source", self.root / "prefix"
        for folder in ("src/cli", "src/child"):
            (source / folder).mkdir(parents=True)
        for name in ("include/ako/measure.h", "share/doc/ako/LICENSE"):
            (prefix / name).parent.mkdir(parents=True)
            (prefix / name).write_text("\n")
        program = self.compile("p", HELLO, *STATIC)
        for name in ("bin/ako", "bin/ako-child", "lib/libako_measure.so"):
            (prefix / name).parent.mkdir(exist_ok=True)
            shutil.copy(program, prefix / name)
        return source, prefix

    def test_a_whole_release_passes(self):
        self.assertEqual(portable.problems_of(*self.release()), [])

    def test_a_missing_file_is_an_error_and_no_skip(self):
        source, prefix = self.release()
        for name in portable.promised(source):
            kept = (prefix / name).read_bytes()
            (prefix / name).unlink()
            self.assertEqual(portable.problems_of(source, prefix), [f"{name} is missing from the release"])
            (prefix / name).write_bytes(kept)
            (prefix / name).chmod(0o755)

    def test_a_program_that_does_not_start_is_refused(self):
        source, prefix = self.release()
        self.compile("prefix/bin/ako", "int main() { return 3; }\n", *STATIC)
        problems = portable.problems_of(source, prefix)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn("ended with 3", problems[0])


if __name__ == "__main__":
    python_cases.main(names=[])
