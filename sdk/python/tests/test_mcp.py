"""`msb mcp`, used by the protocol's own client for Python, in both forms of the protocol."""

import asyncio
import warnings

import anyio
import pytest
from msb._core import bundled_program, packaged_kernel

from .conftest import IMAGE

# The client and what it is made of warn of their own changes.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import mcp
    from mcp_types import ElicitResult

pytestmark = [pytest.mark.machine, pytest.mark.filterwarnings("ignore")]


def server(environment, project):
    variables = environment.variables()
    variables["MSB_KERNEL"] = str(environment.settings["kernel"] or packaged_kernel())
    options = ["--image", IMAGE, "--rm", "--network", "none", "--dir", str(project)]
    return mcp.StdioServerParameters(
        command=str(environment.settings["program"] or bundled_program()),
        args=["mcp", "--cpus", "1", "--memory", "512M", *options],
        env=variables,
    )


async def until_none_sleeps(call):
    count = "cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^sleep$'; true"
    with anyio.fail_after(120):
        while True:
            output = await call("sandbox_exec", command=count)
            if output["stdout"] == "0\n":
                return


@pytest.mark.parametrize(
    ("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")], ids=["legacy", "auto"]
)
def test_a_client_of_the_protocol_works_in_a_sandbox(environment, tmp_path, mode, version):
    project = tmp_path / "project"
    project.mkdir()
    (project / "main.txt").write_text("one\n")
    questions = []

    def text():
        return (project / "main.txt").read_text()

    async def answer(context, params):
        questions.append(params.message)
        action = "accept" if len(questions) > 1 else "decline"
        content = {} if action == "accept" else None
        return ElicitResult(action=action, content=content)

    async def main():
        parameters = server(environment, project)
        async with mcp.Client(parameters, mode=mode, elicitation_callback=answer) as client:
            assert client.protocol_version == version
            await use(client)

    async def use(client):
        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result
            return result.structured_content

        async def failure(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            assert result.is_error, result
            return result.content[0].text

        tools = (await client.list_tools()).tools
        assert len(tools) == 15
        # The session's sandbox is made by its first use.
        output = await call("sandbox_exec", command="cat main.txt; exit 3")
        assert (output["exit_code"], output["stdout"]) == (3, "one\n")
        listed = (await call("sandbox_list"))["sandboxes"]
        assert [one["state"] for one in listed] == ["running"]
        assert environment.is_left(listed[0]["name"])

        reports = []

        async def report(progress, total, message):
            reports.append((progress, message))

        command = {"command": "echo started; sleep 1000 & sleep 1000"}
        with anyio.move_on_after(5):
            await client.call_tool("sandbox_exec", command, progress_callback=report)
        assert [message for _, message in reports][:1] == ["started"]
        assert reports == sorted(reports)
        await until_none_sleeps(call)

        await call("sandbox_write_file", path="new.txt", text="new\n")
        edit = {"path": "main.txt", "old_text": "one", "new_text": "two"}
        assert (await call("sandbox_edit_file", **edit))["replacements"] == 1
        assert (await call("sandbox_read_file", path="main.txt"))["text"] == "two\n"
        diff = await call("sandbox_diff", path="/work")
        assert "\n-one\n+two\n" in diff["patch"]
        much = await call("sandbox_exec", command="head -c 10485760 /dev/zero | tr '\\0' x")
        assert much["truncated"] > 10_000_000
        assert "no such sandbox" in await failure("sandbox_exec", name="other", command="id")
        assert "copy_from" in await failure("sandbox_create", copy_from="/etc")

        assert "does not agree" in await failure("sandbox_apply", dry_run=False)
        assert text() == "one\n"
        assert (await call("sandbox_apply", dry_run=False))["applied"]
        assert text() == "two\n"
        assert "C main.txt" in questions[0]

        snapshot = (await call("sandbox_snapshot"))["snapshot"]
        await call("sandbox_exec", command="rm main.txt")
        await call("sandbox_rollback", snapshot=snapshot)
        assert (await call("sandbox_read_file", path="main.txt"))["text"] == "two\n"

    asyncio.run(main())
    with environment.msb() as client:
        assert not [info.name for info in client.sandboxes.list() if info.name.startswith("mcp-")]
