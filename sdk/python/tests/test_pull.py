"""Pulls from a registry of the test's own, without a machine."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from msb import AsyncMsb, Msb, errors

from .conftest import eventually, module_path
from .registry import Registry, digest, serve

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/pull_progress.py"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def registry():
    with serve(Registry(layers=3, size=1 << 20)) as registry:
        yield registry


def test_the_progress_of_a_pull_adds_up(home, registry):
    with Msb(home=home) as client, client.images.pull(registry.name, watch=True) as pull:
        assert pull.image is None
        events = list(pull)
        image = pull.image
    assert [event.type for event in events[:2]] == ["resolving", "image"]
    sizes = {layer["diff_id"]: layer["size_bytes"] for layer in events[1].rest["layers"]}
    assert sizes == {digest(blob): len(blob) for blob in registry.layers}
    read = dict.fromkeys(sizes, 0)
    for event in events:
        if event.type == "layer-bytes":
            read[event.diff_id] += event.bytes
    assert read == sizes
    done = {event.diff_id for event in events if event.type == "layer-done"}
    assert done == set(sizes)
    assert image.digest == digest(registry.manifest)
    assert image.info.layer_count == 3


def test_an_image_is_pulled_found_inspected_and_removed(home, registry):
    with Msb(home=home) as client:
        image = client.images.pull(registry.name)
        assert [found.digest for found in client.images.list()] == [image.digest]
        assert client.images.get(registry.name).reference == image.reference
        assert len(image.inspect()["layers"]) == 3
        with client.images.pull(registry.name, watch=True) as again:
            assert again.result().digest == image.digest
        removed = client.images.remove(registry.name)
        assert removed.digest == image.digest
        assert removed.freed_bytes > 3 << 20
        assert client.images.prune(all=True, dry_run=True).images == []


def test_a_cancelled_pull_keeps_its_finished_layers(home, registry):
    registry.held = {digest(registry.layers[2])}

    async def main():
        async with AsyncMsb(home=home) as client:
            done = 0
            async with client.images.pull(registry.name, watch=True) as pull:
                async for event in pull:
                    done += event.type == "layer-done"
                    if done == 2:
                        break
            registry.release.set()
            registry.held = set()
            present = 0
            async with client.images.pull(registry.name, watch=True) as pull:
                async for event in pull:
                    present += event.type == "layer-present"
            return present

    assert asyncio.run(main()) == 2


def test_a_cancelled_task_ends_the_pull(home, registry):
    registry.held = {digest(blob) for blob in registry.layers}

    async def main():
        async with AsyncMsb(home=home) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.images.pull(registry.name), 0.5)
            return await client.images.list()

    assert asyncio.run(main()) == []


def test_an_image_that_the_registry_does_not_have(home, registry):
    with Msb(home=home) as client, pytest.raises(errors.ImageNotFound):
        client.images.pull(registry.name.replace("latest", "none"))
    with Msb(home=home) as client, pytest.raises(errors.InvalidArgument):
        client.images.pull("Not A Name")


PULLER = """
import signal, sys, msb
# A shell that starts the tests in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
client = msb.Msb()
try:
    print("ready", flush=True)
    client.images.pull(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_pull(home, registry):
    registry.held = {digest(blob) for blob in registry.layers}
    variables = {**os.environ, "MSB_HOME": str(home), "PYTHONPATH": module_path()}
    command = [sys.executable, "-c", PULLER, registry.name]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout.readline() == "ready\n"
        # The layers do not come, so the pull ends by the signal alone.
        assert eventually(lambda: registry.asked & registry.held)
        started.send_signal(signal.SIGINT)
        assert started.stdout.readline() == "interrupted\n"
        assert started.wait(60) == 0
        assert started.stdout.read() == ""


def test_the_event_loop_runs_during_a_pull(home):
    ticks = 0

    async def ticker():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    async def main(name):
        async with AsyncMsb(home=home) as client:
            ticking = asyncio.ensure_future(ticker())
            await client.images.pull(name)
            await client.images.remove(name)
            ticking.cancel()

    with serve(Registry(layers=4, size=4 << 20)) as registry:
        asyncio.run(main(registry.name))
    # A pull that blocks the loop lets nothing tick.
    assert ticks > 10


SERVER = """
import sys, time
from tests.registry import Registry, serve
with serve(Registry(layers=4, size=16 << 20)) as registry:
    print(registry.name, flush=True)
    sys.stdin.read()
"""


def test_other_threads_run_during_a_pull(home):
    """The registry is another process, so that it does not share the interpreter."""
    passes = 0

    def work():
        nonlocal passes
        while not is_done.is_set():
            passes += 1

    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", SERVER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=root, **pipes) as server, Msb(home=home) as client:
        name = server.stdout.readline().strip()
        is_done = threading.Event()
        worker = threading.Thread(target=work)
        worker.start()
        begun, passes_before = time.monotonic(), passes
        client.images.pull(name)
        speed = (passes - passes_before) / (time.monotonic() - begun)
        # The same with a main thread that only sleeps.
        begun, passes_before = time.monotonic(), passes
        time.sleep(0.5)
        alone = (passes - passes_before) / (time.monotonic() - begun)
        is_done.set()
        worker.join()
        server.stdin.close()
    # A pull takes the processors from the worker, too; one that kept the interpreter would leave none.
    assert speed > 0.2 * alone


def test_the_example_shows_the_progress(home, registry):
    variables = {**os.environ, "MSB_HOME": str(home), "PYTHONPATH": module_path()}
    command = [sys.executable, str(EXAMPLE), registry.name]
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    *progress, last = ended.stdout.splitlines()
    size = sum(len(blob) for blob in registry.layers)
    assert progress[-1] == f"{size} of {size} bytes"
    assert last == digest(registry.manifest)
