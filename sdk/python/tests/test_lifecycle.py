"""The life of sandboxes: created, owned, detached, killed."""

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
from msb import errors

from .conftest import IMAGE, count, eventually

pytestmark = pytest.mark.machine

SMALL = {"memory": "256M", "cpus": 1}


def is_left(client, name):
    return any(info.name == name for info in client.sandboxes.list())


def test_a_main_command_is_attached_and_what_ends_with_its_scope_is_removed(client):
    command = ["sh", "-c", "echo started; read line; echo got $line; exit 3"]
    options = {"name": "scope", "command": command, "stdin": True, "wait_for_attach": True}
    with (
        pytest.raises(ZeroDivisionError),
        client.sandboxes.run(IMAGE, **options, **SMALL) as sandbox,
    ):
        process = sandbox.attach()
        assert sandbox.is_owned
        assert sandbox.ports == []
        with pytest.raises(errors.NameTaken):
            client.sandboxes.run(IMAGE, name="scope", **SMALL)
        stats = sandbox.stats()
        assert stats.memory_limit_bytes == 256 << 20
        assert next(iter(sandbox.watch_stats(0.1))).name == "scope"
        process.stdin.write("input\n")
        assert process.stdout.read() == b"started\ngot input\n"
        assert process.wait().code == 3
        assert sandbox.wait(30).code == 3
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


def test_a_clean_up_that_fails_is_told_and_made_up_for(environment, client, tmp_path):
    """No descriptor can be opened at the end of the scope. A foreign msb in PATH is never started."""
    foreign = tmp_path / "msb"
    foreign.write_text(f"#!/bin/sh\necho started >> {tmp_path}/started\necho msb 0.7.11\n")
    foreign.chmod(0o755)
    command = [sys.executable, "-W", "always", "-c", FAILING, IMAGE, "unclean"]
    variables = {**environment.variables(), "PYTHONWARNINGS": ""}
    variables["PATH"] = f"{tmp_path}:{variables['PATH']}"
    ended = subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "of the block\n"), ended.stderr
    assert "cannot close sandbox unclean: " in ended.stderr
    # The owner's end makes up for it.
    assert eventually(lambda: not is_left(client, "unclean"))
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
    assert eventually(lambda: not is_left(client, "forgotten"))


STARTER = """
import signal, sys, msb
# A shell that starts the tests in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
client = msb.Msb()
try:
    print("ready", flush=True)
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
    assert eventually(lambda: is_left(client, "interrupted"))
    started.send_signal(signal.SIGINT)
    assert started.stdout.readline() == "interrupted\n"
    assert started.wait(60) == 0
    started.stdout.close()
    assert eventually(lambda: not is_left(client, "interrupted"))


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
            "exec": lambda: sandbox.exec(["sh", "-c", "touch /tmp/runs; exec sleep 1000"]),
            "next": process.next,
            "wait": sandbox.wait,
            "follow": lambda: list(sandbox.logs(follow=True)),
        }
        threads = [threading.Thread(target=outcome, args=call) for call in calls.items()]
        for thread in threads:
            thread.start()
        assert eventually(lambda: sandbox.files.exists("/tmp/runs"))
        # The other calls do not tell that they wait.
        time.sleep(1)
        os.kill(sandbox.inspect().machine_pid, signal.SIGKILL)
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
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
        lambda: (processes(), set(os.listdir(environment.home / "sandboxes"))) == before
    )


FORKER = """
import os, sys, time, msb
client = msb.Msb()
run = lambda name: client.sandboxes.run(sys.argv[1], name=name, memory="256M", cpus=1)
owned, kept = run("owned"), run("kept")
kept.detach()
child = os.fork()
if child == 0:
    try:
        owned.exec(["true"])
    except msb.ForkedError:
        time.sleep(1000)
    os._exit(1)
print(child, owned.exec(["echo", "parent"]).text, end="", flush=True)
time.sleep(1000)
"""


def test_a_killed_owner_takes_its_sandbox_along_though_a_forked_child_lives(environment, client):
    command = [sys.executable, "-c", FORKER, IMAGE]
    parent = subprocess.Popen(
        command, env=environment.variables(), stdout=subprocess.PIPE, text=True
    )
    child, word = parent.stdout.readline().split()
    try:
        assert word == "parent"
        home = str(environment.home)
        held = [os.readlink(f"/proc/{child}/fd/{fd}") for fd in os.listdir(f"/proc/{child}/fd")]
        assert not [path for path in held if path.startswith(home)]
        parent.kill()
        parent.wait()
        assert eventually(lambda: not is_left(client, "owned"))
        # It was detached.
        kept = client.sandboxes.get("kept")
        assert kept.exec(["true"]).exit_code == 0
        kept.remove(force=True)
    finally:
        os.kill(int(child), signal.SIGKILL)
        parent.stdout.close()
