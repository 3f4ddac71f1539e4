"""Measures the time of a command in a running sandbox, by both clients, and prints the medians in µs as JSON."""

import asyncio
import json
import statistics
import sys
import time

from msb import AsyncMsb, Msb

PROGRAM = ["/bin/true"]
WARM_UP = 50


def synchronous(name: str, count: int) -> float:
    with Msb() as msb:
        sandbox = msb.sandboxes.get(name)
        times = []
        for _call in range(WARM_UP + count):
            begun = time.perf_counter_ns()
            sandbox.exec(PROGRAM)
            times.append(time.perf_counter_ns() - begun)
    return statistics.median(times[WARM_UP:]) / 1000


async def asynchronous(name: str, count: int) -> float:
    async with AsyncMsb() as msb:
        sandbox = await msb.sandboxes.get(name)
        times = []
        for _call in range(WARM_UP + count):
            begun = time.perf_counter_ns()
            await sandbox.exec(PROGRAM)
            times.append(time.perf_counter_ns() - begun)
    return statistics.median(times[WARM_UP:]) / 1000


def main() -> None:
    name, count = sys.argv[1], int(sys.argv[2])
    medians = {"python": synchronous(name, count), "python async": asyncio.run(asynchronous(name, count))}
    print(json.dumps(medians))


main()
