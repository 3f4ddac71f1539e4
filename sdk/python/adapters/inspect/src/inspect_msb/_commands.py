"""Commands in a sandbox, with the errors that Inspect asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from inspect_ai.util import OutputLimitExceededError, SandboxUnavailableError
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


class Limit(NamedTuple):
    """The limit of each stream of a command's output."""

    size_bytes: int
    text: str
    """The limit as messages have it, such as `10 MiB`."""

    def error(self, stdout: bytes) -> OutputLimitExceededError:
        """Returns the error of a command that printed more."""
        return OutputLimitExceededError(
            self.text, stdout[: self.size_bytes].decode("utf-8", "replace")
        )


async def run(
    sandbox: AsyncSandbox,
    argv: Sequence[str],
    *,
    limit: Limit,
    input: str | bytes | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    timeout: int | None = None,
) -> Output:
    """Runs a command and collects its output.

    Raises `TimeoutError`, `PermissionError`, `OutputLimitExceededError` and `SandboxUnavailableError`. A command or a
    user that does not exist is a result, as a shell has it.
    """
    try:
        output = await sandbox.exec(
            argv,
            stdin=input,
            cwd=cwd,
            env=env,
            user=user,
            timeout=timeout,
            # Of both streams together.
            max_output=2 * limit.size_bytes,
        )
    except CommandTimeout as error:
        late = TimeoutError(f"the command timed out after {timeout} seconds")
        # Inspect shows it to the model.
        late.truncated_output = (error.stdout + error.stderr).decode("utf-8", "replace")  # type: ignore[attr-defined]
        raise late from error
    except OutputLimit as error:
        raise limit.error(error.stdout) from error
    except NotExecutable as error:
        raise PermissionError(str(error)) from error
    except CommandNotFound as error:
        return Output(127, stderr=f"{error.message}\n".encode())
    except InvalidArgument as error:
        return Output(126, stderr=f"{error.message}\n".encode())
    except (NotRunning, SandboxEnded, SandboxNotFound, SandboxPaused) as error:
        raise SandboxUnavailableError(str(error)) from error
    if max(len(output.stdout), len(output.stderr)) > limit.size_bytes:
        raise limit.error(output.stdout)
    return output
