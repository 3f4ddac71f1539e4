"""Commands in a running sandbox."""

import asyncio
import gc
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from msb import errors

from .conftest import count, eventually, guest_pid, is_alive

pytestmark = pytest.mark.machine

FOREVER = "echo $$ > {path}; exec sleep 1000"


def forever(path):
    return ["/bin/sh", "-c", FOREVER.format(path=path)]


def test_exit_codes_are_the_commands_own(sandbox):
    codes = range(256) if count(0, 1) else [0, 1, 128, 255]
    for code in codes:
        assert sandbox.exec(["sh", "-c", f"exit {code}"]).exit_code == code


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


# Prints the names of the guest's processes, without those of its kernel, which come and go.
PROCESSES = """
import glob
for path in glob.glob("/proc/[0-9]*/stat"):
    try: text = open(path).read()
    except OSError: continue
    name, rest = text.rsplit(")", 1)
    if rest.split()[1] != "2" and name != "2 (kthreadd": print(name.split("(", 1)[1])
"""


def guest_processes(sandbox) -> list[str]:
    return sorted(sandbox.exec(["python3", "-c", PROCESSES]).text.splitlines())


def test_options_of_a_command(sandbox):
    output = sandbox.shell(
        "echo $A-$(pwd)-$(id -un)-$(ulimit -n)",
        env={"A": "a b"},
        cwd="/tmp",
        user="nobody",
        ulimits={"nofile": 99},
        check=True,
    )
    assert output.text == "a b-/tmp-nobody-99\n"


def test_text_is_not_cut_within_a_character(sandbox):
    code = "import os,time\nfor b in 'äöü€\\U0001f980'.encode(): os.write(1, bytes([b])); time.sleep(0.01)"
    with sandbox.spawn(["python3", "-c", code]) as process:
        events = list(process.text())
    assert "".join(event.text for event in events) == "äöü€\U0001f980"
    assert all("\ufffd" not in event.text for event in events)
    with sandbox.spawn(["printf", r"a\303"]) as process:
        assert "".join(process.stdout.text()) == "a\ufffd"
    with sandbox.spawn(["printf", r"one\r\ntwo\nthree"]) as process:
        assert list(process.stdout.lines()) == ["one", "two", "three"]
    with sandbox.spawn(["printf", "0123456789"]) as process:
        assert process.stdout.read(3) == b"012"
        assert process.stdout.read(100) == b"3456789"
        assert process.stdout.read(1) == b""


def test_output_beyond_its_limit_kills_and_carries_the_output(sandbox):
    before = resident_bytes()
    with pytest.raises(errors.OutputLimit) as caught:
        sandbox.exec(["sh", "-c", "echo $$ > /tmp/limit; exec yes"])
    assert len(caught.value.stdout) >= 32 << 20
    assert resident_bytes() - before < 96 << 20
    pid = guest_pid(sandbox, "/tmp/limit")
    assert eventually(lambda: not is_alive(sandbox, pid))


