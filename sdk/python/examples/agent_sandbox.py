"""Keep one sandbox for everything that an agent does."""

import asyncio

from msb import AsyncMsb, AsyncSandbox, CommandTimeout


async def run_code(sandbox: AsyncSandbox, code: str) -> str:
    await sandbox.files.write("/work/step.py", code, parents=True)
    try:
        output = await sandbox.exec(["python3", "step.py"], cwd="/work", timeout=60)
    except CommandTimeout as error:
        return error.stdout.decode() + "[timed out]"
    return output.text + output.error_text


async def main() -> None:
    async with AsyncMsb() as msb, msb.sandboxes.run("python:3-slim", memory="512M") as sandbox:
        print(await run_code(sandbox, "open('note', 'w').write('remembered')"), end="")
        print(await run_code(sandbox, "print(open('note').read())"), end="")


if __name__ == "__main__":
    asyncio.run(main())
