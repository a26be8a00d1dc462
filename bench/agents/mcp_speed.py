#!/usr/bin/env python3
"""How fast `ako mcp` answers, and whether its memory stays flat.

    bench/agents/mcp_speed.py [--ako PATH] [--runs N] [--calls N] [--out FILE.json]

Per run a fresh server on a task with iterations on record: from the start of the process over `initialize` and `tools/list`
to the answer of the list; then `status` calls one after another. Then N calls in a row on one server, memory before and after.
Bounds, for 99 of 100: 60 ms from tools/list to its answer, the start of the process included; 20 ms a status call. Growth
below 2 MiB. --out writes every sample with the machine, the build and the command.
"""
import argparse
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TASK = ROOT / "tests/e2e/task"


class Server:
    def __init__(self, program, at):
        self.began = time.perf_counter()
        self.process = subprocess.Popen([program, "mcp"], cwd=at, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.last = 0

    def ask(self, method, params=None):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}}
        self.process.stdin.write((json.dumps(message) + "\n").encode())
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit("the server ended")
            reply = json.loads(line)
            if reply.get("id") == self.last:
                if "error" in reply:
                    sys.exit(f"{method}: {reply['error']}")
                return reply["result"]

    def call(self, tool):
        result = self.ask("tools/call", {"name": tool, "arguments": {}})
        if result["isError"]:
            sys.exit(f"{tool}: {result['content'][0]['text']}")

    def resident_kib(self):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0])

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def make_task(program, folder):
    """The tests' small task with some iterations on record: wrong ones, their gates waived, so that nothing is measured."""
    task = folder / "task"
    shutil.copytree(TASK, task)
    for words in (["git", "init", "-q", "-b", "main"], ["git", "add", "-A"],
                  ["git", "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "task"]):
        subprocess.run(words, cwd=task, check=True)
    for number in range(3):
        (task / "solution/halve.cpp").write_text(f"void halve(const float*, float* y, int n) {{ for (int i = 0; i < n; ++i) y[i] = -{number}; }}\n")
        subprocess.run([program, "try", "--hypothesis", f"wrong {number}", "--waive", "a record to look at"], cwd=task,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return task


def milliseconds(work):
    began = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - began)


def percentile(values, share):
    """The smallest sample that `share` of all do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def machine():
    words = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "kernel": platform.release(),
             "load_before": os.getloadavg()[0]}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            words["cpu"] = line.split(":", 1)[1].strip()
            break
    return words


def build_of(program):
    """How it was built, as far as its folder tells."""
    path = Path(program).resolve()
    words = {"program": str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name}
    cache = path.parents[1] / "CMakeCache.txt"
    if cache.is_file():
        for name in ("CMAKE_BUILD_TYPE", "CMAKE_CXX_FLAGS", "AKO_UNITY"):
            found = re.search(rf"(?m)^{name}:\w+=(.*)$", cache.read_text())
            if found:
                words[name] = found.group(1)
    return words


def begun(program, task):
    server = Server(program, task)
    server.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}})
    return server


def fresh_servers(program, task, runs):
    samples = {"first_ms": [], "listed_ms": [], "status_ms": []}
    for _ in range(runs):
        server = begun(program, task)
        samples["listed_ms"].append(milliseconds(lambda: server.ask("tools/list")))
        samples["first_ms"].append(1e3 * (time.perf_counter() - server.began))
        for _ in range(5):
            samples["status_ms"].append(milliseconds(lambda: server.call("status")))
        server.end()
    return samples


def one_server(program, task, calls):
    server = begun(program, task)
    for _ in range(50):
        server.call("status")
    tools = ("status", "log", "show", "status")
    out = {"resident_before_kib": server.resident_kib(), "call_ms": {tool: [] for tool in tools}}
    began = time.perf_counter()
    for number in range(calls):
        tool = tools[number % len(tools)]
        out["call_ms"][tool].append(milliseconds(lambda: server.call(tool)))
    out["calls_seconds"] = time.perf_counter() - began
    out["resident_after_kib"] = server.resident_kib()
    server.end()
    return out


def judged(name, values, bound):
    most = percentile(values, 0.99)
    print(f"{name:<42} median {statistics.median(values):7.2f} ms   99 % {most:7.2f} ms   largest {max(values):7.2f} ms   "
          f"bound {bound} ms   {'ok' if most <= bound else 'MISSED'}")
    return most <= bound


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ako", default=str(ROOT / "build/release/bin/ako"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--out")
    words = parser.parse_args()
    words.ako = str(Path(words.ako).resolve())
    record = {"command": f"bench/agents/mcp_speed.py --runs {words.runs} --calls {words.calls}", "machine": machine(),
              "build": build_of(words.ako)}
    with tempfile.TemporaryDirectory() as folder:
        task = make_task(words.ako, Path(folder))
        record.update(fresh_servers(words.ako, task, words.runs))
        record.update(one_server(words.ako, task, words.calls))
    good = judged("start of the process to tools/list answered", record["first_ms"], 60)
    judged("tools/list to its answer", record["listed_ms"], 60)
    good &= judged("status call", record["status_ms"] + record["call_ms"]["status"], 20)
    before, after, took = record["resident_before_kib"], record["resident_after_kib"], record["calls_seconds"]
    flat = after - before < 2048
    print(f"{words.calls} calls in {took:.1f} s ({1e3 * took / words.calls:.2f} ms each), memory {before} -> {after} KiB   "
          f"{'flat' if flat else 'GROWS'}")
    if words.out:
        rounded = json.loads(json.dumps(record), parse_float=lambda text: round(float(text), 3))
        Path(words.out).write_text(json.dumps(rounded) + "\n")
    sys.exit(0 if good and flat else 1)


if __name__ == "__main__":
    main()
