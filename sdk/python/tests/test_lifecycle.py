"""The life of sandboxes: created, owned, detached, killed."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import msb
import pytest
from msb import SandboxState, Stopped, errors

from .conftest import IMAGE, count, eventually

pytestmark = pytest.mark.machine

SMALL = {"memory": "256M", "cpus": 1}


def is_left(client, name):
    return any(info.name == name for info in client.sandboxes.list())


def test_a_sandbox_is_created_started_stopped_and_removed(client, tmp_path):
    sandbox = client.sandboxes.create(IMAGE, name="kept", labels={"kind": "test"}, **SMALL)
    assert not sandbox.is_owned
    assert sandbox.inspect().state is SandboxState.CREATED
    with pytest.raises(errors.NameTaken):
        client.sandboxes.create(IMAGE, name="kept")
    with pytest.raises(errors.NotRunning):
        sandbox.exec(["true"])
    sandbox.start()
    with pytest.raises(errors.SandboxRunning):
        sandbox.start()
    with pytest.raises(errors.SandboxRunning):
        sandbox.remove()
    with pytest.raises(TimeoutError):
        sandbox.wait(0.2)
    sandbox.files.write("/root/kept", "kept")
    assert sandbox.stop() is Stopped.CLEANLY
    assert sandbox.stop() is Stopped.NOT_RUNNING
    assert sandbox.wait().code == 0
    # Files of a stopped sandbox can be read.
    assert sandbox.files.read_text("/root/kept") == "kept"
    with pytest.raises(errors.NotRunning):
        sandbox.files.write("/root/kept", "changed")
    sandbox.files.download("/root/kept", tmp_path / "kept")
    assert (tmp_path / "kept").read_text() == "kept"
    sandbox.rename("renamed")
    sandbox.update(memory="300M")
    assert client.sandboxes.get("renamed").inspect().memory_mib == 300
    assert [info.name for info in client.sandboxes.list(labels={"kind": "test"})] == ["renamed"]
    assert client.sandboxes.list(state="running", name="renamed") == []
    with pytest.raises(errors.ImageInUse):
        client.images.remove(IMAGE)
    sandbox.remove()
    with pytest.raises(errors.SandboxNotFound):
        sandbox.inspect()


def test_the_main_command_is_attached_logged_and_waited_for(client):
    command = ["sh", "-c", "echo started; read line; echo got $line; exit 3"]
    options = {"name": "main", "command": command, "stdin": True, "wait_for_attach": True}
    with client.sandboxes.run(IMAGE, **options, **SMALL) as sandbox:
        process = sandbox.attach()
        process.stdin.write("input\n")
        assert process.stdout.read() == b"started\ngot input\n"
        assert process.wait().code == 3
        assert sandbox.wait(30).code == 3


def test_what_ends_with_its_scope_is_removed(client):
    with (
        pytest.raises(ZeroDivisionError),
        client.sandboxes.run(IMAGE, name="scope", **SMALL) as sandbox,
    ):
        assert sandbox.is_owned
        assert sandbox.ports == []
        with pytest.raises(errors.NameTaken):
            client.sandboxes.run(IMAGE, name="scope", **SMALL)
        stats = sandbox.stats()
        assert stats.memory_limit_bytes == 256 << 20
        assert next(iter(sandbox.watch_stats(0.1))).name == "scope"
        raise ZeroDivisionError
    assert not is_left(client, "scope")
    sandbox.close()
    with pytest.raises(errors.NotRunning):
        sandbox.exec(["true"])


FAILING = """
import resource, sys, msb
client = msb.Msb()
sandbox = client.sandboxes.run(sys.argv[1], name=sys.argv[2], memory="256M", cpus=1)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
try:
    with sandbox:
        raise ZeroDivisionError
