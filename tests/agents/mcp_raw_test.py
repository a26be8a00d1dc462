"""`ako mcp` against a client that misbehaves."""

import json
import os
import random
import signal
import subprocess
import time

from raw_client import AKO, RawClient
from tool import WAIVED, Case, alive, descendants, main, wait_until

TOOLS = {"status", "check", "baseline", "try", "compare", "bench", "profile", "diagnose", "log", "show", "verify", "report",
         "scope", "doctor", "new", "refs", "more"}


class McpCase(Case):
    def client(self, at=None, begin=True, version="2025-06-18", words=()):
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
                                                 ("2025-06-18", True, True)):
            client = self.client(version=version)
            tools = client.ask("tools/list")["result"]["tools"]
            self.assertEqual({tool["name"] for tool in tools}, TOOLS)
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
        self.assertEqual(client.begin("2099-01-01")["result"]["protocolVersion"], "2025-06-18")

    def test_nothing_but_a_greeting_comes_first(self):
        client = self.client(begin=False)
        self.still_well(client)
        self.refused_with(client.ask("tools/list"), -32600, "initialize")
        self.refused_with(client.ask("server/discover"), -32601)
        self.refused_with(client.ask("initialize", {}), -32602, "2025-06-18")
        client.begin()
        self.refused_with(client.begin(), -32600, "already")
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
        process = subprocess.Popen([AKO, "mcp"], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE,
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
        self.assertLess(resident, 120 << 10)
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
            self.assertLessEqual(len(json.dumps(message["result"], separators=(",", ":"), ensure_ascii=False).encode()), 4096, tool)
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
        text = client.ask("resources/read", {"uri": "ako://contract"})["result"]["contents"][0]["text"]
        self.assertEqual(text, (task / "task.toml").read_text())
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

    def test_a_call_that_crashes_ends_alone(self):
        client = self.client()
        client.start("tools/call", {"name": "doctor", "arguments": {}})
        self.assertTrue(wait_until(lambda: descendants(client.process.pid), 10))
        os.kill(descendants(client.process.pid)[0], signal.SIGKILL)
        reply = client.until(lambda m: m.get("id") == client.last)["result"]
        self.assertTrue(reply["isError"])
        self.assertEqual(reply["structuredContent"]["error"]["kind"], "internal")
        self.still_well(client)

    def test_too_many_calls_at_once_are_refused(self):
        client = self.client()
        client.write("".join(json.dumps({"jsonrpc": "2.0", "id": f"n{number}", "method": "tools/call",
                                         "params": {"name": "status"}}) + "\n" for number in range(12)))
        replies = [client.receive() for _ in range(12)]
        refused = [reply for reply in replies if "error" in reply]
        self.assertTrue(refused and len(refused) < 12)
        self.assertIn("wait for one", json.dumps(refused[0]))


class Endurance(McpCase):
    def test_hundreds_of_calls_in_flat_memory(self):
        task = self.recorded_task()
        client = self.client(at=task)
        for _ in range(40):
            client.call("log")
        before = client.resident_kib()
        for number in range(160):
            client.call("status" if number % 2 else "show", {"diff": True} if number % 2 == 0 else {})
        self.assertLess(client.resident_kib() - before, 2 << 10)


if __name__ == "__main__":
    main()
