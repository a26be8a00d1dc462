"""The whole way on the cpu lane: from recorded calls to a port that is confirmed inside a small target repository, its
hand-off, a target that moves, and a win that does not carry. Runs alone: it measures."""

import hashlib
import io
import json
import shutil
import tarfile
import time

from tool import SOURCE, Case, main, python_cases

# Short calls: a moment in which nothing else runs is enough for one.
OLD_ROUNDS, NEW_ROUNDS = 2000000, 500000
OLD_KERNEL = (SOURCE / "input/halve.cpp").read_text().replace("12000000", str(OLD_ROUNDS))
ENGINE = {
    "src/halve.h": "#pragma once\nvoid halve(const float* x, float* y, int n);\n",
    "src/halve.cpp": '#include "halve.h"\n' + OLD_KERNEL,
    "src/engine.cpp": """#include "halve.h"

// Production's way in: halve(x, y, n) for every request.
extern "C" void engine_halve(const float* x, float* y, int n) {
  halve(x, y, n);
}
""",
    "bench/bench.cpp": """#include <algorithm>
#include <chrono>
#include <cstdio>
extern "C" void engine_halve(const float* x, float* y, int n);
int main() {
  alignas(64) static float x[256], y[256];
  double quickest = 1e30;
  for (int i = 0; i < 16; ++i) {
    const auto start = std::chrono::steady_clock::now();
    engine_halve(x, y, 256);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    quickest = std::min(quickest, spent.count());
  }
  std::printf("{\\"calls_per_second\\": %.3f}\\n", 1 / quickest);
}
""",
    "build.sh": """set -e
mkdir -p build
objects=
printf '[' > build/compile_commands.json
for f in src/*.cpp; do
  o=build/$(basename $f).o
  g++ -std=c++17 -O1 -fPIC -c $f -o $o
  printf '{"directory": "%s", "file": "%s", "command": "g++ -std=c++17 -O1 -fPIC -c %s"},' "$PWD" "$PWD/$f" "$f" >> build/compile_commands.json
  objects="$objects $o"
done
printf '{}]' >> build/compile_commands.json
g++ -shared $objects -o build/libengine.so
g++ -O1 bench/bench.cpp -o build/bench -Lbuild -lengine -Wl,-rpath,"$PWD/build"
""",
    ".gitignore": "build/\n",
}

GATE = """
[[gate]]
name = "service"
command = "./build/bench"
read = "/calls_per_second"
must = ">= 1.3*base"
"""

PORT = """
[port]
repository = "../engine"
folder = "src/kernels/halve"
call_site = "src/engine.cpp"
call = "halve"
switch = "ENGINE_HALVE"
build = "sh build.sh"
library = "build/libengine.so"
measure = "engine_halve"
compile_commands = "build/compile_commands.json"
"""

ADDED = ("objects", "refs/heads/ako", "logs/refs/heads/ako")


