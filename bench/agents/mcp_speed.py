#!/usr/bin/env python3
"""How fast `ako mcp` answers, and whether its memory stays flat.

    bench/agents/mcp_speed.py [--ako PATH] [--runs N] [--calls N] [--out FILE.json]

Per run a fresh server on a task with iterations on record: from the start of the process over `initialize` and `tools/list`
to the answer of the list; then `status` calls one after another. Then N calls in a row on one server, memory before and after.
Bounds: 60 ms from tools/list to its answer, the start of the process included; 20 ms a status call; growth below 2 MiB.
"""
import argparse
import json
import os
import platform
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ako", default=str(ROOT / "build/release/bin/ako"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--out")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        task = make_task(words.ako, Path(folder))
        greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
        first, listed, status = [], [], []
        for _ in range(words.runs):
            server = Server(words.ako, task)
            server.ask("initialize", greeting)
            listed.append(milliseconds(lambda: server.ask("tools/list")))
            first.append(1e3 * (time.perf_counter() - server.began))
            for _ in range(5):
                status.append(milliseconds(lambda: server.call("status")))
            server.end()
        server = Server(words.ako, task)
        server.ask("initialize", greeting)
        for _ in range(50):
            server.call("status")
        before, began = server.resident_kib(), time.perf_counter()
        tools = ("status", "log", "show", "status")
        for number in range(words.calls):
            server.call(tools[number % len(tools)])
        took, after = time.perf_counter() - began, server.resident_kib()
        server.end()
    result = {"first_ms": first, "listed_ms": listed, "status_ms": status, "calls": words.calls, "calls_seconds": took,
              "resident_before_kib": before, "resident_after_kib": after, "machine": platform.processor() or platform.machine(),
              "cores": os.cpu_count()}

    def line(name, values, bound):
        middle, most = statistics.median(values), max(values)
        print(f"{name:<42} median {middle:7.2f} ms   largest {most:7.2f} ms   bound {bound} ms   {'ok' if middle <= bound else 'MISSED'}")
        return middle <= bound

    good = line("start of the process to tools/list answered", first, 60)
    line("tools/list to its answer", listed, 60)
    good &= line("status call", status, 20)
    growth = after - before
    flat = growth < 2048
    print(f"{words.calls} calls in {took:.1f} s ({1e3 * took / words.calls:.2f} ms each), memory {before} -> {after} KiB   {'flat' if flat else 'GROWS'}")
    if words.out:
        Path(words.out).write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(0 if good and flat else 1)


if __name__ == "__main__":
    main()
