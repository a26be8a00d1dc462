"""`ako skill`: the page, its places, its version, and what people wrote around it."""

import pathlib
import re

from raw_client import commands_of
from tool import Case, main

PLACES = {"claude": ".claude/skills/ako/SKILL.md", "codex": "AGENTS.md", "cursor": ".cursor/rules/ako.mdc"}


class Skill(Case):
    def test_every_place_gets_one_page_that_names_the_version_and_real_commands(self):
        reply = self.ako("skill", "install", "--target", ".", exit=0)
        self.assertEqual({each["for"] for each in reply.data["files"]}, set(PLACES))
        version = self.run_text("--version").out.split()[1]
        help_text = self.run_text("--help").out
        for place in PLACES.values():
            text = (self.folder / place).read_text()
            self.assertIn(f"Written by ako {version};", text)
            self.assertLess(len(text.splitlines()), 70, "one page")
            for command in set(re.findall(r"`ako (?:-C \w+ )?([a-z]+)", text)):
                self.assertRegex(help_text, rf"(?m)^\s+{command}\s", f"{place} names a command that is none")
        self.assertTrue((self.folder / PLACES["claude"]).read_text().startswith("---\nname: ako\ndescription: "))
        self.assertTrue((self.folder / PLACES["cursor"]).read_text().startswith("---\ndescription: "))
        self.ako("skill", "check", "--target", ".", exit=0)

    def test_installing_again_changes_nothing_and_for_names_one(self):
        self.ako("skill", "install", "--for", "claude", exit=0)
        self.assertFalse((self.folder / "AGENTS.md").exists())
        before = (self.folder / PLACES["claude"]).read_text()
        reply = self.ako("skill", "install", "--for", "claude", exit=0)
        self.assertEqual(reply.data["files"][0]["state"], "as it was")
        self.assertEqual((self.folder / PLACES["claude"]).read_text(), before)
        self.ako("skill", "check", exit=0)

    def test_what_people_wrote_survives_an_update(self):
        path = self.folder / "AGENTS.md"
        path.write_text("# Ours\n\nrule one\n")
        self.ako("skill", "install", "--for", "agents", exit=0)
        path.write_text(path.read_text().replace("Written by ako ", "Written by ako 0.0.").replace("# Ours", "# Ours, changed") +
                        "\nrule two\n")
        reply = self.refused("skill", "check", exit=14, kind="stale", says=("another version 0.0.", "skill install"))
        self.assertIn("AGENTS.md", reply.error["found"])
        self.ako("skill", "install", "--for", "agents", exit=0)
        text = path.read_text()
        self.assertTrue(text.startswith("# Ours, changed\n\nrule one\n"))
        self.assertTrue(text.endswith("\nrule two\n"))
        self.ako("skill", "check", exit=0)

    def test_an_edited_page_is_noticed_and_damaged_marks_touch_nothing(self):
        self.ako("skill", "install", "--for", "codex", exit=0)
        path = self.folder / "AGENTS.md"
        good = path.read_text()
        path.write_text(good.replace("a person's decisions", "anybody's decisions"))
        self.refused("skill", "check", exit=14, says="edited")
        damaged = good.replace("<!-- ako:end skill -->", "")
        path.write_text(damaged)
        self.refused("skill", "install", exit=2, says="marks")
        self.assertEqual(path.read_text(), damaged)
        self.assertFalse((self.folder / PLACES["claude"]).exists(), "all or nothing")

    def test_every_gate_of_the_program_is_explained_and_every_step_named(self):
        page = self.run_text("skill", "print").out
        source = (pathlib.Path(__file__).parents[2] / "src/loop/gates.hpp").read_text()
        gates = set(re.findall(r'^  X\(\w+, +"([a-z-]+)"', source, re.M))
        self.assertGreaterEqual(len(gates), 8)
        explained = set(re.findall(r"\*([a-z-]+)\*", page.split("## What the gates mean")[1].split("##")[0]))
        self.assertEqual(explained, gates)
        flow = page.split("## The flow")[1].split("##")[0]
        for command in commands_of(self.run_text("--help").out) - {"skill"}:
            self.assertRegex(flow, rf"`ako (?:-C \w+ )?{command}\b", "a step that the flow leaves out")

    def test_a_page_that_is_a_link_stays_one(self):
        (self.folder / "docs").mkdir()
        real = self.folder / "docs/agents.md"
        real.write_text("# Ours\n")
        link = self.folder / "AGENTS.md"
        link.symlink_to("docs/agents.md")
        self.ako("skill", "install", "--for", "codex", exit=0)
        self.assertEqual(str(link.readlink()), "docs/agents.md")
        self.assertIn("Written by ako", real.read_text())
        self.assertTrue(real.read_text().startswith("# Ours\n"))
        self.ako("skill", "check", "--for", "codex", exit=0)
        real.unlink()  # a link to nothing yet: the file is made where it points
        self.ako("skill", "install", "--for", "codex", exit=0)
        self.assertTrue(link.is_symlink() and real.is_file())
        link.unlink()
        link.symlink_to("AGENTS.md")
        self.refused("skill", "install", "--for", "codex", exit=2, says="circle")

    def test_words_that_are_off(self):
        self.refused("skill", "check", exit=2, says="not installed")
        self.refused("skill", "instal", exit=2, says="did you mean 'install'")
        self.refused("skill", "install", "--for", "clade", exit=2, says="claude")
        self.refused("skill", "install", "--target", "nowhere", exit=2, says="--target")
        self.assertIn("The flow", self.run_text("skill", "print").out)


if __name__ == "__main__":
    main()
