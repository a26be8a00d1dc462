"""The commands that the README shows: those that need no GPU are run as they stand there, in its order; of the others every
word is one that the program knows."""

import pathlib
import re
import shlex

from tool import Case, main

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
KERNEL = """void scale(const float* x, float* y, int n) {{
  for (volatile int i = 0; i < {}; ++i) {{}}
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}}
"""
NORM = """#include <cmath>
void rms_norm(const float* x, const float* w, float* y, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * x[i];
  const float scale = 1 / std::sqrt(sum / n + 1e-5f);
  for (int i = 0; i < n; ++i) y[i] = x[i] * scale * w[i];
}
"""


def commands():
    """Every command of the fenced blocks, in order, without comments; "a; b" and "a && b" are two."""
    for block in re.findall(r"```\n(.*?)```", README.read_text(), re.S):
        for line in block.splitlines():
            words = shlex.split(line, comments=True) if line.startswith("ako ") else []
            command = []
            for word in [*words, ";"]:
                if word in (";", "&&") or word.endswith(";"):
                    command += [word[:-1]] if len(word) > 1 and word.endswith(";") else []
                    if command and command[0] == "ako":
                        yield command[1:]
                    command = []
                else:
                    command.append(word)


def starts(command, *words):
    return tuple(command[:len(words)]) == words


class Readme(Case):
    def test_there_are_commands_and_every_word_of_them_is_known(self):
        seen = list(commands())
        self.assertGreater(len(seen), 25)
        helps = {}
        for words in seen:
            name = words[2] if words[0] == "-C" else words[0]
            if name not in helps:
                reply = self.run_text(name, "--help")
                self.assertEqual(reply.code, 0, words)
                helps[name] = reply.out
            for word in words:
                if word.startswith("-"):
                    self.assertRegex(helps[name], rf"(^|\s){re.escape(word)}\b", f"ako {' '.join(words)}")

    def test_a_verdict_from_two_files(self):
        (self.folder / "old.cpp").write_text(KERNEL.format(12000000))
        (self.folder / "new.cpp").write_text(KERNEL.format(4000000))
        (command,) = [words for words in commands() if starts(words, "compare", "old.cpp")]
        self.ako(*command, exit=(0, 10, 14))

    def test_a_first_kernel(self):
        repo, work = self.folder / "repo", self.folder / "work"
        (repo / "src").mkdir(parents=True)
        work.mkdir()
        (repo / "src/norm.cpp").write_text(NORM)
        (command,) = [words for words in commands() if starts(words, "new", "mykernel", "--from")]
        self.ako(*command, at=work, exit=0)
        task = self.folder / "mykernel"
        self.ako("new", "mykernel", at=self.folder, exit=0)
        for words in commands():
            if starts(words, "refs", "read") or starts(words, "log") or words == ["report"] or words == ["refs"]:
                self.ako(*words, at=task, exit=(0, 4))  # a gate may still say what comes first
        self.ako("check", "--build-only", at=task, exit=0)

    def test_starting_tasks_of_every_lane_and_the_reading(self):
        task = self.make_task()
        for words in commands():
            if starts(words, "new", "rms", "--lane"):
                place = self.folder / words[-1]
                place.mkdir()
                self.ako(*words, at=place, exit=0)
            elif starts(words, "new", "--templates") or starts(words, "doctor"):
                self.ako(*words, exit=0)
            elif starts(words, "refs") and words[1:2] in (["search"], ["for"], ["read"]):
                self.ako(*words, at=task, exit=0)
            elif starts(words, "drive", "--template"):
                self.assertIn("[", self.run_text("drive", "--template", at=task).out)


if __name__ == "__main__":
    main()
