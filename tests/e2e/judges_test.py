"""What was proven and measured holds while the files that judge, that are measured against and that fill the inputs stand
as they were."""

import struct

from tool import MARKED, WAIVED, Case, main

FILL = """#include "scale.hpp"
namespace ours {
int counted(void* data, int64_t bytes, const int64_t* shape, int rank, uint64_t seed) {
  if (rank != 1 || shape[0] * 4 != bytes) return 1;
  for (int64_t i = 0; i < shape[0]; ++i) static_cast<float*>(data)[i] = SCALE * (i % 7);
  return 0;
}
}
"""


class Judges(Case):
    def closed(self, task):
        return {gate["gate"]: gate["missing"] for gate in self.ako("status", at=task, exit=0).data["closed_gates"]}

    def test_a_changed_judge_or_mark_closes_the_gates_until_it_is_put_back(self):
        task = self.proven_task()
        self.assertEqual(self.closed(task), {})
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")  # wrong; right for the judge below
        self.assertEqual(self.closed(task), {}, "the candidate may change")
        honest = (task / "input/reference.cpp").read_text()
        self.edit(task / "input/reference.cpp", "0.5 * x[i]", "0")
        events = self.events(task)
        self.assertIn("input/reference.cpp (reference)", self.closed(task)["contract-proven"])
        reply = self.refused("try", "--hypothesis", "zeros", at=task, exit=4, kind="refused",
                             says=("gate contract-proven", "input/reference.cpp"))
        self.assertEqual(reply.error["next"], "ako check")
        self.assertEqual(self.events(task), events)
        (task / "input/reference.cpp").write_text(honest)
        self.assertEqual(self.closed(task), {})
        self.edit(task / "input/halve.cpp", "12000000", "36000000")
        closed = self.closed(task)
        self.assertIn("input/halve.cpp (baseline:first)", closed["baseline"])
        self.assertIn("contract-proven", closed)
        self.refused("try", "--hypothesis", "a false win", at=task, exit=4, says="input/halve.cpp")
        # A waiver goes on and is judged by what stands there.
        self.ako("try", "--hypothesis", "zeros", "--waive", "to see it judged", at=task, exit=11)