class Workflow(Case):
    def setUp(self):
        super().setUp()
        self.end = time.monotonic() + 200

    def attempts(self):
        """While there is time for the machine to become quiet; then the case is skipped and says so."""
        while time.monotonic() < self.end:
            yield
        self.skipTest(f"{python_cases.BUSY} to measure on")

    def make_engine(self):
        """A target repository with work of its owner's in every state."""
        engine = self.folder / "engine"
        for name, text in ENGINE.items():
            (engine / name).parent.mkdir(parents=True, exist_ok=True)
            (engine / name).write_text(text)
        self.git(engine, "init", "-q", "-b", "main")
        self.git(engine, "add", "-A")
        self.git(engine, "commit", "-qm", "engine")
        (engine / "src/halve.cpp").write_text("// stashed\n")
        self.git(engine, "stash", "-q")
        (engine / "notes.txt").write_text("untracked\n")
        (engine / "build").mkdir()
        (engine / "build/own.o").write_text("ignored\n")
        (engine / "src/halve.h").write_text(ENGINE["src/halve.h"] + "// staged\n")
        self.git(engine, "add", "src/halve.h")
        with (engine / "src/engine.cpp").open("a") as file:
            file.write("// an edit that nobody committed\n")
        return engine

    def fingerprint(self, repo):
        seen = {}
        for path in sorted(repo.rglob("*")):
            name = str(path.relative_to(repo))
            if name.removeprefix(".git/").startswith(ADDED) or path.is_dir():
                continue
            seen[name] = (path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
        return seen

    def until_quiet(self, *words, at, done=(0,)):
        """A command that measures, again while the machine is too busy to."""
        for _ in self.attempts():
            reply = self.ako(*words, at=at, exit=(*done, 10, 14), limit=300)
            if reply.code in done:
                return reply
            outcome = (reply.data or {}).get("verdict", {}).get("outcome", {})
            if reply.code == 10 and outcome.get("kind") not in ("undecided", None):
                self.fail(f"{words}: {reply.data.get('reason')}: {reply}")

    def improved(self, task):
        for attempt, _ in enumerate(self.attempts()):
            self.solution(task, rounds=NEW_ROUNDS + attempt)
            reply = self.ako("try", "--hypothesis", "a quarter of the waiting", "--predict", "gain >= 50 %; time[N=256] <= 1 s",
                             at=task, exit=(0, 10, 14), limit=300)
            if reply.code == 0:
                return reply
            self.assertNotEqual(reply.json["outcome"], "regressed", reply)

    def commit_in_target(self, engine, name, text, message):
        """Somebody else's commit, made in a clone: the owner's tree stays as it is."""
        other = self.folder / "other"
        shutil.rmtree(other, ignore_errors=True)
        self.git(self.folder, "clone", "-q", str(engine), str(other))
        (other / name).write_text(text)
        self.git(other, "commit", "-qam", message)
        self.git(engine, "fetch", "-q", "--no-write-fetch-head", str(other), "main")
        self.git(engine, "update-ref", "refs/heads/main", self.git(other, "rev-parse", "HEAD").strip())

    def test_from_recorded_calls_to_a_confirmed_port_and_on(self):
        engine = self.make_engine()
        task = self.make_task()
        (task / "input/halve.cpp").write_text(OLD_KERNEL)
        (task / "solution/halve.cpp").write_text(OLD_KERNEL)
        with (task / "task.toml").open("a") as file:
            file.write(PORT)
        self.git(task, "commit", "-qam", "where it goes")

        # What production calls becomes the shapes, and the kernel's places are known.
        call = {"kernel": "halve", "count": 812, "args": [{"name": "x", "dtype": "float32", "shape": [256]}]}
        (self.folder / "calls.jsonl").write_text(json.dumps(call) + "\n")
        scope = self.ako("scope", "--calls", self.folder / "calls.jsonl", at=task, exit=0).data
        self.assertEqual(scope["shapes"], [{"tag": "N=256", "axes": {"N": 256}, "weight": 812.0}])
        sites = self.ako("scope", "--sites", "../engine::halve", at=task, exit=0).data["sites"]
        self.assertIn(("call", "src/engine.cpp", "engine_halve"), [(s["kind"], s["file"], s["function"]) for s in sites])

        # What is not known is asked for by name; that no library does this is said.
        asked = [each["what"] for each in self.ako("scope", at=task, exit=0).data["unknown"]]
        self.assertIn("where is it called in production?", asked)
        self.assertIn("what is the fastest library that does this, or why is there none?", asked)

        # Gates: no port before there is something confirmed to port.
        self.refused("port", at=task, exit=4, kind="refused", says="ako check")
        self.quietly("check", at=task)
        self.quietly("baseline", at=task)
        self.ako("refs", "read", "--required", at=task, exit=0)
        self.refused("port", at=task, exit=4, kind="refused", says="ako refs read --required --claim port")
        self.ako("refs", "read", "--required", "--claim", "port", at=task, exit=0)
        self.refused("port", at=task, exit=4, kind="refused", says="ako scope --no-library")
        self.refused("scope", "--no-library", " ", at=task, exit=2, kind="usage", says="needs a reason")
        self.ako("scope", "--no-library", "no library halves a vector", at=task, exit=0)
        self.refused("port", at=task, exit=4, kind="refused", says="the baseline stands")
        self.refused("validate", at=task, exit=4, kind="refused", says="ako port")
        tried = self.improved(task)
        self.assertEqual([p["result"] for p in tried.data["predicted"]], ["held", "held"], tried.data["predicted"])
        self.assertEqual(self.ako("status", at=task, exit=0).data["next"], "ako port")

        # Port: a branch more in the target, and nothing else.
        before = self.fingerprint(engine)
        ported = self.ako("port", "--patch", self.folder / "halve.patch", at=task, exit=0).data
        self.assertEqual(self.fingerprint(engine), before)
        self.assertEqual(ported["branch"], "ako/task")
        self.assertEqual(ported["proven"], "N == 256")
        self.assertEqual(sorted(ported["files"]), ["src/engine.cpp", "src/kernels/halve/halve_dispatch.hpp",
                                                   "src/kernels/halve/kernel/halve.cpp"])
        self.assertEqual(self.git(engine, "log", "--format=%s", "main..ako/task").splitlines(),
                         ["halve: dispatch with the old path behind ENGINE_HALVE", "halve: kernel as it was measured"])
        self.assertEqual(self.git(engine, "show", "ako/task:src/kernels/halve/kernel/halve.cpp"),
                         (task / "solution/halve.cpp").read_text())
        site = self.git(engine, "show", "ako/task:src/engine.cpp")
        self.assertIn('#include "kernels/halve/halve_dispatch.hpp"\n', site)
        self.assertIn("// Production's way in: halve(x, y, n) for every request.", site)
        self.assertIn("  ako_port::halve_or(halve)(x, y, n);", site)
        clone = self.folder / "clone"
        self.git(self.folder, "clone", "-q", str(engine), str(clone))
        self.git(clone, "apply", str(self.folder / "halve.patch"))
        self.assertTrue(self.ako("port", at=task, exit=0).data["again"])

        # A gate that is thought of now voids nothing that was measured.
        with (task / "task.toml").open("a") as file:
            file.write(GATE)
        self.assertEqual(self.ako("status", at=task, exit=0).data["next"], "ako validate")

        # Validate: judged and measured in the target's own build, and by its own benchmark.
        valid = self.until_quiet("validate", at=task)
        self.assertEqual(valid.data["state"], "confirmed", valid)
        self.assertEqual([s["name"] for s in valid.data["steps"]], ["build:old", "build:new", "flags", "operator", "gate:service",
                                                             "profile:target:old", "profile:target:new"])
        self.assertIn("-std", valid.data["steps"][2]["detail"])  # the target's C++17 against the lane's C++20
        self.assertGreater(valid.data["verdict"]["interval"]["low"], 0.1)
        self.assertEqual(valid.data["verdict"]["against"][:7], "target:")
        self.assertEqual(self.fingerprint(engine), before)
        self.assertEqual(self.ako("status", at=task, exit=0).data["port"], "confirmed")

        self.hand_off(task)
        self.moved(task, engine)
        self.lost(task, engine)

    def hand_off(self, task):
        archive = self.folder / "halve.tar.gz"
        report = self.ako("report", "--archive", archive, at=task, exit=0).data
        self.assertTrue(report["claim"]["confirmed"])
        text = (task / "report.md").read_text()
        for number, title in enumerate(["References read", "Lane and files touched", "Correctness", "Baseline against optimised",
                                        "History", "Why", "Remaining risks"], 1):
            self.assertIn(f"{number}. **{title}.**", text)
        self.assertIn("src/kernels/halve/kernel/halve.cpp", text)
        self.assertIn("(confirmed)", text)
        self.assertIn("inference: target:new, shape N=256", text)
        self.assertIn("No library is among the baselines: no library halves a vector", text)
        self.assertNotIn("not confirmed inside the target", text)

        found = self.ako("verify", "--archive", archive, exit=0).data
        results = {v["what"]: v["result"] for v in found["verdicts"]}
        self.assertEqual(set(results.values()) - {"untimed"}, {"same"}, results)
        self.assertEqual(results["operator in the target"], "same")
        self.assertEqual(results["baseline:first"], "same")
        for name, damage in (("task/task.toml", b"#\n"), ("ledger.sqlite", b""), ("sources/iter-1/solution/halve.cpp", b"//\n")):
            bad = self.folder / "bad.tar.gz"
            with tarfile.open(archive) as old, tarfile.open(bad, "w:gz", format=tarfile.USTAR_FORMAT) as new:
                for member in old.getmembers():
                    content = old.extractfile(member).read()
                    if member.name == name:
                        content = content + damage if damage else content.replace(b"a quarter", b"a quarteR", 1)
                    member.size = len(content)
                    new.addfile(member, io.BytesIO(content))
            self.refused("verify", "--archive", bad, exit=14, kind="stale", says=name)
        for _ in self.attempts():
            again = self.ako("verify", "--archive", archive, "--rerun", exit=(0, 10, 14), limit=300)
            if again.code == 0:
                break
        self.assertTrue(again.data["rerun"]["landed"], again)

    def moved(self, task, engine):
        """The target moves: what was confirmed has to be again, on the branch as it is now."""
        first = self.git(engine, "rev-parse", "ako/task")
        self.commit_in_target(engine, "src/halve.h", ENGINE["src/halve.h"] + "// moved\n", "moved")
        self.refused("validate", at=task, exit=4, kind="refused", says="ako port")
        before = self.fingerprint(engine)
        ported = self.ako("port", at=task, exit=0).data
        self.assertTrue(ported["moved"])
        self.assertEqual(ported["branch"], "ako/task-2")
        self.assertEqual(self.fingerprint(engine), before)
        self.assertEqual(self.git(engine, "rev-parse", "ako/task"), first)
        self.assertEqual(self.ako("status", at=task, exit=0).data["port"], "integrated")
        self.assertEqual(self.until_quiet("validate", at=task).data["state"], "confirmed")

    def lost(self, task, engine):
        """The service does not see the win: recorded, and not promoted."""
        text = ENGINE["bench/bench.cpp"].replace("1 / quickest", "100.0 + 0 * quickest")
        self.commit_in_target(engine, "bench/bench.cpp", text, "a service that waits for something else")
        self.assertTrue(self.ako("port", at=task, exit=0).data["moved"])
        for _ in self.attempts():
            reply = self.ako("validate", at=task, exit=(10, 14), limit=300)
            if reply.data["state"] == "rejected" and reply.data["verdict"]["outcome"]["kind"] == "improved":
                break
        self.assertEqual(reply.data["state"], "rejected", reply)
        self.assertEqual(reply.json["outcome"], "regressed")
        self.assertEqual(reply.data["verdict"]["outcome"]["kind"], "improved")
        self.assertIn("did not carry", reply.data["reason"])
        status = self.ako("status", at=task, exit=0).data
        self.assertEqual(status["port"], "rejected")
        self.assertEqual([stop["kind"] for stop in status["stops"]], ["micro-only"])
        self.ako("report", at=task, exit=0)
        self.assertIn("does not carry over", (task / "report.md").read_text())


if __name__ == "__main__":
    main()
