"""Clients without a machine."""

import asyncio
import gc
import http.client
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import warnings

import msb
import pytest
from msb import AsyncMsb, Msb, errors

from .conftest import count, eventually, module_path


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def test_a_client_tells_its_version(home):
    with Msb(home=home) as client:
        assert client.version.msb == msb.__version__
        assert client.sandboxes.list() == []
        assert client.images.list() == []
        assert client.volumes.list() == []
    client.close()
    with pytest.raises(errors.NotRunning):
        client.sandboxes.list()


def test_volumes_are_created_listed_and_removed(home):
    with Msb(home=home) as client:
        volume = client.volumes.create("cache", "64M", labels={"a": "b"})
        assert (volume.name, volume.info.size_bytes) == ("cache", 64 << 20)
        with pytest.raises(errors.NameTaken):
            client.volumes.create("cache")
        assert [found.name for found in client.volumes.list()] == ["cache"]
        volume.remove()
        assert client.volumes.list() == []


def test_a_call_that_runs_when_the_client_closes_fails(home):
    async def main():
        client = AsyncMsb(home=home)
        calls = [asyncio.ensure_future(client.sandboxes.list()) for _ in range(20)]
        await asyncio.sleep(0)
        await client.close()
        return await asyncio.gather(*calls, return_exceptions=True)

    results = asyncio.run(main())
    assert len(results) == 20
    for result in results:
        assert result == [] or getattr(result, "code", None) == "client-closed"


def test_the_synchronous_client_warns_once_in_an_event_loop(home):
    async def main(client):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            client.sandboxes.list()
            client.sandboxes.list()
        return caught

    with Msb(home=home) as client:
        caught = asyncio.run(main(client))
    assert len(caught) == 1
    assert "AsyncMsb" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_the_asynchronous_client_works_in_successive_loops(home):
    client = AsyncMsb(home=home)
    for _loop in range(3):
        assert asyncio.run(client.sandboxes.list()) == []
    asyncio.run(client.close())


def test_the_asynchronous_client_works_under_uvloop(home):
    import uvloop

    client = AsyncMsb(home=home)
    assert uvloop.run(client.sandboxes.list()) == []
    uvloop.run(client.close())


def test_trio_is_refused_clearly(home):
    import trio

    client = AsyncMsb(home=home)
    with pytest.raises(errors.Unsupported) as caught:
        trio.run(client.sandboxes.list)
    assert "trio.to_thread" in caught.value.hint
    asyncio.run(client.close())


def test_the_asynchronous_client_works_under_anyio(home):
    import anyio

    client = AsyncMsb(home=home)
    assert anyio.run(client.sandboxes.list, backend="asyncio") == []
    with pytest.raises(errors.Unsupported):
        anyio.run(client.sandboxes.list, backend="trio")
    anyio.run(client.close)


def test_one_client_serves_many_threads(home):
    results = []
    with Msb(home=home) as client:
        work = lambda: results.extend(client.sandboxes.list() == [] for _ in range(20))  # noqa: E731
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [True] * 160


def test_a_forked_child_is_refused_and_the_parent_goes_on(home):
    with Msb(home=home) as client:
        assert client.sandboxes.list() == []
        child = os.fork()
        if child == 0:
            code = 1
            try:
                client.sandboxes.list()
            except errors.ForkedError:
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert client.sandboxes.list() == []


def test_a_forked_child_opens_a_client_of_its_own(home):
    client = Msb(home=home)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with Msb(home=home) as own:
                code = 0 if own.sandboxes.list() == [] else 2
            # The parent's client is given up without an effect on the parent.
            del client
            gc.collect()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert client.sandboxes.list() == []
    client.close()


def _list_in_child(home, parent_client, results):
    """Runs in another process."""
    try:
        found = (parent_client or Msb(home=home)).sandboxes.list()
    except errors.MsbError as error:
        found = error.code
    results.put(found)


@pytest.mark.parametrize(
    ("method", "is_shared", "expected"),
    [
        ("fork", True, "forked-error"),
        ("fork", False, []),
        ("spawn", False, []),
        ("forkserver", False, []),
    ],
)
def test_processes_of_multiprocessing(home, method, is_shared, expected):
    context = multiprocessing.get_context(method)
    with Msb(home=home) as client:
        results = context.SimpleQueue()
        shared = client if is_shared else None
        child = context.Process(target=_list_in_child, args=(home, shared, results))
        child.start()
        assert results.get() == expected
        child.join(10)
        assert child.exitcode == 0
        assert client.sandboxes.list() == []


SERVED = """
import msb
client = msb.Msb()
client.sandboxes.list()
def application(environ, start_response):
    try:
        found = client.sandboxes.list()
    except msb.ForkedError as error:
        found = error.code
    with msb.Msb() as own:
        answer = f"{found} {own.sandboxes.list()}"
    start_response("200 OK", [])
    return [answer.encode()]
"""


def test_workers_of_gunicorn_open_clients_of_their_own(home, tmp_path):
    (tmp_path / "served.py").write_text(SERVED)
    path = tmp_path / "socket"
    variables = {**os.environ, "MSB_HOME": str(home), "PYTHONPATH": module_path()}
    words = ["--preload", "--workers=2", f"--bind=unix:{path}", "--no-control-socket"]
    command = [sys.executable, "-m", "gunicorn", *words, "served:application"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True
    ) as served:
        try:
            assert eventually(lambda: path.exists() or served.poll() is not None)
            for _request in range(4):
                connection = http.client.HTTPConnection("localhost", timeout=60)
                connection.sock = unix_socket(path)
                connection.request("GET", "/")
                assert connection.getresponse().read() == b"forked-error []"
                connection.close()
        finally:
            served.terminate()
            said = served.stderr.read()
    assert served.returncode == 0, said


def unix_socket(path):
    """Returns a connection to a socket of a server that may not listen yet."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    assert eventually(lambda: connection.connect_ex(str(path)) == 0)
    return connection


EXITS = {
    "unused": "import msb",
    "opened": "import msb; client = msb.Msb()",
    "used": "import msb; client = msb.Msb(); client.sandboxes.list()",
    "daemon thread": """
import msb, threading
client = msb.Msb()
def work():
    while True:
        client.sandboxes.list()
threading.Thread(target=work, daemon=True).start()
client.sandboxes.list()
""",
    "unfinished tasks": """
import asyncio, msb
async def main():
    client = msb.AsyncMsb()
    global tasks
    tasks = [asyncio.ensure_future(client.sandboxes.list()) for _ in range(50)]
    await asyncio.sleep(0)
asyncio.run(main())
""",
    "forked child": """
import msb, os
client = msb.Msb(); client.sandboxes.list()
child = os.fork()
if child: os.waitpid(child, 0)
""",
}


@pytest.mark.parametrize("name", EXITS)
def test_the_interpreter_ends_silently(home, name):
    variables = {**os.environ, "MSB_HOME": str(home), "PYTHONPATH": module_path()}
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", EXITS[name]]
    for _run in range(count(2, 40)):
        ended = subprocess.run(
            command, env=variables, capture_output=True, timeout=300, check=False
        )
        assert (ended.returncode, ended.stderr) == (0, b"")
