"""The checks that Inspect has for every sandbox, as root and as an ordinary user."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from inspect_ai.util import OutputLimitExceededError, SandboxEnvironment, SandboxUnavailableError
from inspect_ai.util._sandbox.limits import override_max_exec_output_size
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from inspect_msb import MsbConfig, MsbSandboxEnvironment
from support import IMAGE

pytestmark = pytest.mark.machine

CONFIGS = {
    "root": MsbConfig(image=IMAGE, memory="512M"),
    "user": MsbConfig(image=IMAGE, memory="512M", user="1000", working_dir="/tmp"),
}
TOO_LONG = {"test_exec_large_command": "its 1,048,733 bytes are more than the 1,048,560 of msb"}
#: Checks that cannot pass, with the reasons.
EXPECTED_FAILURES = {
    "root": {
        **TOO_LONG,
        "test_read_file_not_allowed": "root reads every file",
        "test_write_text_file_without_permissions": "root writes every file",
        "test_write_binary_file_without_permissions": "root writes every file",
    },
    "user": TOO_LONG,
}


@pytest.fixture(scope="module", params=CONFIGS)
async def environment(
    request: pytest.FixtureRequest, home: Path
) -> AsyncIterator[tuple[str, SandboxEnvironment]]:
    """One sandbox for all checks of a configuration."""
    config = CONFIGS[request.param]
    await MsbSandboxEnvironment.task_init("checks", config)
    environments = await MsbSandboxEnvironment.sample_init("checks", config, {})
    yield request.param, environments["default"]
    await MsbSandboxEnvironment.sample_cleanup("checks", config, environments, False)
    await MsbSandboxEnvironment.task_cleanup("checks", config, True)


@pytest.fixture
def sandbox_env(
    request: pytest.FixtureRequest, environment: tuple[str, SandboxEnvironment]
) -> SandboxEnvironment:
    name, sandbox = environment
    reason = EXPECTED_FAILURES[name].get(request.node.originalname)
    if reason is not None:
        request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    return sandbox


async def test_a_stream_beyond_its_limit_is_an_error(sandbox_env):
    fill = "head -c {} /dev/zero; head -c {} /dev/zero >&2"
    with override_max_exec_output_size(1024):
        both = await sandbox_env.exec(["sh", "-c", fill.format(1024, 1024)])
        assert (len(both.stdout), len(both.stderr)) == (1024, 1024)
        for sizes in [(1025, 0), (0, 1025), (1 << 20, 0)]:
            with pytest.raises(OutputLimitExceededError, match="1 KiB"):
                await sandbox_env.exec(["sh", "-c", fill.format(*sizes)])


async def test_what_a_command_printed_before_its_timeout_is_kept(sandbox_env):
    with pytest.raises(TimeoutError) as caught:
        await sandbox_env.exec(["sh", "-c", "echo begun; sleep 60"], timeout=2)
    assert caught.value.truncated_output == "begun\n"


async def test_a_timeout_leaves_no_process(sandbox_env):
    """That of Inspect passes where an image has no `ps`."""
    text = "(exec -a left-child sleep 61) & exec -a left-parent sleep 61"
    with pytest.raises(TimeoutError):
        await sandbox_env.exec(["bash", "-c", text], timeout=2)
    names = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done | grep -c '^left-'"
    assert (await sandbox_env.exec(["sh", "-c", names])).stdout == "0\n"


async def test_a_missing_command_and_a_missing_directory_are_results(sandbox_env):
    missing = await sandbox_env.exec(["no-such-program"])
    assert (missing.success, missing.returncode) == (False, 127)
    assert "no-such-program" in missing.stderr
    nowhere = await sandbox_env.exec(["true"], cwd="/no/such/directory")
    assert not nowhere.success
    assert "/no/such/directory" in nowhere.stderr


async def test_the_connection_is_a_command_of_msb(sandbox_env):
    connection = await sandbox_env.connection(user="root")
    assert connection.command.startswith("msb exec -it -u root ")


async def test_a_sandbox_that_ended_is_unavailable(home):
    config = CONFIGS["root"]
    await MsbSandboxEnvironment.task_init("ended", config)
    environments = await MsbSandboxEnvironment.sample_init("ended", config, {})
    sandbox = environments["default"]
    await sandbox._sandbox.kill()
    with pytest.raises(SandboxUnavailableError):
        await sandbox.exec(["true"])
    with pytest.raises(ConnectionError):
        await sandbox.connection()
    await MsbSandboxEnvironment.sample_cleanup("ended", config, environments, False)
    await MsbSandboxEnvironment.task_cleanup("ended", config, True)