def test_cancelled_tasks_kill_their_commands(sandbox, with_async):
    async def cancelled(client, path):
        task = asyncio.ensure_future(client.exec(forever(path)))
        pid = await asyncio.to_thread(guest_pid, sandbox, path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pid

    async def main(client):
        return [await cancelled(client, f"/tmp/cancel-{number}") for number in range(count(3, 50))]

    pids = with_async(main)
    assert eventually(lambda: not any(is_alive(sandbox, pid) for pid in pids))


def test_leaving_an_iteration_kills_the_command(sandbox, with_async):
    script = ["sh", "-c", "echo $$ > /tmp/leave; while :; do echo line; sleep 0.1; done"]

    async def main(client):
        async with client.spawn(script) as process:
            async for event in process:
                assert event.data
                break

    with_async(main)
    pid = guest_pid(sandbox, "/tmp/leave")
    assert eventually(lambda: not is_alive(sandbox, pid))
    with sandbox.spawn(forever("/tmp/leave-sync")) as process:
        pid = guest_pid(sandbox, "/tmp/leave-sync")
        assert process.pid == pid
    assert eventually(lambda: not is_alive(sandbox, pid))


def test_a_forgotten_process_is_killed(sandbox):
    process = sandbox.spawn(forever("/tmp/forgotten"))
    pid = guest_pid(sandbox, "/tmp/forgotten")
    del process
    assert eventually(lambda: not is_alive(sandbox, pid))


def test_stdin_is_written_and_closed(sandbox):
    with sandbox.spawn(["cat"], stdin=True) as process:
        process.stdin.write(b"one ")
        process.stdin.write("two ä")
        process.stdin.close()
        assert process.stdout.read() == "one two ä".encode()
        assert process.wait().code == 0
    with sandbox.spawn(["cat"]) as process, pytest.raises(errors.InvalidArgument):
        process.stdin.write(b"x")


def test_a_reader_that_ends_early_is_no_hang(sandbox):
    assert sandbox.exec(["head", "-c", "1"], stdin=b"x" * (4 << 20), timeout=30).stdout == b"x"
    with sandbox.spawn(["true"], stdin=True) as process:
        process.wait()
        with pytest.raises(errors.NotRunning):
            for _ in range(1000):
                process.stdin.write(b"x" * 65536)


def test_a_terminal_has_a_size_and_takes_control_characters(sandbox):
    with sandbox.spawn(
        ["sh", "-c", "stty size; read x; stty size; exec cat"], tty=(20, 70), stdin=True
    ) as process:
        lines = process.stdout.lines()
        assert next(lines) == "20 70"
        process.resize(30, 90)
        process.stdin.write(b"\n")
        assert next(lines) == ""
        assert next(lines) == "30 90"
        process.stdin.write(b"\x03")
        assert process.wait().code == 130
    output = sandbox.exec(["seq", "1", "20000"], tty=True)
    assert output.text.split() == [str(number) for number in range(1, 20001)]


def test_a_stopped_reader_stops_the_writer(sandbox):
    code = "import sys\nwhile True:\n sys.stdout.buffer.write(b'x' * 65536); open('/tmp/count', 'a').write('x')"
    before = resident_bytes()
    with sandbox.spawn(["python3", "-c", code]) as process:
        assert process.next()
        sizes = []

        def has_stopped():
            time.sleep(0.4)
            sizes.append(sandbox.files.stat("/tmp/count").size_bytes)
            return len(sizes) > 1 and sizes[-1] == sizes[-2]

        assert eventually(has_stopped)
        assert sizes[-1] * 65536 < 32 << 20
    assert resident_bytes() - before < 32 << 20


def test_much_output_needs_little_memory(sandbox):
    size = count(24, 100) << 20
    code = f"import sys\nfor n in range({size >> 20}): sys.stdout.buffer.write(bytes([n % 251]) * (1 << 20))"
    expected = hashlib.sha256()
    for number in range(size >> 20):
        expected.update(bytes([number % 251]) * (1 << 20))
    found, peak = hashlib.sha256(), 0
    before = resident_bytes()
    with sandbox.spawn(["python3", "-c", code]) as process:
        for number, data in enumerate(process.stdout):
            found.update(data)
            if number % 16 == 0:
                peak = max(peak, resident_bytes() - before)
    assert found.hexdigest() == expected.hexdigest()
    assert peak < 32 << 20


def test_commands_leak_nothing(sandbox):
    for _warm in range(count(10, 50)):
        sandbox.exec(["true"])
    gc.collect()
    before = descriptors(), threads()
    processes = guest_processes(sandbox)
    memory = resident_bytes()
    for _run in range(count(100, 1000)):
        sandbox.exec(["true"])
    assert resident_bytes() - memory < 8 << 20
    # The agent collects what has ended a moment after its answer.
    assert eventually(lambda: guest_processes(sandbox) == processes)
    # Threads that wait for work end after a while.
    assert eventually(lambda: descriptors() <= before[0] and threads() <= before[1])


def test_many_commands_run_at_once(sandbox, with_async):
    async def main(client):
        first = [client.exec(["sh", "-c", f"sleep 0.5; echo {n}"]) for n in range(count(24, 64))]
        outputs = await asyncio.gather(*first)
        assert [int(output.text) for output in outputs] == list(range(len(first)))
        # More than the streams of one connection: the rest waits.
        second = [client.exec(["true"]) for _ in range(count(60, 300))]
        assert {output.exit_code for output in await asyncio.gather(*second)} == {0}

    with_async(main)


def test_other_threads_run_during_a_command(sandbox):
    def speed(seconds):
        number, end = 0, time.thread_time() + seconds
        while time.thread_time() < end:
            number += 1
        return number

    def best():
        return max(speed(0.2) for _ in range(10))

    # The best of several measurements of the thread's processor time: others share the machine.
    alone = best()
    with sandbox.spawn(["sleep", "1000"]) as process:
        waiting = threading.Thread(target=process.wait)
        waiting.start()
        time.sleep(0.2)
        beside = best()
        assert waiting.is_alive()
        process.kill()
        waiting.join()
    assert beside >= 0.8 * alone


CTRL_C = """
import signal, sys, threading, msb
# A shell that starts the tests in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
client = msb.Msb()
sandbox = client.sandboxes.get(sys.argv[1])
try:
    print("ready", flush=True)
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    "call",
    ["sandbox.exec(['sh', '-c', 'echo $$ > /tmp/ctrl-c; exec sleep 1000'])", "sandbox.wait()"],
)
def test_ctrl_c_ends_a_synchronous_call(environment, sandbox, call):
    command = [sys.executable, "-c", CTRL_C.format(call=call), sandbox.name]
    started = subprocess.Popen(
        command, env=environment.variables(), stdout=subprocess.PIPE, text=True
    )
    assert started.stdout.readline() == "ready\n"
    if "exec" in call:
        pid = guest_pid(sandbox, "/tmp/ctrl-c")
    else:
        time.sleep(1)
    started.send_signal(signal.SIGINT)
    assert started.stdout.readline() == "interrupted\n"
    assert started.wait(60) == 0
    started.stdout.close()
    if "exec" in call:
        assert eventually(lambda: not is_alive(sandbox, pid))
