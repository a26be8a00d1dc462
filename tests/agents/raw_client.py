"""A client that speaks to `ako mcp` byte by byte, as badly as a test wants."""

import json
import os
import queue
import re
import subprocess
import threading
import time

from tool import PATIENCE

AKO = os.environ["AKO"]
# What is no step of a task: the ways in that agents use, and the driver that starts them.
NO_TOOLS = {"mcp", "skill", "drive"}


def commands_of(help_text):
    """The commands that `ako --help` names."""
    return set(re.findall(r"(?m)^  ([a-z]+)\s", re.split(r"(?i)subcommands:", help_text)[1]))


def expected_tools():
    """Every command that is a step, and the server's own."""
    done = subprocess.run([AKO, "--help"], capture_output=True, text=True, check=True)
    return commands_of(done.stdout) - NO_TOOLS | {"more"}


class RawClient:
    def __init__(self, at, environment, words=(), program=None, after=()):
        self.process = subprocess.Popen([program or AKO, *words, "mcp", *after], cwd=at, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        self.unread, self.last = [], 0
        self.reader = threading.Thread(target=self.read_all, daemon=True)
        self.reader.start()

    def read_all(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def write(self, data):
        self.process.stdin.write(data if isinstance(data, bytes) else data.encode())
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message) + "\n")

    def receive(self, limit=20 * PATIENCE):
        """The next message; None at the end of the stream."""
        line = self.lines.get(timeout=limit)
        return None if line is None else json.loads(line)

    def until(self, wanted, limit=60):
        """Messages until one for which wanted() holds; the others are kept in `unread`."""
        end = time.monotonic() + limit * PATIENCE
        while True:
            message = self.receive(max(0.1, end - time.monotonic()))
            if message is None:
                raise AssertionError(f"the server ended: {self.process.stderr.read().decode()}")
            if wanted(message):
                return message
            self.unread.append(message)

    def start(self, method, params=None, **more):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method}
        if params is not None:
            message["params"] = params
        self.send({**message, **more})
        return self.last

    def ask(self, method, params=None, limit=60):
        number = self.start(method, params)
        return self.until(lambda m: isinstance(m, dict) and m.get("id") == number, limit)

    def begin(self, version="2025-11-25"):
        reply = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
                                        "clientInfo": {"name": "raw", "version": "0"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return reply

    def call(self, tool, arguments=None, limit=60, **params):
        return self.ask("tools/call", {"name": tool, "arguments": arguments or {}, **params}, limit)

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def end(self, limit=20):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(limit)
        self.reader.join(5)
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except OSError:
                pass