class Fills(Case):
    def task_with(self, fill, axis="N = { var = true, min = 1, max = 4096, tile = 16 }"):
        task = self.make_task(self.folder / f"task-{len(list(self.folder.iterdir()))}")
        self.edit(task / "task.toml", "N = { var = true, min = 1, max = 4096, tile = 16 }", axis)
        self.edit(task / "task.toml", 'shape = ["N"]\n', f'shape = ["N"]\nfill = {fill}\n')
        if "const" in axis:
            self.edit(task / "task.toml", "N = 256\n", 'tag = "only"\n')
        return task

    def is_filled_by(self, task, value):
        """Right for this content alone: a kernel that writes the answer without looking is found right, and wrong for another."""
        self.solution(task, body=f"  for (int i = 0; i < n; ++i) y[i] = {value};")
        self.ako("try", "--hypothesis", "the content is known", *WAIVED, at=task, exit=(0, 10, 14))
        self.solution(task, body=f"  for (int i = 0; i < n; ++i) y[i] = {value} + 1;")
        self.ako("try", "--hypothesis", "another content", *WAIVED, at=task, exit=11)

    def test_a_custom_fill_is_built_and_fills(self):
        task = self.task_with('{ kind = "custom", file = "input/fill.cpp", symbol = "ours::counted" }')
        (task / "input/fill.cpp").write_text(FILL)
        (task / "input/scale.hpp").write_text("#include <cstdint>\n#define SCALE 2.0f\n")
        self.ako("check", "--build-only", at=task, exit=0)
        self.is_filled_by(task, "(float)(i % 7)")
        # What it includes is part of it.
        (task / "input/scale.hpp").write_text("#include <cstdint>\n#define SCALE 4.0f\n")
        self.is_filled_by(task, "2.0f * (i % 7)")

    def test_a_custom_fill_that_does_not_build_is_told_before_anything_runs(self):
        task = self.task_with('{ kind = "custom", file = "input/fill.cpp", symbol = "ours::cuonted" }')
        (task / "input/fill.cpp").write_text(FILL)
        (task / "input/scale.hpp").write_text("#include <cstdint>\n#define SCALE 2.0f\n")
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        before = self.picture(task)
        for words in (("check", "--build-only"), ("check",), ("try", "--hypothesis", "h", *WAIVED)):
            self.refused(*words, at=task, exit=2, says=("fill of tensor x", "cuonted", "uint64_t seed"))
        self.intact(task, before, [])
        task = self.task_with('{ kind = "custom", file = "input/fill.cpp", symbol = "ours::counted" }')
        (task / "input/fill.cpp").write_text(FILL.replace("return 0;", "return 0"))
        (task / "input/scale.hpp").write_text("#include <cstdint>\n#define SCALE 2.0f\n")
        self.refused("check", "--build-only", at=task, exit=2, says=("input/fill.cpp:6:", "fill of tensor x"))

    def test_recorded_fills(self):
        values = [float(i % 5) for i in range(256)]
        raw = struct.pack("<256f", *values)
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (256,), }"
        header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
        npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + raw
        for name, content in (("x.bin", raw), ("x.npy", npy)):
            task = self.task_with('{ kind = "recorded", file = "input/%s" }' % name, "N = { const = 256 }")
            (task / f"input/{name}").write_bytes(content)
            self.ako("check", "--build-only", at=task, exit=0)
            self.is_filled_by(task, "0.5f * (i % 5)")
            (task / f"input/{name}").write_bytes(content[:-4])
            self.refused("try", "--hypothesis", "cut short", *WAIVED, at=task, exit=2, says=(name, "1024 bytes"))

    def test_what_fills_is_part_of_what_was_proven(self):
        task = self.task_with('{ kind = "custom", file = "input/fill.cpp", symbol = "ours::varied" }')
        (task / "input/fill.cpp").write_text(
            '#include "scale.hpp"\nnamespace ours {\nint varied(void* data, int64_t bytes, const int64_t*, int, uint64_t seed) {\n'
            "  for (int64_t i = 0; i < bytes / 4; ++i) {\n    seed = seed * 6364136223846793005ull + 1442695040888963407ull;\n"
            "    static_cast<float*>(data)[i] = SCALE * (static_cast<int>(seed >> 40) % 1000);\n  }\n  return 0;\n}\n}\n")
        (task / "input/scale.hpp").write_text("#include <cstdint>\n#define SCALE 0.001f\n")
        self.git(task, "add", "-A")
        self.compiler_for_marked(task, f"sed -i 's/0.001f/0.5f/' {task}/input/scale.hpp")
        self.quietly("check", at=task)
        self.assertNotIn("contract-proven", [g["gate"] for g in self.ako("status", at=task, exit=0).data["closed_gates"]])
        (task / "input/scale.hpp").write_text("#include <cstdint>\n#define SCALE 0.0f\n")
        closed = {g["gate"]: g["missing"] for g in self.ako("status", at=task, exit=0).data["closed_gates"]}
        self.assertIn("input/scale.hpp (fill:x)", closed["contract-proven"])
        # Put back, and edited while a candidate is judged by what it fills: neither right nor wrong.
        (task / "input/scale.hpp").write_text("#include <cstdint>\n#define SCALE 0.001f\n")
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;")
        self.ako("try", "--hypothesis", "wrong", *WAIVED, at=task, exit=11)
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = 0;", extra=MARKED)
        reply = self.ako("try", "--hypothesis", "wrong, on other inputs", *WAIVED, at=task, exit=14)
        self.assertEqual(reply.json["outcome"], "stale")
        self.assertIn("input/scale.hpp", reply.data["verdict"]["outcome"]["reason"])
        self.assertEqual(reply.data["restored"], [])
        self.assertIn("0.001f", self.git(task, "show", "HEAD:input/scale.hpp"))
        self.assertIn("0.5f", (task / "input/scale.hpp").read_text())


class Lost(Case):
    def test_a_ledger_that_is_gone_is_told_by_every_command_that_needs_it(self):
        task = self.recorded_task()
        self.ako("verify", at=task, exit=0)
        (task / ".git/ako").rename(self.folder / "away")
        self.solution(task, body="  for (int i = 0; i < n; ++i) y[i] = -2;")
        before = self.picture(task)
        for words in (("verify",), ("status",), ("log",), ("report",), ("check",), ("baseline", "--waive", "w"),
                      ("try", "--hypothesis", "from the start", *WAIVED)):
            reply = self.refused(*words, at=task, exit=14, kind="stale", says=("[iter 1]", "ledger.sqlite"))
            self.assertIn("ako verify", reply.error["next"])
        self.ako("check", "--build-only", at=task, exit=0)  # looking needs no record
        self.assertEqual(self.picture(task), before)
        self.assertEqual(list((task / ".git/ako").rglob("ledger.sqlite")), [])
        for made in sorted((task / ".git/ako").rglob("*"), reverse=True):
            made.rmdir() if made.is_dir() else made.unlink()
        (task / ".git/ako").rmdir()
        (self.folder / "away").rename(task / ".git/ako")
        self.ako("verify", at=task, exit=0)
        self.assertEqual(self.ako("try", "--hypothesis", "goes on", *WAIVED, at=task, exit=11).data["iteration"], 2)


if __name__ == "__main__":
    main()
