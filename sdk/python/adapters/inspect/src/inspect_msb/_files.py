"""Files of a sandbox, read and written as its user.

The SDK reads and writes files as root. A sample's files are those of its user, with the user's permissions, so they
are read and written by commands, whose exit codes tell the error.
"""

from __future__ import annotations

import errno
import os
import posixpath

from inspect_ai.util import SandboxEnvironmentLimits
from msb import AsyncSandbox, Output

from ._commands import Limit, run

#: An exit code is this and the number of the error: shells and `cat` have lower ones.
_BASE = 64
_READ = f"""
if [ -d "$1" ]; then exit {_BASE + errno.EISDIR}; fi
if [ -r "$1" ]; then exec cat -- "$1"; fi
if [ -e "$1" ]; then exit {_BASE + errno.EACCES}; fi
exit {_BASE + errno.ENOENT}
"""
_WRITE = f"""
if [ -d "$1" ]; then exit {_BASE + errno.EISDIR}; fi
if [ -e "$1" ] && ! [ -w "$1" ]; then exit {_BASE + errno.EACCES}; fi
mkdir -p -- "$2" || exit {_BASE + errno.EACCES}
if ! [ -e "$1" ] && ! [ -w "$2" ]; then exit {_BASE + errno.EACCES}; fi
exec cat > "$1"
"""
#: Programs of the image's system, not those that its users may have put before them.
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
#: The limit of what a write prints, which is an error.
_MESSAGE_LIMIT = Limit(1 << 16, "64 KiB")
#: Seconds for one file.
_TIMEOUT_S = 600


async def read(sandbox: AsyncSandbox, path: str) -> bytes:
    """Returns the content of a file.

    Raises `FileNotFoundError`, `IsADirectoryError`, `PermissionError` and `OutputLimitExceededError`.
    """
    limits = SandboxEnvironmentLimits
    limit = Limit(limits.MAX_READ_FILE_SIZE, limits.MAX_READ_FILE_SIZE_STR)
    return (await _command(sandbox, _READ, [path], limit)).stdout


async def write(sandbox: AsyncSandbox, path: str, contents: str | bytes) -> None:
    """Writes a file, and makes the directories above it. Raises `IsADirectoryError` and `PermissionError`."""
    arguments = [path, posixpath.dirname(path)]
    await _command(sandbox, _WRITE, arguments, _MESSAGE_LIMIT, input=contents)


async def _command(
    sandbox: AsyncSandbox,
    text: str,
    arguments: list[str],
    limit: Limit,
    *,
    input: str | bytes | None = None,
) -> Output:
    output = await run(
        sandbox,
        ["/bin/sh", "-c", text, "sh", *arguments],
        limit=limit,
        input=input,
        env=_ENVIRONMENT,
        timeout=_TIMEOUT_S,
    )
    if not output.is_success:
        code = output.exit_code - _BASE
        if code in (errno.EISDIR, errno.EACCES, errno.ENOENT):
            raise OSError(code, os.strerror(code), arguments[0])
        raise OSError(f"{arguments[0]}: {output.error_text.strip()}")
    return output
