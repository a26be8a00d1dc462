"""`ako mcp` through the official Python SDK: what a real client sees."""

import asyncio
import os

from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from tool import Case, main

TOOLS = {"status", "check", "baseline", "try", "compare", "bench", "profile", "diagnose", "log", "show", "verify", "report",
         "scope", "doctor", "new", "refs", "more"}


class Sdk(Case):
    def talk(self, work, at=None, **callbacks):
        async def whole():
            server = StdioServerParameters(command=os.environ["AKO"], args=["-C", str(at or self.folder), "mcp"],
                                           env=self.environment)
            async with stdio_client(server) as (read, write):
                async with ClientSession(read, write, **callbacks) as session:
                    greeting = await session.initialize()
                    return await asyncio.wait_for(work(session, greeting), 120)
        return asyncio.run(whole())

    def test_the_whole_surface(self):
        task = self.recorded_task()

        async def work(session, greeting):
            self.assertEqual(greeting.server_info.name, "ako")
            self.assertIn("status", greeting.instructions)
            tools = (await session.list_tools()).tools
            self.assertEqual({tool.name for tool in tools}, TOOLS)
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
