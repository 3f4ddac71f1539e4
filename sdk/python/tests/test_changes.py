"""Changes of a sandbox: cancelled, branched, and warned of."""

import asyncio
import io
import subprocess
import sys
from contextlib import suppress

import pytest
from msb import errors

from .conftest import IMAGE, IS_LONG

pytestmark = pytest.mark.machine

#: Seconds after which a call is cancelled.
POINTS = [0, 0.003, 0.03, 0.06] if not IS_LONG else [0, 0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.3]

CALLS = {
    "rollback": lambda sandbox: sandbox.rollback("s"),
    "snapshot": lambda sandbox: sandbox.snapshots.create(),
    "fork": lambda sandbox: sandbox.fork(),
    "commit": lambda sandbox: sandbox.commit("cancelled:1"),
    "write": lambda sandbox: sandbox.files.write("/written", b"x" * 1_000_000),
    "chmod": lambda sandbox: sandbox.files.chmod("/mark", 0o600),
    "update": lambda sandbox: sandbox.update(memory="400M"),
    "branch": lambda sandbox: sandbox.branch(),
}


def test_a_cancelled_change_leaves_a_sandbox_that_answers(environment):
    async def main():
        async with (
            environment.async_msb() as client,
            client.sandboxes.run(IMAGE, memory="256M", cpus=1) as sandbox,
        ):
            await sandbox.files.write("/mark", "before")
            await sandbox.snapshots.create("s")
            for name, call in CALLS.items():
                for point in POINTS:

                    async def changed(call=call):
                        return await call(sandbox)

                    made = None
                    with suppress(asyncio.TimeoutError):
                        made = await asyncio.wait_for(changed(), point)
                    if name == "branch" and made is not None:
                        await made.close()
                    # The very next call.
                    assert (await sandbox.shell("true")).exit_code == 0, (name, point)
                    assert await sandbox.files.read_text("/mark") == "before", (name, point)
            for point in [0.02, 0.06, 0.02]:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(sandbox.rollback("s"), point)
            assert (await sandbox.shell("true")).exit_code == 0
            await sandbox.stop(0)
            for point in POINTS:
                try:
                    await asyncio.wait_for(sandbox.start(), point * 10)
                except asyncio.TimeoutError:
                    # Undone: it can be started at once.
                    await sandbox.start()
                await sandbox.shell("true", check=True)
                await sandbox.stop(0)
            for info in await client.sandboxes.list():
                if info.id != sandbox.id and info.state != "running":
                    await (await client.sandboxes.get(info.id)).remove()

    asyncio.run(main())


def test_a_warning_that_is_an_error_leaves_no_sandbox(environment):
    program = f"""
import warnings
from msb import Msb, MsbWarning
from msb import _core
shown = _core.show
# On a host with KVM there may be nothing to warn of.
_core.show = lambda notices: shown([*notices, {{"code": "test", "message": "a notice of the test"}}])
with Msb() as msb:
    for make in (msb.sandboxes.run, msb.sandboxes.create):
        try:
            make({IMAGE!r}, memory="256M")
            raise SystemExit("no warning was raised")
        except MsbWarning:
            pass
        assert msb.sandboxes.list(name="") is not None
        print(len([info for info in msb.sandboxes.list() if info.name == info.id]))
"""
    command = [sys.executable, "-W", "error", "-c", program]
    variables = environment.variables()
    ended = subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=600, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "0\n0\n"), ended.stderr


def test_a_branch_is_owned_and_begins_with_the_snapshot(client):
    """Forks, rollbacks and snapshots are behaviours of sdk/conformance."""
    with client.sandboxes.run(IMAGE, memory="256M") as base:
        base.files.write("/mark", "one")
        ready = base.snapshots.create("ready")
        base.files.write("/mark", "two")
        with base.branch(snapshot=ready) as branch:
            assert branch.is_owned
            assert branch.files.read_text("/mark") == "one"
            with client.diff(ready, branch, ["/mark"]) as diff:
                assert list(diff) == []
            name = branch.name
        assert name not in [info.name for info in client.sandboxes.list()]
        other = client.sandboxes.create(from_sandbox=ready)
        assert other.files.read_text("/mark") == "one"
        other.remove()
        with pytest.raises(TypeError, match="a name must be str"):
            base.rollback(7)


def test_content_is_read_piece_by_piece(sandbox):
    files = sandbox.files
    files.write("/streamed", io.BytesIO(b"from a file"))
    assert files.read("/streamed") == b"from a file"
    files.write("/streamed", (f"part {number}\n" for number in range(3)))
    assert files.read("/streamed") == b"part 0\npart 1\npart 2\n"

    def broken():
        yield b"new"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        files.write("/streamed", broken())
    assert files.read("/streamed") == b"part 0\npart 1\npart 2\n"
    with pytest.raises(TypeError, match="stdin must be str"):
        sandbox.exec(["cat"], stdin=5)
    with pytest.raises(TypeError, match=r"spawn\(stdin=True\)"):
        sandbox.exec(["cat"], stdin=io.BytesIO(b"x"))


def test_a_streamed_command_has_a_time_limit(sandbox):
    with sandbox.spawn(["sh", "-c", "echo so far; sleep 6000"], timeout=1) as process:
        with pytest.raises(errors.CommandTimeout, match="sleep 6000' was killed"):
            for event in process.text():
                assert event.text == "so far\n"
        with pytest.raises(errors.CommandTimeout):
            process.wait()
    with sandbox.spawn(["sleep", "6000"]) as process, pytest.raises(TimeoutError, match="0.3 s"):
        process.wait(timeout=0.3)
    with pytest.raises(TimeoutError):
        sandbox.wait(0.2)


def test_a_large_file_is_read_with_a_larger_limit(sandbox):
    sandbox.shell("truncate -s 40M /huge", check=True)
    with pytest.raises(errors.OutputLimit) as caught:
        sandbox.files.read("/huge")
    assert "read_stream" in caught.value.hint
    assert len(sandbox.files.read("/huge", max_size="50M")) == 40 << 20
