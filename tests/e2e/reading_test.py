"""The reading: what a task requires, receipts by edition, the gates that rest on them, and looking things up."""

import pathlib
import re
import shutil

from tool import WAIVED, Case, main

REFERENCES = pathlib.Path(__file__).resolve().parents[2] / "references"


class Reading(Case):
    def closed(self, task, **more):
        return [gate["gate"] for gate in self.ako("status", at=task, exit=0, **more).data["closed_gates"]]

    def states(self, task, *words, **more):
        data = self.ako("refs", *words, at=task, exit=0, **more).data
        return {one["id"]: one["state"] for one in data["required"]}

    def own_references(self):
        folder = self.folder / "references"
        shutil.copytree(REFERENCES, folder)
        return folder, {"AKO_REFERENCES": str(folder)}

    def test_what_is_required_is_listed_read_and_on_record(self):
        task = self.make_task()
        states = self.states(task)
        self.assertEqual(set(states.values()), {"not read"})
        self.assertLessEqual({"loop", "measuring"}, set(states))
        self.assertIn("reading", self.closed(task))
        text = self.run_text("refs", at=task).out
        self.assertIn("next: ako refs read --required", text)
        self.assertIn("lane cpu", text)

        shown = self.run_text("refs", "read", "loop", at=task)
        self.assertIn((REFERENCES / "loop.md").read_text().split("\n---\n", 1)[1], shown.out)
        self.assertEqual(self.states(task)["loop"], "read")
        self.assertEqual(self.states(task)["measuring"], "not read")
        self.assertIn("reading", self.closed(task))

        reply = self.ako("refs", "read", "--required", at=task, exit=0)
        self.assertNotIn("loop", [one["id"] for one in reply.data["guides"]], "read already")
        self.assertEqual(set(self.states(task).values()), {"read"})
        self.assertNotIn("reading", self.closed(task))
        self.assertEqual(self.ako("refs", "read", "--required", at=task, exit=0).data["guides"], [])
        self.ako("verify", at=task, exit=0)

    def test_a_guide_that_changes_is_to_be_read_again(self):
        task = self.make_task()
        folder, env = self.own_references()
        self.ako("refs", "read", "--required", at=task, exit=0, env=env)
        self.assertNotIn("reading", self.closed(task, env=env))
        with (folder / "loop.md").open("a") as guide:
            guide.write("One more sentence.\n")
        self.assertEqual(self.states(task, env=env)["loop"], "changed since it was read")
        gate = [g for g in self.ako("status", at=task, exit=0, env=env).data["closed_gates"] if g["gate"] == "reading"]
        self.assertIn("loop (changed since it was read)", gate[0]["missing"])
        self.assertEqual(gate[0]["command"], "ako refs read --required")
        reply = self.ako("refs", "read", "--required", at=task, exit=0, env=env)
        self.assertEqual([one["id"] for one in reply.data["guides"]], ["loop"])
        self.assertNotIn("reading", self.closed(task, env=env))

    def test_what_the_sources_use_is_required_too(self):
        task = self.make_task()
        self.ako("refs", "read", "--required", at=task, exit=0)
        self.assertNotIn("reading", self.closed(task))
        self.solution(task, extra="// asm volatile is of the cuda lane; #include <cuda_fp8.h> of any\n")
        self.assertEqual(self.states(task)["fp8-fp4"], "not read")
        self.assertNotIn("sass-and-ptx", self.states(task))
        self.assertIn("reading", self.closed(task))

    def test_the_family_is_inferred_or_said(self):
        task = self.make_task()
        data = self.ako("refs", at=task, exit=0).data
        self.assertTrue(data["family_reason"])
        self.ako("refs", "read", "--required", at=task, exit=0)
        self.edit(task / "task.toml", "[kernel]\n", "[kernel]\nfamily = \"softmax\"\n")
        self.assertEqual(self.ako("refs", at=task, exit=0).data["family"], "softmax")
        self.assertEqual(self.states(task)["numerics"], "not read")
        self.edit(task / "task.toml", "softmax", "sotfmax")
        self.refused("refs", at=task, exit=2, says=("sotfmax", "softmax"))
        self.assertIn("reading", self.closed(task))

    def test_an_iteration_needs_the_reading_or_a_waiver_that_stays_visible(self):
        task = self.make_task()
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        reply = self.refused("try", "--hypothesis", "h", at=task, exit=4, kind="refused")
        self.assertIn("reading", reply.error["found"])
        self.ako("try", "--hypothesis", "h", "--waive", "no time to read", at=task, exit=11)
        self.assertIn("reading", self.ako("show", at=task, exit=0).data["iteration"]["waived"])
        self.ako("report", at=task, exit=0)
        report = (task / "report.md").read_text()
        self.assertIn("no time to read", report)
        self.assertIn("No guide is on record as read", report)
        self.assertIn("`ako refs read --required`", (task / "ITERATIONS.md").read_text())

    def test_a_hypothesis_cites_what_exists(self):
        task = self.make_task()
        before = self.picture(task)
        reply = self.refused("try", "--hypothesis", "h", at=task, exit=4, cites=None)
        self.assertIn("citation", reply.error["found"])
        self.refused("try", "--hypothesis", "h", "--cites", "memory-acess", at=task, exit=2, says="memory-access")
        self.refused("try", "--hypothesis", "as [memory-acess] has it", at=task, exit=2, says="memory-access", cites=None)
        self.refused("try", "--hypothesis", "h", "--cites", "iter-1", at=task, exit=2, says="iter-1")
        for words in (("--cites", "numerics"), ("--cites", "dram_bandwidth_bound")):
            reply = self.refused("try", "--hypothesis", "h", *words, at=task, exit=4)
            self.assertNotIn("citation", reply.error["found"])
        reply = self.refused("try", "--hypothesis", "fewer roundings [numerics]", at=task, exit=4, cites=None)
        self.assertNotIn("citation", reply.error["found"])
        self.assertEqual(self.picture(task), before)
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        self.ako("try", "--hypothesis", "zeros [numerics]", *WAIVED, at=task, exit=11, cites=None)
        self.assertEqual(self.ako("show", at=task, exit=0).data["iteration"]["cites"], "numerics")
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 1;")
        self.ako("try", "--hypothesis", "h", "--cites", "iter-1", *WAIVED, at=task, exit=11)
        self.assertIn("- Cites: iter-1", (task / "ITERATIONS.md").read_text())

    def test_without_the_guides_the_gate_says_so_and_a_waiver_goes_on(self):
        task = self.make_task()
        env = {"AKO_REFERENCES": str(self.folder / "absent")}
        reply = self.refused("refs", at=task, exit=3, env=env, says="AKO_REFERENCES")
        gate = [g for g in self.ako("status", at=task, exit=0, env=env).data["closed_gates"] if g["gate"] == "reading"]
        self.assertIn("the guides were not found", gate[0]["missing"])
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        reply = self.ako("try", "--hypothesis", "h", *WAIVED, at=task, exit=11, env=env)
        self.assertEqual(reply.json["outcome"], "incorrect")

    def test_outside_a_task(self):
        every = self.ako("refs", exit=0).data["guides"]
        self.assertGreaterEqual(len(every), 32)
        reply = self.ako("refs", "read", "tma", exit=0)
        self.assertFalse(reply.data["recorded"])
        self.assertTrue(reply.json["warnings"])
        self.refused("refs", "read", "--required", exit=2, says="no task here")
        self.refused("refs", "read", "tmaa", exit=2, says="tma")
        self.refused("refs", "raed", exit=2, says="read")
        self.refused("refs", "read", exit=2, says="--required")
        would = self.ako("refs", "--lane", "cuda", "--family", "gemm", "--arch", "sm_90a", exit=0).data["required"]
        self.assertLessEqual({"wgmma", "tma", "sm-90"}, {one["id"] for one in would})
        self.refused("refs", "--lane", "cud", exit=2, says="cuda")


