"""`ako mcp` against a client that misbehaves."""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time
import urllib.parse

from raw_client import AKO, RawClient, expected_tools
from tool import SANITIZED, WAIVED, Case, alive, descendants, main, wait_until

NEWEST = "2025-11-25"  # that `initialize` agrees on
ENVELOPED = "2026-07-28"  # has no `initialize`
SCOPE = "io.modelcontextprotocol/"
ENVELOPE = {SCOPE + "protocolVersion": ENVELOPED, SCOPE + "clientCapabilities": {}, SCOPE + "clientInfo": {"name": "raw", "version": "0"}}


def size_of(message):
    return len(json.dumps(message["result"], separators=(",", ":"), ensure_ascii=False).encode())


class McpCase(Case):
    def client(self, at=None, begin=True, version=NEWEST, words=()):
        client = RawClient(at or self.folder, self.environment, words)
        self.addCleanup(client.close)
        if begin:
            self.assertEqual(client.begin(version)["result"]["protocolVersion"], version)
        return client

    def still_well(self, client):
        self.assertEqual(client.ask("ping")["result"], {})

    def refused_with(self, message, code, says=""):
        self.assertEqual(message["error"]["code"], code, message)
        self.assertIn(says, json.dumps(message["error"]))


class Conversation(McpCase):
    def test_versions_are_negotiated_and_change_what_is_said(self):
        for version, structured, annotations in (("2024-11-05", False, False), ("2025-03-26", False, True),
                                                 ("2025-06-18", True, True), (NEWEST, True, True)):
            client = self.client(version=version)
            tools = client.ask("tools/list")["result"]["tools"]
            self.assertEqual({tool["name"] for tool in tools}, expected_tools())
            for tool in tools:
                self.assertEqual("outputSchema" in tool, structured)
                self.assertEqual("annotations" in tool, annotations)
                self.assertEqual(tool["inputSchema"]["type"], "object")
                self.assertTrue(tool["description"])
            reply = client.call("status")["result"]
            self.assertEqual("structuredContent" in reply, structured)
            if not structured:
                self.assertIn("error", json.loads(reply["content"][1]["text"]))
        client = self.client(begin=False)
        self.assertEqual(client.begin("2099-01-01")["result"]["protocolVersion"], NEWEST)

    def test_nothing_but_a_greeting_comes_first(self):
        client = self.client(begin=False)
        self.still_well(client)
        self.refused_with(client.ask("tools/list"), -32600, "initialize")
        self.refused_with(client.ask("server/discover"), -32601)
        self.refused_with(client.ask("initialize", {}), -32602, NEWEST)
        client.begin()
        self.refused_with(client.begin(), -32600, "already")
        self.still_well(client)

    def test_a_client_without_a_greeting_says_its_version_with_every_request(self):
        task = self.recorded_task()
        client = self.client(at=task, begin=False)
        probe = {"_meta": {**ENVELOPE, SCOPE + "protocolVersion": "2031-01-01"}}
        reply = client.ask("server/discover", probe)
        self.refused_with(reply, -32022)
        self.assertEqual(reply["error"]["data"], {"supported": [ENVELOPED], "requested": "2031-01-01"})
        found = client.ask("server/discover", {"_meta": ENVELOPE})["result"]
        self.assertEqual(found["supportedVersions"], [ENVELOPED])
        self.assertIn("status", found["instructions"])
        for method, more, member in (("tools/list", {}, "tools"), ("resources/list", {}, "resources"),
                                     ("resources/templates/list", {}, "resourceTemplates"), ("prompts/list", {}, "prompts"),
                                     ("resources/read", {"uri": "ako://guide/loop"}, "contents"),
                                     ("prompts/get", {"name": "iteration"}, "messages"),
                                     ("tools/call", {"name": "show", "arguments": {"diff": True}}, "structuredContent")):
            message = client.ask(method, {**more, "_meta": ENVELOPE})
            result = message["result"]
            self.assertIn(member, result)
            self.assertEqual(result["resultType"], "complete", method)
            self.assertEqual(result["_meta"][SCOPE + "serverInfo"]["name"], "ako")
            self.assertEqual("ttlMs" in result and "cacheScope" in result, method not in ("tools/call", "prompts/get"), method)
            if method in ("resources/read", "prompts/get", "tools/call"):
                self.assertLessEqual(size_of(message), 4096, method)
        self.refused_with(client.ask("tools/list"), -32602, "protocolVersion")
        self.refused_with(client.ask("initialize", {"protocolVersion": NEWEST}), -32022, ENVELOPED)
        for gone in ("ping", "logging/setLevel"):
            self.refused_with(client.ask(gone, {"_meta": ENVELOPE}), -32601)
        self.refused_with(client.ask("resources/read", {"uri": "ako://nothing", "_meta": ENVELOPE}), -32602)
        client = self.client(begin=False)
        self.refused_with(client.ask("tools/list", {"_meta": {SCOPE + "protocolVersion": ENVELOPED}}), -32602, "clientCapabilities")
        client.begin()  # nothing was agreed on yet
        self.still_well(client)

    def test_what_is_no_message_is_told_so_and_the_rest_goes_on(self):
        client = self.client()
        for line, code in ((b"{\n", -32700), (b"\xff\xfe\n", -32700), (b"[]\n", -32600), (b"7\n", -32600),
                           (b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', -32600), (b'{"jsonrpc":"2.0","id":1}\n', -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
                           (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}\n', -32600),
                           (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":5}\n', -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}\n', -32602),
                           (b"[" * 5000 + b"\n", -32700)):
            client.write(line)
            self.refused_with(client.receive(), code)
        client.write(b"\n   \n\r\n")
        self.still_well(client)
        self.refused_with(client.ask("tools/dance"), -32601, "tools/dance")
        client.send({"jsonrpc": "2.0", "method": "notifications/dance"})
        client.send({"jsonrpc": "2.0", "id": 77, "result": {}})
        self.still_well(client)

    def test_half_lines_wait_and_huge_ones_are_dropped(self):
        client = self.client()
        for part in (b'{"jsonrpc":"2.0",', b'"id":"split",', b'"method":"pi', b'ng"}\n'):
            client.write(part)
            time.sleep(0.02)
        self.assertEqual(client.receive()["id"], "split")
        before = client.resident_kib()
        chunk = b"x" * (1 << 20)
        for _ in range(64):
            client.write(chunk)
        client.write(b"\n")
        self.refused_with(client.receive(), -32700, "dropped")
        self.assertLess(client.resident_kib() - before, 40 << 10)
        self.still_well(client)

    def test_lists_of_messages_are_answered_as_a_list_where_the_protocol_has_them(self):
        client = self.client(version="2025-03-26")
        client.send([{"jsonrpc": "2.0", "id": "a", "method": "ping"},
                     {"jsonrpc": "2.0", "method": "notifications/initialized"}, 5,
                     {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "status"}}])
        replies = client.receive()
        self.assertEqual({reply["id"] for reply in replies}, {"a", "b", None})
        client.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
        self.still_well(client)
        client = self.client()
        client.send([{"jsonrpc": "2.0", "id": "a", "method": "ping"}])
        self.refused_with(client.receive(), -32600, "no lists")

    def test_an_id_that_is_open_is_not_taken_twice(self):
        client = self.client()
        message = {"jsonrpc": "2.0", "id": "twice", "method": "tools/call", "params": {"name": "status"}}
        client.write((json.dumps(message) + "\n") * 2)
        self.refused_with(client.receive(), -32600, "still open")
        self.assertIn("result", client.until(lambda m: m.get("id") == "twice"))
        client.send(message)  # once it is answered it may be used again
        self.assertIn("result", client.until(lambda m: m.get("id") == "twice"))

    def test_a_last_message_without_a_line_break_is_answered_at_the_end(self):
        client = self.client()
        client.write(json.dumps({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": {"name": "status"}}))
        self.assertEqual(client.end(), 0)
        self.assertEqual(client.receive()["id"], "last")

    def test_a_client_that_goes_away_ends_the_server(self):
        client = self.client()
        self.assertEqual(client.end(), 0)
        read, write = os.pipe()
        process = subprocess.Popen([AKO, "mcp"], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE, stdout=write,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        os.close(write)
        os.close(read)
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        self.assertIsNotNone(process.wait(10))
        process.stdin.close()
        client = self.client()
        client.process.send_signal(signal.SIGTERM)
        self.assertEqual(client.process.wait(10), 130)

    def test_a_client_that_does_not_read_costs_no_memory_without_end(self):
        read, write = os.pipe()
        environment = {**self.environment, "ASAN_OPTIONS": "quarantine_size_mb=1"}  # what is freed is free
        process = subprocess.Popen([AKO, "mcp"], cwd=self.folder, env=environment, stdin=subprocess.PIPE,
                                   stdout=write, stderr=subprocess.DEVNULL)
        os.close(write)
        self.addCleanup(process.kill)
        os.set_blocking(process.stdin.fileno(), False)
        line = (json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * 2000}) + "\n").encode()
        sent, end = 0, time.monotonic() + 4
        while time.monotonic() < end and sent < 200 << 20:
            try:
                sent += os.write(process.stdin.fileno(), line * 16)
            except BlockingIOError:
                time.sleep(0.01)
        with open(f"/proc/{process.pid}/status") as status:
            resident = next(int(text.split()[1]) for text in status if text.startswith("VmRSS"))
        self.assertLess(resident, (360 if SANITIZED else 120) << 10)
        process.kill()
        process.wait()
        process.stdin.close()
        os.close(read)

    def test_noise_never_ends_it(self):
        client = self.client()
        chance = random.Random(7)
        good = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                           "params": {"name": "log", "arguments": {"count": 3}, "_meta": {"progressToken": 1}}}).encode()
        for _ in range(400):
            line = bytearray(good)
            for _ in range(chance.randint(1, 6)):
                at = chance.randrange(len(line))
                kind = chance.randrange(3)
                if kind == 0:
                    line[at] = chance.randrange(256)
                elif kind == 1:
                    del line[at]
                else:
                    line.insert(at, chance.choice(b'{}[]",:0\\n'))
            client.write(bytes(line).replace(b"\n", b" ") + b"\n")
        client.send({"jsonrpc": "2.0", "id": "after the noise", "method": "ping"})
        self.assertEqual(client.until(lambda m: isinstance(m, dict) and m.get("id") == "after the noise")["result"], {})


class Tools(McpCase):
    def test_errors_come_with_the_remedy(self):
        client = self.client()
        reply = client.call("status")["result"]
        self.assertTrue(reply["isError"])
        self.assertIn("ako new", reply["structuredContent"]["error"]["next"])
        self.refused_with(client.call("stauts"), -32602, "tools/list")
        reply = client.call("log", {"cuont": 3})["result"]
        self.assertTrue(reply["isError"])
        self.assertIn("did you mean 'count'", reply["structuredContent"]["error"]["next"])
        reply = client.call("log", {"count": "three"})["result"]
        self.assertIn("a whole number", reply["structuredContent"]["error"]["allowed"])
        reply = client.call("try", {"hypothesis": "h", "waive": "trust me"})["result"]
        self.assertTrue(reply["isError"], "a waiver is not a tool's to give")

    def test_arguments_may_be_null_and_words_are_checked(self):
        client = self.client()
        reply = client.ask("tools/call", {"name": "doctor", "arguments": None})["result"]
        self.assertFalse(reply["isError"], reply)
        reply = client.ask("prompts/get", {"name": "poem", "arguments": None})
        self.refused_with(reply, -32602, "iteration")
        reply = client.call("doctor", {"detail": "fulll"})["result"]
        self.assertTrue(reply["isError"])
        error = reply["structuredContent"]["error"]
        self.assertIn("brief, full", error["allowed"])
        self.assertIn("did you mean 'full'", error["next"])
        for tool in client.ask("tools/list")["result"]["tools"]:
            if tool["name"] != "more":
                self.assertEqual(tool["inputSchema"]["properties"]["detail"]["enum"], ["brief", "full"])

    def test_what_is_a_persons_to_decide_is_no_argument(self):
        task = self.recorded_task()
        for after, allowed in (((), False), (("--allow-waivers",), True)):
            client = RawClient(task, self.environment, after=after)
            self.addCleanup(client.close)
            client.begin()
            tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
            named = {(name, word) for name, tool in tools.items() for word in tool["inputSchema"]["properties"]}
            for pair in (("try", "waive"), ("try", "flag"), ("baseline", "waive"), ("port", "waive"), ("validate", "waive"),
                         ("profile", "command")):
                self.assertEqual(pair in named, allowed, pair)
            self.assertIn(("lane", "flag"), named, "a compiler's flag is no waiver")
        withheld = self.client(at=task)
        reply = withheld.call("profile", {"command": ["sh", "-c", "touch ran"]})["result"]
        self.assertTrue(reply["isError"])
        self.assertFalse((task / "ran").exists())

    def test_the_commands_behind_the_tools_know_that_an_agent_asks(self):
        """What a server was not allowed its commands refuse, however an argument came to them."""
        task = self.recorded_task()
        for words in (("try", "--hypothesis", "mine", "--waive", "trust me"), ("baseline", "--waive", "trust me"),
                      ("port", "--waive", "trust me"), ("validate", "--waive", "trust me")):
            self.refused(*words, at=task, env={"AKO_UNATTENDED": "1"}, exit=4, kind="refused", says=("waives nothing", "--allow-waivers"))
        reply = self.run_text("mcp", "--allow-waivers", at=task, env={"AKO_UNATTENDED": "1"})
        self.assertEqual(reply.code, 4)
        self.assertIn("gives itself no waivers", reply.err)

    def test_what_may_overwrite_says_so(self):
        client = self.client()
        hints = {tool["name"]: tool["annotations"] for tool in client.ask("tools/list")["result"]["tools"]}
        for name, hint in hints.items():
            self.assertFalse(hint["readOnlyHint"] and hint["destructiveHint"], name)
        self.assertLessEqual({"try", "profile", "report", "new", "port", "lane", "preflight", "baseline"},
                             {name for name, hint in hints.items() if hint["destructiveHint"]})
        self.assertLessEqual({"status", "log", "show", "verify", "doctor", "diagnose", "more"},
                             {name for name, hint in hints.items() if hint["readOnlyHint"]})
        self.assertEqual({name for name, hint in hints.items() if hint["openWorldHint"]}, {"preflight"})

    def test_a_tool_writes_inside_its_task_alone(self):
        task = self.recorded_task()
        away = self.folder / "away"
        away.mkdir()
        (task / "link").symlink_to(away)
        contract = (task / "task.toml").read_bytes()
        client = self.client(at=task)
        for arguments in ({"into": str(away)}, {"into": "../away"}, {"into": "link"}, {"archive": str(away / "k.tar.gz")},
                          {"archive": "link/k.tar.gz"}, {"archive": "task.toml"}, {"archive": "solution/halve.cpp"}):
            reply = client.call("report", arguments)["result"]
            self.assertTrue(reply["isError"], arguments)
            error = reply["structuredContent"]["error"]
            self.assertEqual((error["kind"], reply["structuredContent"]["exit"]), ("refused", 4))
            self.assertIn(str(task.resolve()), error["allowed"])
        self.assertTrue(client.call("port", {"patch": str(away / "k.patch")})["result"]["isError"])
        reply = client.call("scope", {"calls": "none.jsonl", "into": "task.toml"})["result"]
        self.assertEqual(reply["structuredContent"]["error"]["kind"], "refused")
        self.assertEqual(list(away.iterdir()), [])
        self.assertEqual((task / "task.toml").read_bytes(), contract)
        reply = client.call("report", {"into": "hand-off", "archive": "hand-off/k.tar.gz"})["result"]
        self.assertFalse(reply["isError"], reply)
        self.assertTrue((task / "hand-off/report.md").is_file() and (task / "hand-off/k.tar.gz").is_file())
        allowed = RawClient(task, self.environment, after=("--allow-waivers",))
        self.addCleanup(allowed.close)
        allowed.begin()
        self.assertFalse(allowed.call("report", {"into": str(away)})["result"]["isError"])
        self.assertTrue((away / "report.md").is_file())

    def test_the_page_about_it_names_every_tool(self):
        page = (pathlib.Path(__file__).parents[2] / "docs/agents.md").read_text()
        listed = re.search(r"commands of the same names: `([^`]+)`", page).group(1).split()
        self.assertEqual(sorted(listed), sorted(expected_tools() - {"more"}))

    def test_every_step_is_a_tool_that_runs(self):
        task = self.recorded_task()
        client = self.client(at=task)
        reply = client.call("lane", {"action": "suggest"})["result"]
        self.assertFalse(reply["isError"], reply)
        self.assertEqual(reply["structuredContent"]["data"]["lane"], "cpu")
        for tool, arguments in (("port", {}), ("validate", {}), ("preflight", {"look": True}), ("calibrate", {"seconds": 0.01}),
                                ("lane", {"action": "switch", "lane": "cpu", "entry": "solution/halve.cpp::halve", "flag": ["-O1"]})):
            structured = client.call(tool, arguments)["result"]["structuredContent"]
            self.assertTrue(structured["error"]["next"] or structured["error"]["allowed"], (tool, structured))
            self.assertNotEqual(structured["error"]["kind"], "internal", tool)

    def test_a_gate_is_refused_as_on_the_command_line(self):
        task = self.make_task()
        client = self.client(at=task)
        reply = client.call("try", {"hypothesis": "too early"})["result"]
        self.assertTrue(reply["isError"])
        error = reply["structuredContent"]["error"]
        self.assertEqual((error["kind"], error["next"]), ("refused", "ako check"))
        self.assertEqual(reply["structuredContent"]["exit"], 4)

    def test_new_status_and_the_same_data_as_the_command(self):
        client = self.client()
        reply = client.call("new", {"name": "first"})["result"]
        self.assertFalse(reply["isError"], reply)
        status = client.call("status", {"dir": "first"})["result"]["structuredContent"]
        direct = self.ako("-C", "first", "status", exit=0)
        self.assertEqual(status["data"], direct.data)
        self.assertEqual(status["data"]["next"], "ako check")

    def test_answers_fit_and_the_rest_is_paged(self):
        task = self.recorded_task()
        for number in range(2):
            self.solution(task, body=f"  for (int i = 0; i < n; ++i) y[i] = -{number + 2};")
            self.ako("try", "--hypothesis", f"attempt {number}: " + "words „und“ \"mehr\" " * 300, *WAIVED, at=task, exit=11)
        client = self.client(at=task)
        for tool, arguments in (("status", {}), ("log", {"count": 200}), ("show", {"diff": True}), ("doctor", {}),
                                ("report", {}), ("verify", {})):
            message = client.call(tool, arguments)
            self.assertLessEqual(size_of(message), 4096, tool)
        reply = client.call("show", {"diff": True})["result"]["structuredContent"]
        whole = self.ako("show", "--diff", at=task, exit=0)
        self.assertIn("more", reply)
        result = reply["more"]["result"]
        text, cursor, pages = "", 0, 0
        while True:
            page = client.call("more", {"result": result, "at": "/data/iteration/hypothesis", "cursor": cursor, "bytes": 2000})["result"]
            data = page["structuredContent"]["data"]
            text += data["value"]
            pages += 1
            if data["next_cursor"] is None:
                break
            cursor = data["next_cursor"]
        self.assertEqual(text, whole.data["iteration"]["hypothesis"])
        self.assertGreater(pages, 1)
        full = client.call("show", {"diff": True, "detail": "full"})["result"]["structuredContent"]
        self.assertEqual(full["data"], whole.data)
        self.assertNotIn("more", full)
        reply = client.call("more", {"result": "r999"})["result"]
        self.assertIn("call the tool again", reply["structuredContent"]["error"]["next"])
        reply = client.call("more", {"result": result, "at": "/data/nothing"})["result"]
        self.assertTrue(reply["isError"])

    def test_resources_and_the_prompt(self):
        task = self.recorded_task()
        client = self.client(at=task)
        listed = {each["uri"] for each in client.ask("resources/list")["result"]["resources"]}
        self.assertLessEqual({"ako://contract", "ako://log", "ako://notes", "ako://iterations", "ako://report",
                              "ako://iteration/1", "ako://guide/loop"}, listed)
        for uri in sorted(listed)[:12]:
            content = client.ask("resources/read", {"uri": uri})["result"]["contents"][0]
            self.assertEqual(content["uri"], uri)
            self.assertTrue(content["text"], uri)
        self.assertEqual(self.whole_resource(client, "ako://contract"), (task / "task.toml").read_text())
        self.refused_with(client.ask("resources/read", {"uri": "ako://contarct"}), -32002, "did you mean 'contract'")
        self.refused_with(client.ask("resources/read", {"uri": "ako://iteration/99"}), -32002)
        self.refused_with(client.ask("resources/read", {"uri": "file:///etc/passwd"}), -32002, "ako://")
        self.refused_with(client.ask("resources/read", {"uri": "ako://guide/../loop"}), -32002)
        self.assertTrue(client.ask("resources/templates/list")["result"]["resourceTemplates"])
        self.assertEqual(client.ask("prompts/list")["result"]["prompts"][0]["name"], "iteration")
        prompt = client.ask("prompts/get", {"name": "iteration", "arguments": {"idea": "unroll it"}})["result"]
        text = prompt["messages"][0]["content"]["text"]
        for part in ("halve", "unroll it", "nothing yet", "incorrect", "solution/halve.cpp"):
            self.assertIn(part, text)
        self.refused_with(client.ask("prompts/get", {"name": "poem"}), -32602, "iteration")
        self.refused_with(client.ask("logging/setLevel", {"level": "loud"}), -32602, "debug")
        self.assertEqual(client.ask("logging/setLevel", {"level": "warning"})["result"], {})

    def whole_resource(self, client, uri, at_most=4096):
        """All parts of a resource, each held against the bound."""
        text = ""
        while uri:
            message = client.ask("resources/read", {"uri": uri})
            self.assertLessEqual(size_of(message), at_most, uri)
            contents = message["result"]["contents"]
            self.assertEqual(contents[0]["uri"], uri)
            text += contents[0]["text"]
            about = contents[0].get("_meta", {})
            uri = about.get("ako/next")
            if about:
                self.assertEqual(about["ako/to"], len(text.encode()))
            self.assertEqual(len(contents) == 2, bool(uri))
            if uri:
                self.assertIn(uri, contents[1]["text"], "a model sees how to go on")
        return text

    def test_resources_and_prompts_fit_and_go_on(self):
        task = self.recorded_task()
        words = "wörds „und“ \"mehr\" "
        for number in range(10):
            self.solution(task, body=f"  for (int i = 0; i < n; ++i) y[i] = -{number + 2};")
            self.ako("try", "--hypothesis", f"attempt {number}: " + words * 40, *WAIVED, at=task, exit=11)
        client = self.client(at=task)
        for name in ("brief", "contract", "log", "iterations", "report", "iteration/3", "guide/loop", "guide/loop?from=0&bytes=1500"):
            text = self.whole_resource(client, "ako://" + name)
            self.assertTrue(text, name)
        self.assertEqual(self.whole_resource(client, "ako://contract?bytes=1024", 1024), (task / "task.toml").read_text())
        large = client.ask("resources/read", {"uri": "ako://report?bytes=262144"})["result"]["contents"]
        self.assertEqual(len(large), 1)
        self.assertGreater(len(large[0]["text"]), 8192)
        self.assertEqual(large[0]["text"], (self.whole_resource(client, "ako://report")))
        log = self.whole_resource(client, "ako://log")
        self.assertLess(log.index("attempt 9:"), log.index("attempt 3:"), "the newest first")
        message = client.ask("prompts/get", {"name": "iteration", "arguments": {"idea": "unroll it"}})
        self.assertLessEqual(size_of(message), 4096)
        text = message["result"]["messages"][0]["content"]["text"]
        rest = re.search(r"ako://brief\?from=\d+", text).group()
        self.assertIn("predict_gain", text)
        self.assertIn("unroll it", text)
        self.assertTrue(client.ask("resources/read", {"uri": rest})["result"]["contents"][0]["text"])
        longest = "ä\"" * 248 + "x" * 6  # 1000 bytes as JSON
        for idea, fits in ((longest, True), (longest + "y", False)):
            message = client.ask("prompts/get", {"name": "iteration", "arguments": {"idea": idea}})
            if not fits:
                self.refused_with(message, -32602, "at most 1000 bytes")
                continue
            self.assertLessEqual(size_of(message), 4096)
            text = message["result"]["messages"][0]["content"]["text"]
            self.assertIn(idea, text)
            self.assertIn("predict_gain", text)
            self.assertGreater(int(re.search(r"ako://brief\?from=(\d+)", text).group(1)), 500, "the page has room beside it")
        for uri, says in (("ako://log?from=99999999", "behind the end"), ("ako://log?from=-1", "from"), ("ako://log?bytes=7", "1024"),
                          ("ako://log?form=3", "did you mean 'from'")):
            self.refused_with(client.ask("resources/read", {"uri": uri}), -32002, says)

    def test_names_of_resources_are_percent_decoded(self):
        task = self.recorded_task()
        odd = self.folder / "odd & 100%?#"
        os.rename(task, odd)
        client = self.client()
        quoted = urllib.parse.quote(str(odd), safe="")
        listed = client.ask("resources/templates/list")["result"]["resourceTemplates"]
        self.assertTrue(all("from" in each["uriTemplate"] and "bytes" in each["uriTemplate"] for each in listed))
        self.assertIn("ako://{name}{?task,from,bytes}", {each["uriTemplate"] for each in listed})
        self.assertEqual(self.whole_resource(client, f"ako://contract?task={quoted}&bytes=1024", 1024), (odd / "task.toml").read_text())
        self.assertIn("nothing yet", self.whole_resource(client, f"ako://lo%67?task={quoted}"))
        for broken in ("%", "%2", "%zz", "%00", "a%"):
            self.refused_with(client.ask("resources/read", {"uri": "ako://log?task=" + broken}), -32002, "two hexadecimal digits")
        self.refused_with(client.ask("resources/read", {"uri": "ako://%"}), -32002, "%25")

    def test_progress_is_told_and_rises_and_a_cancelled_call_stops_cleanly(self):
        task = self.make_task()
        client = self.client(at=task)
        call = {"name": "check", "arguments": {}, "_meta": {"progressToken": "p"}}
        number = client.start("tools/call", call)
        client.until(lambda m: m.get("method") == "notifications/progress")
        self.still_well(client)  # while the call runs
        self.assertTrue(descendants(client.process.pid))
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "unknown"}})
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        self.assertTrue(wait_until(lambda: not any(alive(pid) for pid in descendants(client.process.pid)), 20))
        self.still_well(client)
        self.assertFalse([m for m in client.unread if m.get("id") == number], "a cancelled call is not answered")
        progress = [m["params"] for m in client.unread if m.get("method") == "notifications/progress"]
        values = [each["progress"] for each in progress]
        self.assertEqual(values, sorted(set(values)))
        reply = client.call("status")["result"]["structuredContent"]
        self.assertIn("contract-proven", [gate["gate"] for gate in reply["data"]["closed_gates"]])

    def test_a_client_that_leaves_during_a_call_leaves_nothing_running(self):
        task = self.make_task()
        client = self.client(at=task)
        client.start("tools/call", {"name": "check", "arguments": {}})
        self.assertTrue(wait_until(lambda: len(descendants(client.process.pid)) > 1, 20))
        below = descendants(client.process.pid)
        client.end()
        self.assertTrue(wait_until(lambda: not any(alive(pid) for pid in below), 20))

    def rest_of(self, client):
        """Answers by their ids, to the end of the stream."""
        out = {}
        while (message := client.receive()) is not None:
            if "id" in message:
                self.assertNotIn(message["id"], out, "answered twice")
                out[message["id"]] = message
        return out

    def test_every_call_is_answered_before_the_server_ends(self):
        task = self.make_task()
        running = [f"runs-{number}" for number in range(8)]
        writing, reading = [f"waits-{number}" for number in range(3)], ["reads"]
        for ends in ("input", "signal"):
            client = self.client(at=task)
            for name in (*running, *writing, *reading):
                client.send({"jsonrpc": "2.0", "id": name, "method": "tools/call",
                             "params": {"name": "status" if name in reading else "check", "arguments": {}}})
            self.assertTrue(wait_until(lambda: len(descendants(client.process.pid)) >= 8, 20))
            if ends == "input":
                self.assertEqual(client.end(), 0)
            else:
                client.process.send_signal(signal.SIGTERM)
                self.assertEqual(client.process.wait(20), 130)
            answers = self.rest_of(client)
            self.assertEqual(set(answers), {*running, *writing, *reading})
            for name in writing:
                self.refused_with(answers[name], -32603, "had not begun")
                self.assertIn("status", answers[name]["error"]["data"]["next"])
            self.assertFalse(any("had not begun" in json.dumps(answers[name]) for name in running))
            self.assertEqual("result" in answers["reads"], ends == "input")

    def test_a_call_that_does_not_end_is_told_so_when_the_server_must(self):
        client = self.client()
        number = client.start("tools/call", {"name": "doctor", "arguments": {}})
        self.assertTrue(wait_until(lambda: descendants(client.process.pid), 10))
        stuck = descendants(client.process.pid)
        os.kill(stuck[0], signal.SIGSTOP)
        began = time.monotonic()
        self.assertEqual(client.end(), 0)
        self.assertLess(time.monotonic() - began, 8)
        self.refused_with(self.rest_of(client)[number], -32603, "ended before it came to an answer")
        self.assertTrue(wait_until(lambda: not any(alive(pid) for pid in stuck), 10))

    def test_a_call_that_crashes_ends_alone(self):
        client = self.client()
        client.start("tools/call", {"name": "doctor", "arguments": {}})
        self.assertTrue(wait_until(lambda: descendants(client.process.pid), 10))
        os.kill(descendants(client.process.pid)[0], signal.SIGKILL)
        reply = client.until(lambda m: m.get("id") == client.last)["result"]
        self.assertTrue(reply["isError"])
        self.assertEqual(reply["structuredContent"]["error"]["kind"], "internal")
        self.still_well(client)

    def test_calls_beyond_those_that_run_wait_for_their_turn(self):
        client = self.client()
        many = 40
        client.write("".join(json.dumps({"jsonrpc": "2.0", "id": f"n{number}", "method": "tools/call",
                                         "params": {"name": "status"}}) + "\n" for number in range(many)))
        replies = [client.receive() for _ in range(many)]
        self.assertTrue(all("result" in reply for reply in replies))
        self.assertEqual({reply["id"] for reply in replies}, {f"n{number}" for number in range(many)})

    def test_one_that_waits_can_be_cancelled_and_too_many_are_refused(self):
        client = self.client()
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "status"}}
        lines = [{**call, "id": f"n{number}"} for number in range(8 + 64 + 2)]
        lines.append({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "n71"}})
        lines.append({**call, "id": "n20"})
        client.write("".join(json.dumps(line) + "\n" for line in lines))
        replies = [client.receive(120) for _ in range(len(lines) - 2)]
        refused = {reply["id"]: reply for reply in replies if "error" in reply}
        self.assertEqual(set(refused), {"n72", "n73", "n20"})
        self.refused_with(refused["n72"], -32603, "wait for some")
        self.refused_with(refused["n20"], -32600, "still open")
        self.still_well(client)
        self.assertNotIn("n71", {reply["id"] for reply in replies} | {m.get("id") for m in client.unread})


class Endurance(McpCase):
    def test_a_thousand_calls_in_flat_memory(self):
        task = self.recorded_task()
        client = self.client(at=task)
        for _ in range(40):
            client.call("log")
        before = client.resident_kib()
        for number in range(1000):
            client.call("status" if number % 2 else "show", {"diff": True} if number % 2 == 0 else {})
        self.assertLess(client.resident_kib() - before, 2 << 10)


if __name__ == "__main__":
    main()
