"""The kernel templates as a user gets them: `ako new --template`, contract, builds, and on the host the judge.

    templates_test.py contracts|builds|judged       AKO names the program
"""
import pathlib
import re
import shutil
import sys
import unittest

from tool import Case

SKIPPED = 77
FAMILIES = {"elementwise", "reduction", "norm", "quantise", "softmax", "gemm", "attention", "paged-attention", "rotary", "moe", "dequantise",
            "transpose"}


def nvcc():
    return shutil.which("nvcc") or (pathlib.Path("/usr/local/cuda/bin/nvcc").is_file() and "/usr/local/cuda/bin/nvcc")


class Templates(Case):
    def listed(self):
        return self.ako("new", "--templates", exit=0).data["templates"]

    def made(self, template):
        name = re.sub(r"\W", "_", template["id"])
        return pathlib.Path(self.ako("new", name, "--template", template["id"], exit=0).data["task"])


class Contracts(Templates):
    def test_every_template_is_a_whole_task(self):
        listed = self.listed()
        self.assertGreaterEqual(len(listed), 14)
        self.assertEqual(FAMILIES - {family for one in listed for family in one["families"]}, set())
        for one in listed:
            with self.subTest(one["id"]):
                task = self.made(one)
                contract = self.ako("check", "--echo", at=task, exit=0).data["contract"]
                self.assertEqual(contract["kernel"]["lane"], one["lane"])
                self.assertTrue(contract["baselines"], "nothing to be held against")
                self.assertGreaterEqual(len(contract["shapes"]), 2)
                self.assertTrue(contract["cost"]["bytes"] and contract["cost"]["flops"], "no roof can be drawn")
                self.assertTrue(any(axis.get("tile") for axis in contract["axes"].values()), "no edge shapes come from it")
                note = (task / "NOTES.md").read_text()
                self.assertIn("What limits it:", note)
                self.assertNotEqual((task / contract["kernel"]["entry"]["file"]).read_text(),
                                    (task / contract["baselines"][0]["entry"]["file"]).read_text())
                # What a template offers to be tuned is a name that its kernel takes.
                for tunable in contract["tunables"]:
                    self.assertRegex((task / contract["kernel"]["entry"]["file"]).read_text(), rf"#ifndef {tunable['name']}\n")
                reading = self.ako("refs", at=task, exit=0).data
                self.assertIn(reading["family"], one["families"], reading["family_reason"])
                self.assertEqual(self.git(task, "status", "--porcelain"), "")

    def test_one_builds(self):
        task = self.made({"id": "cpu/norm"})
        self.ako("check", "--build-only", at=task, exit=0)


class Builds(Templates):
    def has_cutlass(self):
        findings = self.ako("doctor", exit=0).data["findings"]
        return any(one["what"] == "lane cutlass" and one["state"] == "ok" for one in findings)

    def test_every_side_of_every_template_compiles_without_a_word_and_the_kernel_spills_nothing(self):
        for one in self.listed():
            if one["lane"] not in ("cpu", "cuda", "cutlass") or one["lane"] == "cutlass" and not self.has_cutlass():
                continue
            with self.subTest(one["id"]):
                task = self.made(one)
                if "cublasLt" in (task / "task.toml").read_text() and not pathlib.Path("/usr/local/cuda/include/cublasLt.h").is_file():
                    # A slim toolkit brings no libraries: the baseline that needs one goes, the rest is built.
                    text = (task / "task.toml").read_text()
                    (task / "task.toml").write_text(re.sub(r"(?s)\[\[baseline\]\]\nname = \"cublaslt\".*?\n\n", "", text))
                sides = self.ako("check", "--build-only", at=task, exit=0, limit=900).data["sides"]
                for side in sides:
                    self.assertEqual(side.get("messages") or side.get("compiler_messages") or [], [], side["label"])
                    for kernel in (side["resources"] or {}).get("kernels", []) if side["label"] == "solution" else []:
                        self.assertEqual(kernel["spill_store_bytes"], 0, f"{one['id']}: {kernel['name']}")


class Judged(Templates):
    insists = False

    def test_those_of_the_host_pass_the_check_and_beat_their_baseline_or_draw(self):
        for one in self.listed():
            if one["lane"] != "cpu":
                continue
            with self.subTest(one["id"]):
                task = self.made(one)
                self.quietly("check", at=task, limit=400)
                self.ako("refs", "read", "--required", at=task, exit=0)
                self.quietly("baseline", at=task, limit=400)
                reply = self.ako("try", "--hypothesis", "as the template has it", "--cites", "cpu-kernels", at=task, exit=(0, 10, 14), limit=400)
                self.assertIn(reply.json["outcome"], ("improved", "equivalent", "undecided", "invalid_measurement"), reply)


if __name__ == "__main__":
    suite = {"contracts": Contracts, "builds": Builds, "judged": Judged}[sys.argv[1]]
    if suite is Builds and not nvcc():
        print("no nvcc here")
        sys.exit(SKIPPED)
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(suite))
    sys.exit(0 if result.wasSuccessful() else 1)