class LookUp(Case):
    def test_search_finds_file_heading_line_and_excerpt(self):
        reply = self.ako("refs", "search", "bank", "conflicts", "--guides-only", exit=0)
        hits = reply.data["hits"]
        self.assertIn("shared-memory", [hit["id"] for hit in hits])
        for hit in hits:
            self.assertTrue(hit["heading"] and hit["excerpt"])
            line = pathlib.Path(hit["file"]).read_text().split("\n")[hit["line"] - 1]
            self.assertRegex(hit["heading"].lower() + line.lower(), "bank|conflict")
        self.assertEqual(len(self.ako("refs", "search", "memory", "--limit", "2", "--guides-only", exit=0).data["hits"]), 2)
        self.assertRegex(self.run_text("refs", "search", "cp.async.bulk", "--guides-only").out, r"\.md:\d+  ")
        self.refused("refs", "search", exit=2, says="nothing to search for")
        self.refused("refs", "search", "x", "--limit", "0", exit=2, says="1 to 100")

    def test_from_a_finding_to_guides_and_templates_and_back(self):
        related = self.ako("refs", "for", "shared_bank_conflicts", exit=0).data["related"][0]
        self.assertIn("shared-memory", " ".join(related["guides"]))
        self.assertTrue(related["moves"])
        self.assertIn("cuda/transpose", " ".join(related["templates"]))
        back = self.ako("refs", "for", "cuda/transpose", exit=0).data["related"][0]
        self.assertIn("shared_bank_conflicts", back["findings"])
        self.assertIn("shared-memory", " ".join(back["guides"]))
        guide = self.ako("refs", "for", "shared-memory", exit=0).data["related"][0]
        self.assertIn("shared_bank_conflicts", guide["findings"])
        self.assertIn("cuda/transpose", " ".join(guide["templates"]))
        self.refused("refs", "for", "shared_bank_conflict", exit=2, says="shared_bank_conflicts")
        self.refused("refs", "for", exit=2, says="what for")

    def test_templates_are_listed_and_make_tasks(self):
        listed = self.ako("new", "--templates", exit=0).data["templates"]
        self.assertGreaterEqual(len(listed), 14)
        cpu = [one["id"] for one in self.ako("new", "--templates", "--lane", "cpu", exit=0).data["templates"]]
        self.assertTrue(cpu)
        reply = self.ako("new", "mine", "--template", cpu[0], exit=0)
        task = pathlib.Path(reply.data["task"])
        for name in ("task.toml", "NOTES.md", "input", "solution"):
            self.assertTrue((task / name).exists(), name)
        self.ako("check", "--echo", at=task, exit=0)
        plain = self.ako("new", "plain", "--lane", "cuda", exit=0)
        self.assertNotIn("NOTES.md", " ".join(plain.data["files"]), "a lane's own starting task is one task")
        self.refused("new", "other", "--template", "cuda/nrom", exit=2, says="cuda/norm")
        self.refused("new", exit=2, says="--templates")
        self.assertTrue(re.search(r"cuda/norm ", self.run_text("new", "--templates").out))


if __name__ == "__main__":
    main()
