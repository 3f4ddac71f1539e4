"""Commands in a sandbox, with the errors that Inspect asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspect_ai.util import (
    OutputLimitExceededError,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
)
from msb import (
    AsyncSandbox,
    CommandNotFound,
    CommandTimeout,
    InvalidArgument,
    NotExecutable,
    NotRunning,
    Output,
    OutputLimit,
    SandboxEnded,
    SandboxNotFound,
    SandboxPaused,
)


async def run(
    sandbox: AsyncSandbox,
    argv: Sequence[str],
    *,
    limit: int,
    input: str | bytes | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    timeout: int | None = None,
) -> Output:
    """Runs a command that prints at most `limit` bytes on each stream.

    Raises `TimeoutError`, `PermissionError`, `OutputLimitExceededError` and `SandboxUnavailableError`. A command or a
    user that does not exist is a result, as a shell has it.
    """
    try:
        return await sandbox.exec(
            argv,
            stdin=input,
            cwd=cwd,
            env=env,
            user=user,
            timeout=timeout,
            # Of both streams together; the caller looks at each.
            max_output=2 * limit,
        )
    except CommandTimeout as error:
        late = TimeoutError(f"the command timed out after {timeout} seconds")
        # Inspect shows it to the model.
        late.truncated_output = (error.stdout + error.stderr).decode("utf-8", "replace")  # type: ignore[attr-defined]
        raise late from error
    except OutputLimit as error:
        raise OutputLimitExceededError(
            SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR,
            error.stdout[:limit].decode("utf-8", "replace"),
        ) from error
    except NotExecutable as error:
        raise PermissionError(str(error)) from error
    except CommandNotFound as error:
        return Output(127, stderr=f"{error.message}\n".encode())
    except InvalidArgument as error:
        return Output(126, stderr=f"{error.message}\n".encode())
    except (NotRunning, SandboxEnded, SandboxNotFound, SandboxPaused) as error:
        raise SandboxUnavailableError(str(error)) from error
