"""The asynchronous client with a machine."""

import asyncio
import gc
import warnings

import pytest
from msb import errors

from .conftest import IMAGE, count, eventually

pytestmark = pytest.mark.machine


def test_the_vertical_slice(with_async):
    async def main(sandbox):
        output = await sandbox.exec(["cat"], stdin=b"through")
        assert output.stdout == b"through"
        await sandbox.files.write("/tmp/async", "content")
        assert await sandbox.files.read_text("/tmp/async") == "content"
        async with sandbox.spawn(["sh", "-c", "echo a; echo b >&2"]) as process:
            events = {event.stream: event.data async for event in process}
            assert events == {"stdout": b"a\n", "stderr": b"b\n"}
            assert (await process.wait()).code == 0
        process = await sandbox.spawn(["echo", "awaited"])
        assert await process.stdout.read() == b"awaited\n"
        await process.close()
        with pytest.raises(errors.PathNotFound):
            await sandbox.files.read("/none")

    with_async(main)


def test_a_stream_survives_a_cancelled_wait(with_async):
    async def main(sandbox):
        async with sandbox.spawn(["sh", "-c", "sleep 1.5; echo late"]) as process:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(process.next(), 0.5)
            event = await process.next()
            assert event.data == b"late\n"
        job = await sandbox.jobs.start(["sh", "-c", "sleep 1.5; echo late"])
        logs = job.logs(follow=True)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(logs.__anext__(), 0.5)
        assert [record.data async for record in logs] == [b"late\n"]

    with_async(main)


def test_the_event_loop_is_never_blocked_until_the_client_ended_its_sandboxes(environment):
    ticks = 0
    during = {}

    async def ticker():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    async def counted(name, call):
        before = ticks
        result = await call
        during[name] = ticks - before
        return result

    async def main():
        client = environment.async_msb()
        ticking = asyncio.ensure_future(ticker())
        starting = client.sandboxes.run(IMAGE, name="client", memory="256M", cpus=1)
        sandbox = await counted("run", starting)
        await counted("exec", sandbox.exec(["sleep", "1"]))
        await counted("close", client.close())
        ticking.cancel()
        return sandbox

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        sandbox = asyncio.run(main())
        assert eventually(lambda: not environment.is_left("client"))
        del sandbox
        gc.collect()
    # A call that blocks the loop lets nothing tick. The machine is shared, so the times of the ticks prove nothing.
    assert min(during.values()) > 3, during


def test_a_cancelled_start_leaves_nothing(environment):
    async def attempt(client, number, delay):
        task = asyncio.ensure_future(
            client.sandboxes.run(IMAGE, name="cancelled", memory="256M")._opening
        )
        await asyncio.sleep(delay)
        task.cancel()
        try:
            sandbox = await task
            await sandbox.close()
        except asyncio.CancelledError:
            pass
        deadline = asyncio.get_running_loop().time() + 60
        while True:
            left = [info.name for info in await client.sandboxes.list()]
            if "cancelled" not in left:
                return
            assert asyncio.get_running_loop().time() < deadline, f"attempt {number} left {left}"
            await asyncio.sleep(0.05)

    async def main():
        async with environment.async_msb() as client:
            delays = (
                [0, 0.05, 0.3, 1.0] if count(0, 1) == 0 else [0.1 * n for n in range(10)] + [2, 4]
            )
            for number, delay in enumerate(delays):
                await attempt(client, number, delay)

    asyncio.run(main())
