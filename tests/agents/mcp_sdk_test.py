"""`ako mcp` through the official Python SDK: what a real client sees."""

import asyncio
import os
import urllib.parse

from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION, LATEST_PROTOCOL_VERSION
from raw_client import expected_tools
from tool import Case, main


class Sdk(Case):
    def talk(self, work, at=None, greet=ClientSession.initialize, **callbacks):
        async def whole():
            server = StdioServerParameters(command=os.environ["AKO"], args=["-C", str(at or self.folder), "mcp"],
                                           env=self.environment)
            async with stdio_client(server) as (read, write):
                async with ClientSession(read, write, **callbacks) as session:
                    greeting = await greet(session)
                    return await asyncio.wait_for(work(session, greeting), 120)
        return asyncio.run(whole())

    def test_the_whole_surface(self):
        task = self.recorded_task()

        async def work(session, greeting):
            self.assertEqual(greeting.server_info.name, "ako")
            self.assertIn("status", greeting.instructions)
            self.assertEqual(session.protocol_version, LATEST_HANDSHAKE_VERSION)
            tools = (await session.list_tools()).tools
            self.assertEqual({tool.name for tool in tools}, expected_tools())
            self.assertTrue(all(tool.output_schema for tool in tools))
            # The SDK holds structured content against the output schema.
            for name, arguments in (("status", {}), ("log", {}), ("show", {"iteration": 1, "diff": True}), ("verify", {}),
                                    ("report", {}), ("doctor", {}), ("check", {"echo": True})):
                reply = await session.call_tool(name, arguments)
                self.assertFalse(reply.is_error, (name, reply))
                self.assertEqual(reply.structured_content["exit"], 0)
                self.assertTrue(reply.content[0].text)
            reply = await session.call_tool("compare", {"old": "nothing.cpp", "new": "solution/halve.cpp"})
            self.assertTrue(reply.is_error)
            self.assertTrue(reply.structured_content["error"]["next"])
            resources = (await session.list_resources()).resources
            self.assertIn("ako://contract", {str(each.uri) for each in resources})
            text = (await session.read_resource("ako://guide/loop")).contents[0].text
            self.assertIn("hypothesis", text)
            self.assertTrue((await session.list_resource_templates()).resource_templates)
            prompts = (await session.list_prompts()).prompts
            self.assertEqual([prompt.name for prompt in prompts], ["iteration"])
            prompt = await session.get_prompt("iteration", {"idea": "fewer loads"})
            self.assertIn("fewer loads", prompt.messages[0].content.text)
            with self.assertRaises(MCPError):
                await session.read_resource("ako://nothing")
            await session.set_logging_level("debug")
            await session.send_ping()

        self.talk(work, at=task)

    def test_the_newest_protocol_that_the_sdk_speaks(self):
        self.assertEqual(LATEST_PROTOCOL_VERSION, LATEST_MODERN_VERSION, "the SDK knows a newer one: support it")
        task = self.recorded_task()

        async def work(session, greeting):
            self.assertIn("status", greeting.instructions)
            self.assertEqual(session.protocol_version, LATEST_PROTOCOL_VERSION)
            self.assertEqual(session.server_info.name, "ako")
            tools = (await session.list_tools()).tools
            self.assertEqual({tool.name for tool in tools}, expected_tools())
            for name, arguments in (("status", {}), ("log", {}), ("show", {"iteration": 1, "diff": True}), ("report", {})):
                reply = await session.call_tool(name, arguments)
                self.assertFalse(reply.is_error, (name, reply))
                self.assertEqual(reply.structured_content["exit"], 0)
            told = []

            async def on_progress(progress, total, message):
                told.append((progress, message))
            await session.call_tool("check", {"build_only": True}, progress_callback=on_progress)
            self.assertTrue(told)
            self.assertIn("ako://contract", {str(each.uri) for each in (await session.list_resources()).resources})
            self.assertTrue((await session.read_resource("ako://guide/loop")).contents[0].text)
            self.assertTrue((await session.list_resource_templates()).resource_templates)
            self.assertEqual([prompt.name for prompt in (await session.list_prompts()).prompts], ["iteration"])
            prompt = await session.get_prompt("iteration", {"idea": "fewer loads"})
            self.assertIn("fewer loads", prompt.messages[0].content.text)
            with self.assertRaises(MCPError):
                await session.read_resource("ako://nothing")

        self.talk(work, at=task, greet=ClientSession.discover)

    def test_parts_of_a_resource_through_its_template(self):
        task = self.recorded_task()

        async def work(session, _greeting):
            template = next(each.uri_template for each in (await session.list_resource_templates()).resource_templates
                            if each.name == "a task's")
            self.assertEqual(template, "ako://{name}{?task,from,bytes}")
            uri = "ako://contract?" + urllib.parse.urlencode({"task": str(task), "bytes": 1024}, quote_via=urllib.parse.quote, safe="")
            text = ""
            while uri:
                first = (await session.read_resource(uri)).contents[0]
                text += first.text
                uri = (first.meta or {}).get("ako/next")
            self.assertEqual(text, (task / "task.toml").read_text())

        self.talk(work)

    def test_a_step_with_progress_and_log(self):
        task = self.make_task()
        told, logged = [], []

        async def on_log(params):
            logged.append(params.data)

        async def work(session, _greeting):
            async def on_progress(progress, total, message):
                told.append((progress, message))
            reply = await session.call_tool("check", {"build_only": True}, progress_callback=on_progress)
            self.assertFalse(reply.is_error, reply)
            self.assertEqual(reply.structured_content["data"]["passed"], True)
            reply = await session.call_tool("try", {"hypothesis": "too early"})
            self.assertTrue(reply.is_error)
            self.assertEqual(reply.structured_content["error"]["next"], "ako check")

        self.talk(work, at=task, logging_callback=on_log)

    def test_a_new_task_through_the_tools(self):
        async def work(session, _greeting):
            reply = await session.call_tool("new", {"name": "made"})
            self.assertFalse(reply.is_error, reply)
            reply = await session.call_tool("status", {"dir": "made"})
            self.assertEqual(reply.structured_content["data"]["next"], "ako check")

        self.talk(work)
        self.assertTrue((self.folder / "made/task.toml").is_file())


if __name__ == "__main__":
    main()
