"""Run sandboxes, and commands in them, at the same time."""

import asyncio

from msb import AsyncMsb


async def work(msb: AsyncMsb, number: int) -> int:
    async with msb.sandboxes.run("python:3-slim", cpus=1, memory="256M") as sandbox:
        commands = [sandbox.shell(f"echo $(({number} * {factor}))") for factor in range(4)]
        outputs = await asyncio.gather(*commands)
        return sum(int(output.text) for output in outputs)


async def main() -> None:
    async with AsyncMsb() as msb:
        print(await asyncio.gather(*(work(msb, number) for number in range(1, 3))))


if __name__ == "__main__":
    asyncio.run(main())
