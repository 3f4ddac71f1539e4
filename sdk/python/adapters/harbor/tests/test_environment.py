"""Environments of trials, in guests."""

from __future__ import annotations

import http.server
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from harbor.models.task.config import NetworkMode, NetworkPolicy
from msb import AsyncMsb

from harbor_msb import MsbEnvironment
from support import left
from trials import environment

pytestmark = pytest.mark.machine


@pytest.fixture(scope="module")
async def started(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MsbEnvironment]:
    """One environment for the tests of commands and files; it has no network."""
    made = environment(tmp_path_factory.mktemp("trial"), persistent_env={"KEPT": "1"})
    await made.start(force_build=False)
    yield made
    await made.stop(delete=True)


async def test_a_command_has_the_environment_the_user_and_the_directory(started):
    text = "echo $KEPT $GIVEN $(id -u) $(pwd); echo ${BASH_VERSION%%.*} >&2; exit 3"
    result = await started.exec(text, cwd="/srv", env={"GIVEN": "2"}, user=1000)
    assert (result.return_code, result.stdout) == (3, "1 2 1000 /srv\n")
    assert int(result.stderr) >= 4
    with started.with_default_user("nobody"):
        assert (await started.exec("id -un")).stdout == "nobody\n"
    assert (await started.exec("true")).stdout is None


async def test_output_reaches_the_callback_as_it_comes(started):
    seen = []

    async def callback(text, stream):
        seen.append((text, stream))

    with started.scoped_output_callback(callback):
        await started.exec("echo one; sleep 1; echo two >&2")
    assert seen == [("one\n", "stdout"), ("two\n", "stderr")]


async def test_a_timeout_kills_what_the_command_started(started):
    text = "(exec -a left-child sleep 61) & exec -a left-parent sleep 61"
    with pytest.raises(RuntimeError, match="timed out after 2 seconds"):
        await started.exec(text, timeout_sec=2)
    names = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done | grep -c '^left-'"
    assert (await started.exec(names)).stdout == "0\n"


async def test_a_command_that_prints_without_end_is_killed(started):
    with pytest.raises(RuntimeError, match="printed more than"):
        await started.exec("exec -a left-yes yes")
    assert (await started.exec("cat /proc/[0-9]*/comm | grep -c '^yes$'")).stdout == "0\n"


async def test_files_and_directories_arrive_in_both_directions(started, tmp_path):
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner/file").write_bytes(b"\0\r\n")
    (source / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (source / "run.sh").chmod(0o755)
    await started.upload_dir(source, "/new/place")
    assert (await started.exec("/new/place/run.sh")).stdout == "ran\n"
    await started.upload_dir(source, "/new/place")
    await started.upload_file(source / "run.sh", "/other/name.sh")
    listed = await started.exec("find /new /other -type f | sort; /other/name.sh")
    assert listed.stdout == "/new/place/inner/file\n/new/place/run.sh\n/other/name.sh\nran\n"
    await started.download_dir("/new/place", tmp_path / "fetched/here")
    assert (tmp_path / "fetched/here/inner/file").read_bytes() == b"\0\r\n"
    await started.download_file("/other/name.sh", tmp_path / "one/file.sh")
    assert (tmp_path / "one/file.sh").read_text() == "#!/bin/sh\necho ran\n"
    assert await started.is_dir("/new/place/inner")
    assert await started.is_file("/new/place/run.sh")


async def test_without_a_network_there_is_no_device(started):
    assert (await started.exec("ls /sys/class/net")).stdout == "lo\n"


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server on this host's loopback, which a sandbox reaches as 192.0.0.1."""
    handler = http.server.SimpleHTTPRequestHandler
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize(("host", "is_reached"), [("127.0.0.1", True), ("192.0.2.1", False)])
async def test_an_allowlist_allows_its_addresses_and_nothing_else(
    home, tmp_path, port, host, is_reached
):
    made = environment(tmp_path, mode=NetworkMode.ALLOWLIST, hosts=[host])
    await made.start(force_build=False)
    try:
        connect = f"import socket; print(socket.socket().connect_ex(('192.0.0.1', {port})))"
        result = await made.exec(f'python3 -c "{connect}"')
        assert result.return_code == 0, result
        assert (result.stdout == "0\n") == is_reached, result
    finally:
        await made.stop(delete=True)


async def test_each_phase_has_its_own_network(home, tmp_path, port):
    closed = NetworkPolicy(network_mode=NetworkMode.NO_NETWORK)
    opened = NetworkPolicy(network_mode=NetworkMode.ALLOWLIST, allowed_hosts=["127.0.0.1"])
    made = environment(tmp_path, phases=[closed, opened])
    await made.start(force_build=False)
    try:
        connect = f"import socket; print(socket.socket().connect_ex(('192.0.0.1', {port})))"
        for policy in (closed, opened, closed):
            await made.set_network_policy(policy)
            result = await made.exec(f'python3 -c "{connect}"')
            assert result.return_code == 0, result
            assert (result.stdout == "0\n") == (policy == opened), policy
    finally:
        await made.stop(delete=True)


async def test_a_kept_sandbox_goes_on_and_the_environments_files_are_in_it(home, tmp_path):
    made = environment(tmp_path, session="kept__1__env", config={"workdir": "/work"})
    (tmp_path / "environment/data.txt").write_text("data\n")
    await made.start(force_build=False)
    await made.stop(delete=False)
    async with AsyncMsb() as client:
        (info,) = await client.sandboxes.list(labels={"harbor-msb": "kept__1__env"})
        kept = await client.sandboxes.get(info.name)
        assert await kept.files.read_text("/work/data.txt") == "data\n"
        await kept.remove(force=True)


def test_nothing_is_left(home, started):
    """The only sandbox is that of this module."""
    assert len(left()) == 1
