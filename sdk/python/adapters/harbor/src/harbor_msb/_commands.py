"""Commands in a sandbox, with the results and errors that Harbor expects."""

from __future__ import annotations

from collections.abc import Mapping

from harbor.environments.base import ExecResult, OutputCallback
from msb import AsyncSandbox, CommandTimeout

#: Most characters of a command's output that are kept; a sandbox decides how much it prints.
OUTPUT_MAX = 32 << 20
#: Harbor's commands are written for bash, and images without it have sh.
_SHELL = 'if [ -x /bin/bash ]; then exec /bin/bash -c "$1"; else exec /bin/sh -c "$1"; fi'


async def run(
    sandbox: AsyncSandbox,
    command: str,
    *,
    cwd: str | None,
    env: Mapping[str, str] | None,
    user: str | int | None,
    timeout_s: int | None,
    callback: OutputCallback | None,
) -> ExecResult:
    """Runs text in a shell. Its output goes to `callback` as it comes.

    Raises `RuntimeError` if the command takes longer than `timeout_s`, or prints too much: it is killed then, with
    everything that it started.
    """
    printed: dict[str, list[str]] = {"stdout": [], "stderr": []}
    length = 0
    spawning = sandbox.spawn(
        ["/bin/sh", "-c", _SHELL, "sh", command],
        cwd=cwd,
        env=env,
        user=user,
        # Harbor has 0 for no limit.
        timeout=timeout_s or None,
    )
    try:
        async with spawning as process:
            async for event in process.text():
                length += len(event.text)
                if length > OUTPUT_MAX:
                    raise RuntimeError(f"the command printed more than {OUTPUT_MAX} characters")
                printed[event.stream].append(event.text)
                if callback is not None:
                    await callback(event.text, event.stream)
            ended = await process.wait()
    except CommandTimeout as error:
        raise RuntimeError(f"Command timed out after {timeout_s} seconds") from error
    stdout, stderr = ("".join(parts) or None for parts in printed.values())
    return ExecResult(stdout=stdout, stderr=stderr, return_code=ended.code)