except ZeroDivisionError:
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    print("of the block", flush=True)
"""


def test_a_clean_up_that_fails_is_told_and_made_up_for(environment, client):
    """No descriptor can be opened at the end of the scope."""
    command = [sys.executable, "-W", "always", "-c", FAILING, IMAGE, "unclean"]
    variables = {**environment.variables(), "PYTHONWARNINGS": ""}
    ended = subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "of the block\n"), ended.stderr
    assert "cannot close sandbox unclean: " in ended.stderr
    # The owner's end makes up for it.
    assert eventually(lambda: not is_left(client, "unclean"), 5)


def test_a_foreign_msb_in_path_is_never_started(environment, tmp_path):
    foreign = tmp_path / "msb"
    foreign.write_text(f"#!/bin/sh\necho started >> {tmp_path}/started\necho msb 0.7.11\n")
    foreign.chmod(0o755)
    code = f"import msb\nwith msb.Msb() as c, c.sandboxes.run({IMAGE!r}, memory='256M') as s:\n"
    code += "    print(s.exec(['echo', 'ours']).text, end='')\n"
    variables = environment.variables()
    variables["PATH"] = f"{tmp_path}:{variables['PATH']}"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "ours\n"), ended.stderr
    assert not (tmp_path / "started").exists()


def test_a_forgotten_sandbox_is_removed_with_a_warning(client):
    sandbox = client.sandboxes.run(IMAGE, name="forgotten", **SMALL)
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del sandbox
        gc.collect()
    said = [str(warning.message) for warning in caught if warning.category is ResourceWarning]
    assert said == ["sandbox forgotten was not closed; it ends now"]
    assert eventually(lambda: not is_left(client, "forgotten"), 5)


OWNER = """
import sys, time, msb
client = msb.Msb()
sandbox = client.sandboxes.run(sys.argv[1], name=sys.argv[2], memory="256M", cpus=1)
if sys.argv[3] == "detach":
    sandbox.detach()
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("mode", ["own", "detach"])
def test_an_owned_sandbox_ends_with_its_killed_owner(environment, client, mode):
    name = f"owner-{mode}"
    command = [sys.executable, "-c", OWNER, IMAGE, name, mode]
    owner = subprocess.Popen(
        command, env=environment.variables(), stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout.readline() == "ready\n"
    owner.kill()
    owner.wait()
    owner.stdout.close()
    if mode == "own":
        assert eventually(lambda: not is_left(client, name), 5)
    else:
        time.sleep(2)
        sandbox = client.sandboxes.get(name)
        assert sandbox.exec(["true"]).exit_code == 0
        sandbox.remove(force=True)


STARTER = """
import signal, sys, msb
# A shell that starts the tests in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
client = msb.Msb()
print("ready", flush=True)
try:
    client.sandboxes.run(sys.argv[1], name=sys.argv[2], memory="256M", cpus=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_during_a_start_leaves_nothing(environment, client):
    command = [sys.executable, "-c", STARTER, IMAGE, "interrupted"]
    started = subprocess.Popen(
        command, env=environment.variables(), stdout=subprocess.PIPE, text=True
    )
    assert started.stdout.readline() == "ready\n"
    # The sandbox exists, and its machine has not booted.
    assert eventually(lambda: is_left(client, "interrupted"), 30)
    start = time.monotonic()
    started.send_signal(signal.SIGINT)
    assert started.stdout.readline() == "interrupted\n"
    assert time.monotonic() - start < 0.5
    assert started.wait(10) == 0
    started.stdout.close()
    assert eventually(lambda: not is_left(client, "interrupted"), 5)


def test_the_end_of_the_machine_ends_every_call(environment, client):
    with client.sandboxes.run(IMAGE, name="ending", **SMALL) as sandbox:
        sandbox.files.write("/tmp/big", b"x" * (8 << 20))
        results = {}

        def outcome(name, call):
            try:
                results[name] = call()
            except Exception as error:  # noqa: BLE001
                results[name] = error

        process = sandbox.spawn(["sleep", "1000"])
        stream = sandbox.files.read_stream("/tmp/big")
        next(stream)
        calls = {
            "exec": lambda: sandbox.exec(["sleep", "1000"]),
            "next": process.next,
            "wait": sandbox.wait,
            "follow": lambda: list(sandbox.logs(follow=True)),
        }
        threads = [threading.Thread(target=outcome, args=call) for call in calls.items()]
        for thread in threads:
            thread.start()
        time.sleep(1)
        os.kill(sandbox.inspect().machine_pid, signal.SIGKILL)
        start = time.monotonic()
        for thread in threads:
            thread.join(10)
        assert time.monotonic() - start < 2 + 1
        outcome("read", lambda: stream.read())
        for name in ["exec", "next"]:
            assert isinstance(results[name], errors.SandboxEnded), (name, results[name])
        assert isinstance(results["read"], errors.MsbError | bytes)
        assert isinstance(results["wait"], msb.Exit)
        assert results["follow"] == []


def test_nothing_is_left_after_many_sandboxes(environment, client):
    def processes():
        listed = subprocess.run(
            ["ps", "-eo", "pid,stat,args"], capture_output=True, text=True, check=True
        )
        home = str(environment.home)
        mine = [
            line
            for line in listed.stdout.splitlines()
            if home in line or " Z" in line.split(None, 2)[1]
        ]
        return len([line for line in mine if home in line]), children()

    def children():
        listed = subprocess.run(
            ["ps", "--ppid", str(os.getpid()), "-o", "stat,args"],
            capture_output=True,
            text=True,
            check=False,
        )
        return len(
            [line for line in listed.stdout.splitlines()[1:] if not line.endswith("stat,args")]
        )

    before = processes(), set(os.listdir(environment.home / "sandboxes"))
    for _run in range(count(2, 20)):
        with client.sandboxes.run(IMAGE, **SMALL) as sandbox:
            assert sandbox.exec(["true"]).exit_code == 0
    assert eventually(
        lambda: (processes(), set(os.listdir(environment.home / "sandboxes"))) == before, 5
    )


FORKER = """
import os, sys, msb
client = msb.Msb()
sandbox = client.sandboxes.run(sys.argv[1], name=sys.argv[2], memory="256M", cpus=1)
child = os.fork()
if child == 0:
    try:
        sandbox.exec(["true"])
    except msb.ForkedError:
        import time; time.sleep(1000)
    os._exit(1)
print(child, sandbox.exec(["echo", "parent"]).text, end="", flush=True)
sandbox.close()
print("closed", flush=True)
os._exit(0)
"""


def test_a_forked_child_holds_nothing_of_the_sandbox(environment, client):
    command = [sys.executable, "-c", FORKER, IMAGE, "forked"]
    parent = subprocess.Popen(
        command, env=environment.variables(), stdout=subprocess.PIPE, text=True
    )
    child, word = parent.stdout.readline().split()
    try:
        assert word == "parent"
        assert parent.stdout.readline() == "closed\n"
        assert parent.wait(30) == 0
        assert not is_left(client, "forked")
        home = str(environment.home)
        held = [os.readlink(f"/proc/{child}/fd/{fd}") for fd in os.listdir(f"/proc/{child}/fd")]
        assert not [path for path in held if path.startswith(home)]
    finally:
        os.kill(int(child), signal.SIGKILL)
        parent.stdout.close()


def test_a_forked_child_does_not_keep_an_owned_sandbox_alive(environment, client):
    code = (
        FORKER.replace("sandbox.close()\n", "")
        .replace("os._exit(0)", "time.sleep(1000)")
        .replace("import os,", "import time, os,")
    )
    command = [sys.executable, "-c", code, IMAGE, "orphan"]
    parent = subprocess.Popen(
        command, env=environment.variables(), stdout=subprocess.PIPE, text=True
    )
    child = parent.stdout.readline().split()[0]
    try:
        assert parent.stdout.readline() == "closed\n"
        parent.kill()
        parent.wait()
        assert eventually(lambda: not is_left(client, "orphan"), 5)
    finally:
        os.kill(int(child), signal.SIGKILL)
        parent.stdout.close()


def test_owned_sandboxes_end_with_their_client(environment, client):
    async def main():
        owner = environment.async_msb()
        sandbox = await owner.sandboxes.run(IMAGE, name="client", **SMALL)
        await owner.close()
        return sandbox

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        sandbox = asyncio.run(main())
        assert eventually(lambda: not is_left(client, "client"), 5)
        del sandbox
        gc.collect()
